//! The catalog: the single handle through which the product finds, installs and launches agents.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Instant;

use tokio::sync::watch;

use crate::agent_id::AgentId;
use crate::error::CatalogError;
use crate::http::LazyClient;
use crate::info::{InstallArtifact, InstallOutcome, InstallRequest};
use crate::install_counts::InstallCounts;
use crate::install_job::InstallJob;
use crate::installs::{Installs, Purpose};
use crate::launch::{CommandSpec, LaunchCommand, VersionLease};
use crate::layout::{DataDirectory, PROBE_FILE, read_json, write_json};
use crate::locks::FileLock;
use crate::manifest::Manifest;
use crate::options::{CatalogOptions, PreinstallPolicy};
use crate::probe::ProbeReport;
use crate::progress::InstallProgress;
use crate::record::{ArtifactKind, Source};
use crate::registry::RegistryClient;

/// The agents of this machine. Cheap to clone; clones share everything.
#[derive(Debug, Clone)]
pub struct Catalog {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    options: Arc<CatalogOptions>,
    data: DataDirectory,
    http: LazyClient,
    registry: Arc<RegistryClient>,
    installs: Installs,
    /// The probe reports of agents without a version directory. Other reports are stored in that directory.
    probes: Mutex<HashMap<AgentId, ProbeReport>>,
    /// Serialises probes: they are expensive, and a second probe of the same agent finds the first one's report.
    probing: tokio::sync::Mutex<()>,
}

impl Catalog {
    /// The id of the built-in agent.
    pub const MOCK: &'static str = "mock";

    /// Creates a catalog, without writing anything or contacting the registry.
    ///
    /// # Errors
    /// [`CatalogError::Configuration`] for options that cannot be used.
    pub fn new(options: CatalogOptions) -> Result<Self, CatalogError> {
        let data = DataDirectory::new(&options.data_dir)?;
        let http = LazyClient::default();
        let registry = RegistryClient::new(&options.registry_url, data.cache(), http.clone())?;
        let inner = Inner {
            options: Arc::new(options),
            data,
            http,
            registry: Arc::new(registry),
            installs: Installs::default(),
            probes: Mutex::default(),
            probing: tokio::sync::Mutex::default(),
        };
        Ok(Self { inner: Arc::new(inner) })
    }

    /// Whether an agent with this id exists. Contacts the registry only for ids that are neither configured, in
    /// the manifest nor installed.
    pub async fn is_known(&self, id: &str) -> bool {
        let Ok(id) = self.canonical(id) else { return false };
        self.configured(&id).is_some()
            || Manifest::embedded().find(id.as_str()).is_some()
            || self.inner.data.current(&id).is_some()
            || self
                .inner
                .registry
                .lookup()
                .await
                .document
                .is_some_and(|known| known.find(id.as_str()).is_some())
    }

    /// How to start an agent, after installing it if it is not installed yet.
    ///
    /// Keep [`LaunchCommand::lease`] for as long as the process lives.
    ///
    /// # Errors
    /// [`CatalogError::UnknownAgent`], [`CatalogError::AgentNotInstalled`], or why the install failed.
    pub async fn launch(&self, id: &str) -> Result<LaunchCommand, CatalogError> {
        let id = self.canonical(id)?;
        if let Some(spec) = self.configured(&id) {
            return Ok(self.configured_launch(spec));
        }
        // Two attempts suffice in practice: another process may replace the installed version between the lookup
        // and the lease.
        for _ in 0..5 {
            if let Some(command) = self.installed_launch(&id) {
                return Ok(command);
            }
            if !self.is_known(id.as_str()).await {
                return Err(CatalogError::UnknownAgent { agent: id.to_string() });
            }
            if self.inner.options.preinstall == PreinstallPolicy::Required {
                return Err(not_installed(&id));
            }
            self.install_for(id.clone(), InstallRequest::default(), Purpose::FirstUse, Instant::now())
                .await?;
        }
        Err(not_installed(&id))
    }

    /// Installs an agent, unless it is already installed. The install continues if the returned future is
    /// dropped; calls with the same agent and request share one install. The registry is contacted again. An
    /// agent that fails its verification is an error; one that only lacks credentials is not.
    ///
    /// # Errors
    /// The step that failed, with the last lines of the tool's output; a missing runtime; an unknown agent or
    /// version.
    pub async fn install(&self, id: &str, request: InstallRequest) -> Result<InstallOutcome, CatalogError> {
        let asked_at = Instant::now();
        let id = self.canonical(id)?;
        if let Some(spec) = self.configured(&id) {
            // A configured command has no versions, so a request for one cannot be satisfied.
            return match request.agent_process_version.or(request.agent_version) {
                None => Ok(self.configured_outcome(&id, spec)),
                Some(version) => Err(CatalogError::VersionUnavailable {
                    agent: id.to_string(),
                    requested: version.chars().take(80).collect(),
                    reason: "it is a configured command and has no versions".to_owned(),
                }),
            };
        }
        if !self.is_known(id.as_str()).await {
            // The agent may have been added to the registry since the last request.
            self.inner.registry.lookup_since(asked_at).await;
            if !self.is_known(id.as_str()).await {
                return Err(CatalogError::UnknownAgent { agent: id.to_string() });
            }
        }
        self.install_for(id, request, Purpose::Explicit, asked_at).await
    }

    async fn install_for(
        &self,
        id: AgentId,
        request: InstallRequest,
        purpose: Purpose,
        asked_at: Instant,
    ) -> Result<InstallOutcome, CatalogError> {
        let job = InstallJob {
            agent: id.clone(),
            request: request.clone(),
            purpose,
            asked_at,
            options: self.inner.options.clone(),
            data: self.inner.data.clone(),
            registry: self.inner.registry.clone(),
            http: self.inner.http.clone(),
        };
        self.inner.installs.run(&id, &request, purpose, |progress| job.perform(progress)).await
    }

    /// How the installs of this process have ended so far, including installs on first use.
    #[must_use]
    pub fn install_counts(&self) -> InstallCounts {
        self.inner.installs.counts()
    }

    /// Watches the progress of an agent's install in this process.
    ///
    /// # Errors
    /// [`CatalogError::InvalidAgentId`].
    pub fn install_progress(&self, id: &str) -> Result<watch::Receiver<InstallProgress>, CatalogError> {
        Ok(self.inner.installs.progress(&self.canonical(id)?))
    }

    /// Starts the agent once and asks for its capabilities. The report of an earlier probe of the same version is
    /// reused.
    ///
    /// # Errors
    /// [`CatalogError::AgentNotInstalled`] (a probe never installs), [`CatalogError::ProbeFailed`].
    pub async fn probe(&self, id: &str) -> Result<ProbeReport, CatalogError> {
        let id = self.canonical(id)?;
        let _one_at_a_time = self.inner.probing.lock().await;
        if let Some(known) = self.cached_probe(&id) {
            return Ok(known);
        }
        let command = match self.configured(&id) {
            Some(spec) => self.configured_launch(spec),
            None => self.installed_launch(&id).ok_or_else(|| not_installed(&id))?,
        };
        let report = crate::probe::probe(&command, &self.inner.options.host).await.map_err(|failure| {
            CatalogError::ProbeFailed {
                agent: id.to_string(),
                detail: failure.detail,
                output_tail: failure.output_tail,
            }
        })?;
        // A report without a session is incomplete, usually because credentials are missing: probe again next
        // time.
        if report.session_problem.is_none() {
            self.store_probe(&id, &report);
        }
        Ok(report)
    }

    /// Deletes versions that are neither current nor leased. Every install does this too; call it when an instance
    /// has ended, so that the version it leased is not kept until the next install.
    pub async fn remove_unused_versions(&self) {
        let data = self.inner.data.clone();
        let sweep = tokio::task::spawn_blocking(move || {
            for id in data.agents_on_disk() {
                // A running install holds the lock, and deletes unused versions when it ends.
                if let Some(_lock) = FileLock::try_acquire(&data.lock(&format!("agent-{id}"))) {
                    data.remove_unused(&id);
                }
            }
        });
        if let Err(error) = sweep.await {
            tracing::warn!(%error, "unused versions were not deleted");
        }
    }

    /// The client of the ACP registry.
    #[must_use]
    pub fn registry(&self) -> &RegistryClient {
        &self.inner.registry
    }

    pub(crate) fn data(&self) -> &DataDirectory {
        &self.inner.data
    }

    pub(crate) fn options(&self) -> &CatalogOptions {
        &self.inner.options
    }

    /// The catalog's own id for an agent: the ACP registry's id of a manifest agent is translated to the
    /// manifest's id.
    ///
    /// # Errors
    /// [`CatalogError::InvalidAgentId`].
    pub fn canonical(&self, id: &str) -> Result<AgentId, CatalogError> {
        let parsed: AgentId = id.parse()?;
        if self.configured(&parsed).is_some() {
            return Ok(parsed);
        }
        Ok(Manifest::embedded().find(id).map_or(parsed, |agent| agent.id.clone()))
    }

    /// The command of a custom agent or of the mock.
    pub(crate) fn configured(&self, id: &AgentId) -> Option<&CommandSpec> {
        let options = &self.inner.options;
        let custom = options.custom_agents.get(id);
        custom.or_else(|| options.mock_command.as_ref().filter(|_| id.as_str() == Self::MOCK))
    }

    /// Where a configured agent comes from.
    pub(crate) fn configured_source(&self, id: &AgentId) -> Source {
        if self.inner.options.custom_agents.contains_key(id) { Source::Custom } else { Source::Builtin }
    }

    pub(crate) fn cached_probe(&self, id: &AgentId) -> Option<ProbeReport> {
        if self.configured(id).is_some() {
            return self.locked_probes().get(id).cloned();
        }
        let record = self.inner.data.current(id)?;
        read_json(&self.inner.data.version(id, &record.directory).join(PROBE_FILE)).ok()
    }

    fn store_probe(&self, id: &AgentId, report: &ProbeReport) {
        if self.configured(id).is_some() {
            self.locked_probes().insert(id.clone(), report.clone());
        } else if let Some(record) = self.inner.data.current(id) {
            let path = self.inner.data.version(id, &record.directory).join(PROBE_FILE);
            if let Err(error) = write_json(&path, report) {
                tracing::warn!(agent = %id, %error, "cannot store the probe report");
            }
        }
    }

    fn installed_launch(&self, id: &AgentId) -> Option<LaunchCommand> {
        let data = &self.inner.data;
        let record = data.current(id).filter(|record| record.is_launchable(data.root()))?;
        let lease = data.lease(&record)?;
        let mut command = record.launch.resolve(data.root(), &self.inner.options.host);
        command.version = Some(record.version);
        command.lease = lease;
        Some(command)
    }

    fn configured_launch(&self, spec: &CommandSpec) -> LaunchCommand {
        LaunchCommand {
            program: self.configured_program(spec).unwrap_or_else(|| spec.command.clone()),
            args: spec.args.iter().map(Into::into).collect(),
            env: spec.env.iter().map(|(name, value)| (name.into(), value.into())).collect(),
            cwd: spec.cwd.clone(),
            version: None,
            lease: VersionLease::default(),
        }
    }

    pub(crate) fn configured_program(&self, spec: &CommandSpec) -> Option<PathBuf> {
        self.inner.options.host.find_program(&spec.command)
    }

    /// The path of a configured agent, for display. The built-in agent may be configured as a link such as
    /// `/proc/self/exe`, which means another file in every process, so it is resolved here.
    pub(crate) fn program_for_display(&self, id: &AgentId, program: PathBuf) -> PathBuf {
        match self.configured_source(id) {
            Source::Builtin => std::fs::canonicalize(&program).unwrap_or(program),
            _ => program,
        }
    }

    fn configured_outcome(&self, id: &AgentId, spec: &CommandSpec) -> InstallOutcome {
        let artifact = InstallArtifact {
            kind: ArtifactKind::AgentProcess,
            path: self.program_for_display(id, self.configured_launch(spec).program),
            version: None,
            source: self.configured_source(id),
        };
        InstallOutcome { already_installed: true, artifacts: vec![artifact] }
    }

    fn locked_probes(&self) -> std::sync::MutexGuard<'_, HashMap<AgentId, ProbeReport>> {
        // Values are inserted in one step, so a panic elsewhere leaves the map usable.
        self.inner.probes.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}

/// The command that installs an agent.
pub(crate) fn install_command(id: &AgentId) -> String {
    format!("sandbox-agent install {id}")
}

fn not_installed(id: &AgentId) -> CatalogError {
    CatalogError::AgentNotInstalled { agent: id.to_string(), command: install_command(id) }
}
