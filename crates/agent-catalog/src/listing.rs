//! Lists the agents that exist, with their state.

use std::collections::BTreeSet;
use std::time::Duration;

use crate::agent_id::AgentId;
use crate::catalog::{Catalog, install_command};
use crate::credentials;
use crate::error::CatalogError;
use crate::info::{AgentCapabilities, AgentInfo, InstallInfo};
use crate::manifest::{CapabilityFacts, Manifest, ManifestAgent};
use crate::progress::InstallState;
use crate::record::{InstallRecord, Verification};
use crate::registry::{Reach, RegistryDocument};

/// How long listing waits for the registry if no document is cached.
const FIRST_ANSWER: Duration = Duration::from_secs(3);

impl Catalog {
    /// Every agent: built in, custom, in the manifest, installed, or in the last known registry document.
    ///
    /// A stale registry document is refreshed in the background, for the next call. The answer is awaited, for a short
    /// time, only when there is no document yet or when the registry is a file.
    pub async fn agents(&self) -> Vec<AgentInfo> {
        if self.registry().is_stale() {
            let catalog = self.clone();
            let lookup = tokio::spawn(async move { catalog.registry().lookup().await });
            let known = self.registry().cached();
            if known.document.is_none() || known.reach == Reach::Local {
                // If the registry is too slow or fails, the list is made without it.
                let _ = tokio::time::timeout(FIRST_ANSWER, lookup).await;
            }
        }
        let registry = self.registry().cached().document;
        let mut ids = self.configured_ids();
        ids.extend(Manifest::embedded().agents().iter().map(|agent| agent.id.clone()));
        ids.extend(self.data().agents_on_disk().into_iter().filter(|id| self.data().current(id).is_some()));
        let listed = registry.iter().flat_map(|document| document.agents());
        ids.extend(listed.filter_map(|agent| self.canonical(agent.id.as_str()).ok()));
        ids.iter().map(|id| self.describe(id, registry.as_deref())).collect()
    }

    /// One agent, with the result of an earlier probe, if there is one.
    ///
    /// # Errors
    /// [`CatalogError::UnknownAgent`], [`CatalogError::InvalidAgentId`].
    pub async fn agent(&self, id: &str) -> Result<AgentInfo, CatalogError> {
        let id = self.canonical(id)?;
        if !self.is_known(id.as_str()).await {
            return Err(CatalogError::UnknownAgent { agent: id.to_string() });
        }
        Ok(self.describe(&id, self.registry().cached().document.as_deref()))
    }

    /// One agent, probed now if it is installed and was not probed before. A failed probe is reported in
    /// `configError`, not as an error.
    ///
    /// # Errors
    /// [`CatalogError::UnknownAgent`], [`CatalogError::InvalidAgentId`].
    pub async fn agent_probed(&self, id: &str) -> Result<AgentInfo, CatalogError> {
        let before = self.agent(id).await?;
        if !before.installed {
            return Ok(before);
        }
        let report = self.probe(id).await;
        let mut info = self.agent(id).await?;
        match report {
            Ok(report) => {
                info.capabilities = AgentCapabilities::of(self.facts(&self.canonical(id)?), Some(&report));
                info.models = report.models;
                info.modes = report.modes;
                info.config_options = report.config_options;
                info.config_error = report.session_problem;
            }
            Err(error) => info.config_error = Some(error.to_string()),
        }
        Ok(info)
    }

    fn configured_ids(&self) -> BTreeSet<AgentId> {
        let mut ids: BTreeSet<AgentId> = self.options().custom_agents.keys().cloned().collect();
        ids.extend(Self::MOCK.parse().ok().filter(|id| self.configured(id).is_some()));
        ids
    }

    fn facts(&self, id: &AgentId) -> CapabilityFacts {
        let mut facts =
            Manifest::embedded().find(id.as_str()).map_or_else(CapabilityFacts::default, |a| a.facts);
        // The built-in agent can be prompted to ask questions.
        facts.questions |= id.as_str() == Self::MOCK;
        facts
    }

    fn describe(&self, id: &AgentId, registry: Option<&RegistryDocument>) -> AgentInfo {
        let probe = self.cached_probe(id);
        let capabilities = AgentCapabilities::of(self.facts(id), probe.as_ref());
        let probe = probe.unwrap_or_default();
        let base = match self.configured(id) {
            Some(spec) => {
                let program = self.configured_program(spec);
                Base {
                    name: if id.as_str() == Self::MOCK { "Mock agent".to_owned() } else { id.to_string() },
                    installed: program.is_some(),
                    path: program.map(|program| self.program_for_display(id, program)),
                    source: Some(self.configured_source(id)),
                    credentials_available: true,
                    ..Base::default()
                }
            }
            None => self.installable(id, registry),
        };
        AgentInfo {
            id: id.to_string(),
            install: self.install_info(id, &base),
            name: base.name,
            installed: base.installed,
            version: base.record.as_ref().map(|record| record.version.clone()),
            verified: base.record.as_ref().map(|record| record.verified),
            path: base.path,
            source: base.source,
            non_registry: base.non_registry.then_some(true),
            credentials_available: base.credentials_available,
            capabilities,
            models: probe.models,
            modes: probe.modes,
            config_options: probe.config_options,
            config_error: None,
            server_status: None,
        }
    }

    fn installable(&self, id: &AgentId, registry: Option<&RegistryDocument>) -> Base {
        let manifest: Option<&ManifestAgent> = Manifest::embedded().find(id.as_str());
        let listed = registry.and_then(|document| document.find(id.as_str()));
        let name =
            manifest.map(|agent| agent.name.clone()).or_else(|| listed.map(|agent| agent.name.clone()));
        let record = self.data().current(id).filter(|record| record.is_launchable(self.data().root()));
        Base {
            name: name.filter(|name| !name.is_empty()).unwrap_or_else(|| id.to_string()),
            installed: record.is_some(),
            path: record.as_ref().map(|record| self.data().version(id, &record.directory)),
            source: record.as_ref().map(|record| record.source),
            non_registry: manifest.is_some_and(|agent| agent.non_registry),
            credentials_available: manifest
                .is_some_and(|agent| credentials::available(&agent.credentials, &self.options().host)),
            record,
        }
    }

    fn install_info(&self, id: &AgentId, base: &Base) -> InstallInfo {
        let progress =
            self.install_progress(id.as_str()).map(|watch| watch.borrow().clone()).unwrap_or_default();
        let state = match progress.state {
            InstallState::NotInstalled | InstallState::Installed if base.installed => InstallState::Installed,
            InstallState::Installed => InstallState::NotInstalled,
            other => other,
        };
        let failed_check = base.record.as_ref().filter(|record| record.verified != Verification::Ok);
        InstallInfo {
            command: install_command(id),
            state,
            step: progress.step,
            detail: progress.detail.clone(),
            elapsed_ms: progress.elapsed().and_then(|elapsed| u64::try_from(elapsed.as_millis()).ok()),
            error: progress
                .error
                .or_else(|| failed_check.and_then(|record| record.verification_detail.clone())),
        }
    }
}

/// The data that differ between configured and installable agents.
#[derive(Debug, Default)]
struct Base {
    name: String,
    installed: bool,
    path: Option<std::path::PathBuf>,
    source: Option<crate::record::Source>,
    non_registry: bool,
    credentials_available: bool,
    record: Option<InstallRecord>,
}
