//! Which agents there are, where they come from, how they are installed and launched.
//!
//! Start at [`Catalog`]: it answers what agents exist ([`Catalog::agents`]), installs them
//! ([`Catalog::install`]) and says how to start one ([`Catalog::launch`]). It never starts an agent for a
//! client: verification and probing start short-lived processes of their own and kill them again; the
//! process that serves a client belongs to the caller.
//!
//! An agent comes from one of four places, asked in this order: a custom command ([`CatalogOptions`]), the
//! ACP registry ([`RegistryClient`]), the pinned fallback of the embedded [`Manifest`], or the product itself
//! (`mock`). There is no HTTP server in here, and no package registry's address.
//!
//! Everything lives below one data directory:
//!
//! ```text
//! agents/<id>/<version>/      one installed version; `.install.json` in it is written last
//! agents/<id>/current         link to the version in use, switched atomically
//! runtimes/<name>/<version>/  private Node.js, npm, uv and Python
//! cache/                      the ACP registry's last answer
//! locks/                      one file an agent, a runtime, a version in use
//! ```

mod agent_id;
mod catalog;
mod distribution;
mod error;
mod host;
mod launch;
mod manifest;
mod platform;

pub use agent_id::AgentId;
pub use catalog::{Catalog, CatalogOptions, PreinstallPolicy};
pub use distribution::{BinaryTarget, Distribution, PackageDistribution, PackageName};
pub use error::{CatalogError, InstallStep};
pub use host::HostEnvironment;
pub use launch::{CommandSpec, LaunchCommand, VersionLease};
pub use manifest::{
    CapabilityFacts, Credentials, Fallback, Manifest, ManifestAgent, NativeDependency, NativeMode,
};
pub use platform::Platform;
