//! The catalog of agents: which agents exist, where they come from, how they are installed and launched.
//!
//! Start at [`Catalog`]: it lists agents ([`Catalog::agents`]), installs them ([`Catalog::install`]) and returns
//! the command that starts one ([`Catalog::launch`]). It never starts an agent for a client: verification and
//! probing start short-lived processes of their own and kill them again; the caller starts the process that serves
//! a client.
//!
//! An agent comes from one of four sources, tried in this order: a custom command ([`CatalogOptions`]), the ACP
//! registry ([`RegistryClient`]), the pinned fallback of the embedded [`Manifest`], or the product itself
//! (`mock`). This crate contains no HTTP server and no package registry's address.
//!
//! ```no_run
//! use agent_catalog::{Catalog, CatalogOptions, InstallRequest};
//!
//! # async fn example() -> Result<(), agent_catalog::CatalogError> {
//! let catalog = Catalog::new(CatalogOptions::new("/var/lib/sandbox-agent"))?;
//! if catalog.is_known("claude").await {
//!     // Installs on first use. The lease keeps the version on disk: hold it while the process lives.
//!     let command = catalog.launch("claude").await?;
//!     println!("{} {:?} {:?}", command.program.display(), command.args, command.env);
//! }
//! let outcome = catalog.install("pi", InstallRequest::default()).await?; // serialises as the API's answer
//! let progress = catalog.install_progress("pi")?; // a watch channel: state, step, elapsed
//! let listing = catalog.agents().await; // `GET /v1/agents`
//! let one = catalog.agent_probed("pi").await?; // `GET /v1/agents/pi?config=true`
//! # drop((outcome, progress, listing, one)); Ok(()) }
//! ```
//!
//! Everything lives below one data directory:
//!
//! ```text
//! agents/<id>/<version>/      one installed version; `.install.json` in it is written last
//! agents/<id>/current         link to the version in use, switched atomically
//! runtimes/<name>/<version>/  private Node.js, npm, uv and Python
//! cache/                      the ACP registry's last answer
//! locks/                      one file per agent, runtime and version in use, and one that all installs share
//! ```

mod agent_id;
mod bundle;
mod catalog;
mod conversation;
mod credentials;
mod distribution;
mod documentation;
mod error;
#[cfg(fuzzing)]
pub mod fuzzing;
mod host;
mod http;
mod info;
mod install;
mod install_counts;
mod install_job;
mod installs;
mod launch;
mod layout;
mod listing;
mod lockfile;
mod locks;
mod maintenance;
mod manifest;
mod options;
mod plan;
mod platform;
mod probe;
mod progress;
mod record;
mod registry;
mod tail;
mod tool;
mod verify;

pub use agent_id::AgentId;
pub use bundle::{BundleSummary, BundledAgent};
pub use catalog::Catalog;
pub use distribution::{BinaryTarget, Distribution, PackageDistribution, PackageName};
pub use documentation::agents_markdown;
pub use error::{CatalogError, InstallStep};
pub use host::HostEnvironment;
pub use http::build_client;
pub use info::{
    AgentCapabilities, AgentInfo, InstallArtifact, InstallInfo, InstallOutcome, InstallRequest, ServerState,
    ServerStatus,
};
pub use install_counts::InstallCounts;
pub use launch::{CommandSpec, LaunchCommand, VersionLease};
pub use lockfile::{AgentsLock, LockedAgent, LockedArtifact, LockedRuntime};
pub use maintenance::{Pruned, PrunedDirectory, Uninstalled};
pub use manifest::{
    CapabilityFacts, Credentials, Fallback, Manifest, ManifestAgent, NativeDependency, NativeMode,
};
pub use options::{CatalogOptions, PreinstallPolicy};
pub use platform::Platform;
pub use probe::ProbeReport;
pub use progress::{InstallProgress, InstallState};
pub use record::{ArtifactKind, Source, Verification};
pub use registry::{RegistryAgent, RegistryAnswer, RegistryClient, RegistryDocument};

/// Compiles the examples in the README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
