//! One install from beginning to end. The caller holds the agent's lock.
//!
//! The version in use stays in use until the `current` link is switched, which is the last step that can fail.

use std::path::Path;
use std::time::Instant;

use crate::agent_id::AgentId;
use crate::http::LazyClient;

use crate::error::{CatalogError, InstallStep};
use crate::info::{InstallArtifact, InstallOutcome, InstallRequest};
use crate::install::context::{InstallContext, Installed};
use crate::install::from_offers;
use crate::install::scratch::Scratch;
use crate::installs::Purpose;
use crate::layout::{DataDirectory, RECORD_FILE, write_json};
use crate::locks::FileLock;
use crate::maintenance::INSTALLS_LOCK;
use crate::manifest::Manifest;
use crate::options::CatalogOptions;
use crate::plan::{self, InstallPlan, Pins};
use crate::progress::ProgressReporter;
use crate::record::{InstallRecord, Verification};
use crate::registry::{RegistryClient, now_ms};
use crate::verify::{VerificationResult, verify};

/// An install to run, with everything that it needs from the catalog.
#[derive(Debug, Clone)]
pub(crate) struct InstallJob {
    pub(crate) agent: AgentId,
    pub(crate) request: InstallRequest,
    pub(crate) purpose: Purpose,
    /// When the install was requested.
    pub(crate) asked_at: Instant,
    pub(crate) options: std::sync::Arc<CatalogOptions>,
    pub(crate) data: DataDirectory,
    pub(crate) registry: std::sync::Arc<RegistryClient>,
    pub(crate) http: LazyClient,
}

impl InstallJob {
    /// Runs the job.
    pub(crate) async fn perform(self, progress: ProgressReporter) -> Result<InstallOutcome, CatalogError> {
        let lock_path = self.data.lock(&format!("agent-{}", self.agent));
        let waiting = || progress.enter(InstallStep::WaitForLock, "another process installs this agent");
        let _lock = FileLock::acquire(&lock_path, waiting).await?;
        // Hold this lock until the record is written: before that, nothing on disk says which private
        // runtimes this install needs.
        let _keeps_runtimes = FileLock::acquire_shared(&self.data.lock(INSTALLS_LOCK)).await?;
        let previous = self.data.current(&self.agent);
        if let Some(record) = previous.as_ref().filter(|record| self.is_satisfied_by(record)) {
            return Ok(outcome(&self.data, record, Completion::AlreadyInstalled));
        }
        let avoided = self.sweep(DataDirectory::remove_incomplete).await.unwrap_or_default();
        let result = self.install(progress, avoided, previous.as_ref()).await;
        if result.is_err() {
            self.sweep(DataDirectory::remove_incomplete).await;
        }
        let record = result?;
        self.sweep(DataDirectory::remove_unused).await;
        Ok(outcome(&self.data, &record, Completion::NewlyInstalled))
    }

    /// Deletes files on a blocking thread: a version may have tens of thousands of them.
    async fn sweep<T: Send + 'static>(&self, delete: fn(&DataDirectory, &AgentId) -> T) -> Option<T> {
        let (data, agent) = (self.data.clone(), self.agent.clone());
        tokio::task::spawn_blocking(move || delete(&data, &agent)).await.ok()
    }

    /// Whether the installed version satisfies the request.
    fn is_satisfied_by(&self, record: &InstallRecord) -> bool {
        let native = record.native_version().unwrap_or(&record.version);
        let matches =
            |wanted: &Option<String>, actual: &str| wanted.as_deref().is_none_or(|wanted| wanted == actual);
        let is_good_enough = self.purpose == Purpose::FirstUse || record.verified != Verification::Failed;
        !self.request.reinstall
            && is_good_enough
            && record.is_launchable(self.data.root())
            && matches(&self.request.agent_process_version, &record.version)
            && matches(&self.request.agent_version, native)
    }

    async fn install(
        &self,
        progress: ProgressReporter,
        avoided: Vec<String>,
        previous: Option<&InstallRecord>,
    ) -> Result<InstallRecord, CatalogError> {
        progress.enter(InstallStep::ResolveSource, "ACP registry");
        let manifest = Manifest::embedded().find(self.agent.as_str());
        let answer = match self.purpose {
            Purpose::Explicit => self.registry.lookup_since(self.asked_at).await,
            Purpose::FirstUse => self.registry.lookup().await,
        };
        let pins = Pins {
            agent_process: self.request.agent_process_version.clone(),
            native: self.request.agent_version.clone(),
        };
        let plan = plan::make(&self.agent, manifest, &answer, &pins)?;
        let home = self.data.agent(&self.agent);
        let npm_registry = self.options.npm_registry.clone();
        let context = InstallContext {
            agent: self.agent.clone(),
            data: self.data.clone(),
            host: self.options.host.clone(),
            http: self.http.clone(),
            scratch: Scratch::create(&home, &self.options.host, npm_registry.as_deref())?,
            npm_registry,
            source: plan.source,
            progress,
            avoided,
        };
        // The installers' futures are large; boxing them keeps the callers' futures small.
        let installed = Box::pin(from_offers(&context, &plan)).await?;
        let verification = self.verify(&context, &plan, &installed, previous).await?;
        context.progress.enter(InstallStep::Activate, &installed.version);
        let record = InstallRecord {
            agent: self.agent.clone(),
            directory: installed.directory,
            version: installed.version,
            source: plan.source,
            artifacts: installed.artifacts,
            launch: installed.launch,
            verified: verification.verified,
            verification_detail: verification.explanation(),
            installed_at_ms: now_ms(),
        };
        write_json(&self.data.version(&self.agent, &record.directory).join(RECORD_FILE), &record)?;
        self.data.activate(&self.agent, &record.directory)?;
        Ok(record)
    }

    /// Starts the new version once. A version is not activated when it cannot be started, when it fails where the
    /// previous one worked, or when it fails in an explicit install.
    async fn verify(
        &self,
        context: &InstallContext,
        plan: &InstallPlan,
        installed: &Installed,
        previous: Option<&InstallRecord>,
    ) -> Result<VerificationResult, CatalogError> {
        context.progress.enter(InstallStep::Verify, &installed.version);
        let command = installed.launch.resolve(self.data.root(), &self.options.host);
        let directory = context.scratch.path().join("verify");
        std::fs::create_dir_all(&directory)
            .map_err(|error| CatalogError::storage("create", &directory, &error))?;
        let verification =
            verify(&command, &context.scratch.variables(), &directory, plan.verification.as_deref()).await;
        let was_better = previous.is_some_and(|record| record.verified != Verification::Failed);
        let is_refused = verification.verified == Verification::Failed
            && (verification.cannot_start || was_better || self.purpose == Purpose::Explicit);
        if is_refused {
            let detail = verification.detail.unwrap_or_default();
            return Err(context.failed(InstallStep::Verify, detail, verification.output_tail));
        }
        if verification.verified != Verification::Ok {
            tracing::warn!(agent = %self.agent, verified = ?verification.verified, detail = ?verification.detail, "verification");
        }
        Ok(verification)
    }
}

/// Whether the request required an install.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Completion {
    AlreadyInstalled,
    NewlyInstalled,
}

pub(crate) fn outcome(
    data: &DataDirectory,
    record: &InstallRecord,
    completion: Completion,
) -> InstallOutcome {
    let artifact = |recorded: &crate::record::RecordedArtifact| InstallArtifact {
        kind: recorded.kind,
        path: Path::new(&recorded.path.resolve(data.root())).to_owned(),
        version: recorded.version.clone(),
        source: recorded.source,
    };
    InstallOutcome {
        already_installed: matches!(completion, Completion::AlreadyInstalled),
        artifacts: record.artifacts.iter().map(artifact).collect(),
    }
}
