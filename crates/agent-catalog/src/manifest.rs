//! The agents that this product knows by name: embedded from `manifest/agents.toml` and parsed once.
//!
//! The manifest defines names, credentials, native dependencies and pinned fallbacks. It never overrides the ACP
//! registry's data about a package, and contains no package registry's address.

use std::sync::LazyLock;

use serde::Deserialize;

use crate::agent_id::AgentId;
use crate::distribution::Distribution;
use crate::platform::Platform;

const EMBEDDED: &str = include_str!("../manifest/agents.toml");

static MANIFEST: LazyLock<Manifest> = LazyLock::new(|| {
    // Cannot fail in a released build: a unit test parses the same embedded text.
    Manifest::parse(EMBEDDED).unwrap_or_else(|error| panic!("embedded manifest: {error}"))
});

/// The embedded list of all agents that a client can name.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Manifest {
    #[serde(rename = "agent")]
    agents: Vec<ManifestAgent>,
}

/// One agent of the manifest.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ManifestAgent {
    /// The id that users type.
    pub id: AgentId,
    /// The name that users read.
    pub name: String,
    /// The agent's id in the ACP registry.
    #[serde(default)]
    pub registry: Option<AgentId>,
    /// True for an agent that the registry does not list.
    #[serde(default)]
    pub non_registry: bool,
    /// The platforms that the agent supports.
    #[serde(default = "every_platform")]
    pub platforms: Vec<Platform>,
    /// What to install when the registry is unreachable or does not list the agent.
    #[serde(default)]
    pub fallback: Option<Fallback>,
    /// The coding agent behind an adapter.
    #[serde(default)]
    pub native: Option<NativeDependency>,
    /// Where the agent looks for its credentials.
    #[serde(default)]
    pub credentials: Credentials,
    /// Arguments with which the agent's program exits with 0 if it works, used for verification instead of a
    /// handshake.
    #[serde(default)]
    pub verification: Option<Vec<String>>,
    /// Capabilities that a probe cannot detect.
    #[serde(default)]
    pub facts: CapabilityFacts,
}

/// A pinned source.
#[derive(Debug, Clone, Deserialize)]
pub struct Fallback {
    /// The platforms of this source, if fewer than the agent's own.
    #[serde(default)]
    pub platforms: Option<Vec<Platform>>,
    /// The packages, with exact versions.
    #[serde(flatten)]
    pub distribution: Distribution,
}

/// The coding agent that an adapter drives.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NativeDependency {
    /// The npm package of the coding agent.
    pub package: String,
    /// The version to install when the request names none.
    #[serde(default)]
    pub version: Option<String>,
    /// How the agent is installed.
    pub mode: NativeMode,
}

/// How a native dependency is installed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NativeMode {
    /// Installed next to the adapter. Its commands are on the adapter's `PATH`.
    Beside,
    /// The adapter installs it as a dependency; a requested version replaces the adapter's choice.
    Override,
    /// The user installs it.
    User,
}

/// The names of credentials. Their values are never read.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Credentials {
    /// Environment variables, any one of which is enough.
    #[serde(default)]
    pub env: Vec<String>,
    /// Files, any one of which is enough; `~` is the user's home.
    #[serde(default)]
    pub files: Vec<String>,
}

/// Capabilities that ACP has no field for. The defaults are those of a typical ACP agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct CapabilityFacts {
    /// Asks the user questions with options.
    pub questions: bool,
    /// Asks for permission before it runs a command or edits a file.
    pub permissions: bool,
    /// Sends its reasoning.
    pub reasoning: bool,
}

impl Default for CapabilityFacts {
    fn default() -> Self {
        Self { questions: false, permissions: true, reasoning: true }
    }
}

fn every_platform() -> Vec<Platform> {
    Platform::ALL.to_vec()
}

impl Manifest {
    /// The embedded manifest.
    #[must_use]
    pub fn embedded() -> &'static Self {
        &MANIFEST
    }

    pub(crate) fn parse(text: &str) -> Result<Self, toml::de::Error> {
        toml::from_str(text)
    }

    /// All agents, in the manifest's order.
    #[must_use]
    pub fn agents(&self) -> &[ManifestAgent] {
        &self.agents
    }

    /// The agent with this id or this registry id: both names mean the same agent.
    #[must_use]
    pub fn find(&self, id: &str) -> Option<&ManifestAgent> {
        self.agents.iter().find(|agent| agent.id.as_str() == id).or_else(|| {
            self.agents.iter().find(|agent| agent.registry.as_ref().is_some_and(|r| r.as_str() == id))
        })
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn the_embedded_manifest_parses_and_every_id_is_unique() {
        let manifest = Manifest::parse(EMBEDDED).unwrap();
        let ids: BTreeSet<_> = manifest.agents.iter().map(|agent| agent.id.as_str()).collect();
        assert_eq!(ids.len(), manifest.agents.len());
        for wanted in
            "claude codex opencode amp gemini copilot cursor pi qwen goose cline kilo auggie droid kimi \
                       vibe fast-agent openhands hermes grok qoder junie"
                .split_whitespace()
        {
            assert!(ids.contains(wanted), "{wanted} is missing");
        }
    }

    #[test]
    fn every_agent_is_either_in_the_registry_or_marked_as_not() {
        for agent in Manifest::embedded().agents() {
            assert_ne!(agent.registry.is_some(), agent.non_registry, "{}", agent.id);
            assert!(agent.registry.is_some() || agent.fallback.is_some(), "{} has no source", agent.id);
        }
    }

    #[test]
    fn every_fallback_pins_an_exact_version() {
        for agent in Manifest::embedded().agents() {
            let Some(fallback) = &agent.fallback else { continue };
            for package in fallback.distribution.packages() {
                assert!(package.version().is_some(), "{}: {package:?} is not pinned", agent.id);
            }
        }
    }

    #[test]
    fn a_registry_id_finds_the_agent_it_belongs_to() {
        let manifest = Manifest::embedded();
        assert_eq!(manifest.find("claude-acp").unwrap().id.as_str(), "claude");
        assert!(manifest.find("claude").unwrap().facts.questions);
        assert!(manifest.find("no-such-agent").is_none());
    }
}
