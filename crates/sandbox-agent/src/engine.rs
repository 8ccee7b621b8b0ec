//! The engine that the server and the prompt share: agents of the catalog, run on this machine.

use std::sync::Arc;

use acp_instances::{Instances, Limits, LocalInstances};
use agent_catalog::{Catalog, CatalogError, CatalogOptions};

use crate::launcher::CatalogLauncher;

/// What [`crate::main_with`] was given: from the engine of this machine to the engine that is used.
pub(crate) type Wrap = fn(Arc<dyn Instances>) -> Arc<dyn Instances>;

/// The engine, with the catalog that its agents come from. Cheap to clone.
#[derive(Debug, Clone)]
pub(crate) struct Engine {
    /// What every caller uses.
    pub(crate) instances: Arc<dyn Instances>,
    /// What `/metrics` reads, and nothing else: calls go through `instances`.
    pub(crate) local: LocalInstances,
    pub(crate) catalog: Catalog,
}

impl Engine {
    /// An engine without instances. Must be made inside a tokio runtime.
    pub(crate) fn new(limits: Limits, options: CatalogOptions, wrap: Wrap) -> Result<Self, CatalogError> {
        let catalog = Catalog::new(options)?;
        let local = LocalInstances::new(limits, Arc::new(CatalogLauncher::new(catalog.clone())));
        Ok(Self { instances: wrap(Arc::new(local.clone())), local, catalog })
    }
}
