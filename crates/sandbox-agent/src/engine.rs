//! The engine that the server and `prompt` share: agents of the catalog, run on this machine.

use std::sync::Arc;

use acp_instances::{Instances, Limits, LocalInstances};
use agent_catalog::{Catalog, CatalogError, CatalogOptions};

use crate::launcher::CatalogLauncher;

/// The argument of [`crate::main_with`]: receives the local engine and returns the engine to use.
pub(crate) type WrapEngine = fn(Arc<dyn Instances>) -> Arc<dyn Instances>;

/// The engine, with the catalog that its agents come from. Cheap to clone.
#[derive(Debug, Clone)]
pub(crate) struct Engine {
    /// The engine that all callers use.
    pub(crate) instances: Arc<dyn Instances>,
    /// The local engine. Only `/metrics` reads it; all calls go through `instances`.
    pub(crate) local: LocalInstances,
    pub(crate) catalog: Catalog,
}

impl Engine {
    /// An engine without instances. Must be called inside a tokio runtime. `list_hint` is part of the error about an
    /// unknown agent: it says how to list the agents.
    pub(crate) fn new(
        limits: Limits,
        options: CatalogOptions,
        list_hint: &'static str,
        wrap: WrapEngine,
    ) -> Result<Self, CatalogError> {
        let catalog = Catalog::new(options)?;
        let launcher = CatalogLauncher::new(catalog.clone(), list_hint);
        let local = LocalInstances::new(limits, Arc::new(launcher));
        Ok(Self { instances: wrap(Arc::new(local.clone())), local, catalog })
    }
}
