//! Installs the agent of a plan into a new version directory.

pub(crate) mod archive;
mod binary;
pub(crate) mod context;
pub(crate) mod download;
mod node;
mod node_bootstrap;
mod node_version;
mod npm;
mod npmrc;
mod pip_config;
mod python;
mod runtime;
pub(crate) mod scratch;
mod uv_bootstrap;
mod uvx;

pub(crate) use runtime::RuntimeRecord;

use crate::error::CatalogError;
use crate::plan::{InstallPlan, Offer};
use context::{InstallContext, Installed};

/// Tries a plan's offers in order. The next offer is tried only if the runtime of this one is missing; any
/// other failure is reported to the user.
pub(crate) async fn from_offers(
    context: &InstallContext,
    plan: &InstallPlan,
) -> Result<Installed, CatalogError> {
    let mut missing = None;
    for offer in &plan.offers {
        let result = match offer {
            Offer::Npm(offer) => npm::install(context, offer, plan.native.as_ref()).await,
            Offer::Python(offer) => uvx::install(context, offer).await,
            Offer::Binary { target, version } => binary::install(context, target, version).await,
        };
        match result {
            Err(error @ CatalogError::RuntimeMissing { .. }) => missing = missing.or(Some(error)),
            other => return other,
        }
    }
    // A plan has at least one offer, so `missing` is set here.
    Err(missing.unwrap_or_else(|| CatalogError::NoSource {
        agent: context.agent.to_string(),
        reason: "the plan is empty".to_owned(),
    }))
}
