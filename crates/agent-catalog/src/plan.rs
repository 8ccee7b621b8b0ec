//! Decides what to install: makes a plan from an agent's sources, in the order in which to try them.
//!
//! The registry's data takes precedence when it is available; the manifest adds the native dependency and the
//! verification command. A plan is only data: nothing is downloaded or written here.

use std::collections::BTreeMap;

use crate::agent_id::AgentId;
use crate::distribution::{BinaryTarget, Distribution, PackageDistribution, PackageName};
use crate::error::CatalogError;
use crate::manifest::{ManifestAgent, NativeDependency};
use crate::platform::Platform;
use crate::record::Source;
use crate::registry::{Reach, RegistryAnswer};

/// One way to install the agent.
#[derive(Debug, Clone)]
pub(crate) enum Offer {
    Npm(PackageOffer),
    Python(PackageOffer),
    Binary { target: BinaryTarget, version: String },
}

impl Offer {
    fn clear_before(&mut self) {
        if let Self::Npm(offer) | Self::Python(offer) = self {
            offer.before = None;
        }
    }
}

/// A package with everything needed to run it.
#[derive(Debug, Clone)]
pub(crate) struct PackageOffer {
    pub(crate) package: PackageName,
    /// The requested version; `None` means the newest.
    pub(crate) version: Option<String>,
    pub(crate) command: Option<String>,
    pub(crate) args: Vec<String>,
    pub(crate) env: BTreeMap<String, String>,
    pub(crate) python: Option<String>,
    /// npm's `before` date: dependencies published later are not used.
    pub(crate) before: Option<String>,
}

/// The native agent to install with the adapter.
#[derive(Debug, Clone)]
pub(crate) struct NativePlan {
    pub(crate) dependency: NativeDependency,
    /// The requested version, else the manifest's.
    pub(crate) version: Option<String>,
}

/// All decisions about one install.
#[derive(Debug, Clone)]
pub(crate) struct InstallPlan {
    pub(crate) source: Source,
    /// The offers in order of preference; never empty.
    pub(crate) offers: Vec<Offer>,
    pub(crate) native: Option<NativePlan>,
    /// The arguments for verification by running the command, if it replaces the handshake.
    pub(crate) verification: Option<Vec<String>>,
}

impl InstallPlan {
    /// The version of the preferred offer; `None` if only an install can tell.
    pub(crate) fn version(&self) -> Option<&str> {
        match self.offers.first()? {
            Offer::Npm(offer) | Offer::Python(offer) => offer.version.as_deref(),
            Offer::Binary { version, .. } => Some(version),
        }
    }
}

/// The versions that the install request names.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Pins {
    pub(crate) agent_process: Option<String>,
    pub(crate) native: Option<String>,
}

/// Makes a plan.
pub(crate) fn make(
    id: &AgentId,
    manifest: Option<&ManifestAgent>,
    registry: &RegistryAnswer,
    pins: &Pins,
) -> Result<InstallPlan, CatalogError> {
    for version in [&pins.agent_process, &pins.native].into_iter().flatten() {
        check_version(id, version)?;
    }
    if let Some(agent) = manifest.filter(|agent| !agent.platforms.contains(&Platform::current())) {
        return Err(unsupported(id, agent.platforms.iter().map(|platform| platform.key())));
    }
    let slug = manifest.map_or(Some(id), |agent| agent.registry.as_ref());
    let listed = slug.and_then(|slug| registry.document.as_ref()?.find(slug.as_str()));
    let (source, distribution, version) = match (listed, manifest.and_then(|agent| agent.fallback.as_ref())) {
        (Some(entry), _) => (Source::Registry, &entry.distribution, entry.version.as_str()),
        (None, Some(fallback)) => {
            let platforms = fallback.platforms.as_deref().unwrap_or(&Platform::ALL);
            if !platforms.contains(&Platform::current()) {
                return Err(unsupported(id, platforms.iter().map(|platform| platform.key())));
            }
            (Source::Fallback, &fallback.distribution, "")
        }
        (None, None) => return Err(no_source(id, manifest.is_some(), registry)),
    };
    if source == Source::Registry && registry.reach == Reach::Network {
        refuse_local_archive(id, distribution)?;
    }
    let native = native_plan(id, manifest, pins)?;
    // Without a native dependency, the package is the native agent itself: either version names it.
    let process_pin = match (&pins.agent_process, &pins.native, &native) {
        (Some(process), Some(native), None) if process != native => {
            let reason = "the agent and its ACP process are one package; request only one version".to_owned();
            return Err(CatalogError::VersionUnavailable {
                agent: id.to_string(),
                requested: native.clone(),
                reason,
            });
        }
        (None, Some(native), None) => Some(native.as_str()),
        (process, ..) => process.as_deref(),
    };
    let mut offers = offers(id, distribution, version, process_pin)?;
    if pins.native.is_some() {
        offers.iter_mut().for_each(Offer::clear_before);
    }
    let verification = manifest.and_then(|agent| agent.verification.clone());
    Ok(InstallPlan { source, offers, native, verification })
}

fn native_plan(
    id: &AgentId,
    manifest: Option<&ManifestAgent>,
    pins: &Pins,
) -> Result<Option<NativePlan>, CatalogError> {
    let Some(dependency) = manifest.and_then(|agent| agent.native.as_ref()) else { return Ok(None) };
    if dependency.mode == crate::manifest::NativeMode::User {
        return match &pins.native {
            None => Ok(None),
            Some(requested) => Err(CatalogError::VersionUnavailable {
                agent: id.to_string(),
                requested: requested.clone(),
                reason: format!("{} is not installed by this product", dependency.package),
            }),
        };
    }
    let version = pins.native.clone().or_else(|| dependency.version.clone());
    Ok(Some(NativePlan { dependency: dependency.clone(), version }))
}

fn offers(
    id: &AgentId,
    distribution: &Distribution,
    version: &str,
    pin: Option<&str>,
) -> Result<Vec<Offer>, CatalogError> {
    let mut offers = Vec::new();
    if let Some(npx) = &distribution.npx {
        offers.push(Offer::Npm(package_offer(npx, PackageName::npm(&npx.package), pin)));
    }
    if let Some(uvx) = &distribution.uvx {
        offers.push(Offer::Python(package_offer(uvx, PackageName::python(&uvx.package), pin)));
    }
    if let Some(target) = distribution.binary.get(Platform::current().key()) {
        match pin {
            // An archive's address is specific to one version; the address of another cannot be derived.
            Some(pin) if pin != version && offers.is_empty() => {
                return Err(CatalogError::VersionUnavailable {
                    agent: id.to_string(),
                    requested: pin.to_owned(),
                    reason: format!("it is available only as an archive of version {version}"),
                });
            }
            Some(pin) if pin != version => {}
            _ => offers.push(Offer::Binary { target: target.clone(), version: version.to_owned() }),
        }
    }
    if !offers.is_empty() {
        return Ok(offers);
    }
    if distribution.binary.is_empty() {
        let reason = "its registry entry offers no npx, uvx or binary distribution".to_owned();
        return Err(CatalogError::NoSource { agent: id.to_string(), reason });
    }
    // List the platforms as the registry spells them: it may name some that this product does not know.
    Err(unsupported(id, distribution.binary.keys().map(String::as_str)))
}

/// Refuses local files from a registry on the network, which could otherwise install and run any file that
/// the server can read.
fn refuse_local_archive(id: &AgentId, distribution: &Distribution) -> Result<(), CatalogError> {
    let target = distribution.binary.get(Platform::current().key());
    match target.filter(|target| target.archive.starts_with("file:")) {
        None => Ok(()),
        Some(target) => Err(CatalogError::NoSource {
            agent: id.to_string(),
            reason: format!(
                "the registry names a file of this machine, {:?}; only a registry that is a file itself may do that",
                target.archive
            ),
        }),
    }
}

fn package_offer(offer: &PackageDistribution, package: PackageName, pin: Option<&str>) -> PackageOffer {
    // A package without a version means the newest one, as with npx and uvx.
    let version = pin.or(package.version()).map(str::to_owned);
    PackageOffer {
        version,
        package,
        command: offer.command.clone(),
        args: offer.args.clone(),
        env: offer.env.clone(),
        python: offer.python.clone(),
        // A requested version may be newer than the date that suits the pinned one.
        before: offer.before.clone().filter(|_| pin.is_none()),
    }
}

/// Refuses text that is not a plain version: npm and uv would also accept `file:../x` or `git+ssh://`.
fn check_version(id: &AgentId, version: &str) -> Result<(), CatalogError> {
    let safe = version.starts_with(|c: char| c.is_ascii_alphanumeric())
        && version.len() <= 64
        && version.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-' | '+'));
    if safe {
        return Ok(());
    }
    Err(CatalogError::VersionUnavailable {
        agent: id.to_string(),
        requested: version.chars().take(80).collect(),
        reason: "a version is letters, digits and . _ - +".to_owned(),
    })
}

fn unsupported<'a>(id: &AgentId, platforms: impl IntoIterator<Item = &'a str>) -> CatalogError {
    let available: Vec<_> = platforms.into_iter().collect();
    CatalogError::UnsupportedPlatform {
        agent: id.to_string(),
        platform: Platform::current().to_string(),
        available: available.join(", "),
    }
}

fn no_source(id: &AgentId, in_manifest: bool, registry: &RegistryAnswer) -> CatalogError {
    let problem = registry.problem.as_deref().unwrap_or("it is not listed there");
    if !in_manifest && registry.document.is_some() {
        return CatalogError::UnknownAgent { agent: id.to_string() };
    }
    let reason = format!(
        "it comes from the ACP registry, which did not provide it ({problem}), and there is no pinned fallback; \
         set SANDBOX_AGENT_ACP_REGISTRY_URL to a registry that can be reached, or configure it as a custom agent"
    );
    CatalogError::NoSource { agent: id.to_string(), reason }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::manifest::Manifest;
    use crate::registry::RegistryDocument;

    fn plan(id: &str, registry: Option<&str>, pins: &Pins) -> Result<InstallPlan, CatalogError> {
        let document = registry.map(|text| Arc::new(RegistryDocument::parse(text.as_bytes()).unwrap()));
        let problem = document.is_none().then(|| "down".to_owned());
        let answer = RegistryAnswer { document, problem, reach: Reach::Network };
        make(&id.parse().unwrap(), Manifest::embedded().find(id), &answer, pins)
    }

    fn npm(plan: &InstallPlan) -> (&str, Option<&str>) {
        match &plan.offers[0] {
            Offer::Npm(offer) => (offer.package.name(), offer.version.as_deref()),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_pinned_package_takes_older_dependencies_unless_another_version_is_requested() {
        let day = |pins: &Pins| match &plan("pi", None, pins).unwrap().offers[0] {
            Offer::Npm(offer) => offer.before.clone(),
            other => panic!("{other:?}"),
        };
        assert!(day(&Pins::default()).is_some());
        assert!(day(&Pins { agent_process: Some("0.0.35".into()), ..Pins::default() }).is_none());
        assert!(day(&Pins { native: Some("0.88.0".into()), ..Pins::default() }).is_none());
    }

    #[test]
    fn the_registry_wins_and_the_fallback_stands_in() {
        let registry = r#"{"agents":[{"id":"pi-acp","name":"pi","version":"0.0.99",
            "distribution":{"npx":{"package":"pi-acp@0.0.99"}}}]}"#;
        let listed = plan("pi", Some(registry), &Pins::default()).unwrap();
        assert_eq!((listed.source, npm(&listed)), (Source::Registry, ("pi-acp", Some("0.0.99"))));
        let fallback = plan("pi", None, &Pins::default()).unwrap();
        assert_eq!((fallback.source, npm(&fallback)), (Source::Fallback, ("pi-acp", Some("0.0.34"))));
        assert_eq!(fallback.native.unwrap().version.as_deref(), Some("0.87.1"));
    }

    #[test]
    fn a_pin_replaces_the_version_and_cannot_smuggle_in_an_address() {
        let pins = Pins { agent_process: Some("1.2.3".into()), native: None };
        assert_eq!(npm(&plan("gemini", None, &pins).unwrap()).1, Some("1.2.3"));
        let native = Pins { agent_process: None, native: Some("7.0.0".into()) };
        assert_eq!(npm(&plan("gemini", None, &native).unwrap()).1, Some("7.0.0"));
        let evil = Pins { agent_process: Some("file:/etc".into()), native: None };
        assert_eq!(plan("gemini", None, &evil).unwrap_err().code(), "version_unavailable");
    }

    #[test]
    fn an_agent_without_any_source_says_why() {
        let error = plan("cursor", None, &Pins::default()).unwrap_err();
        assert_eq!(error.code(), "no_source");
        assert!(error.to_string().contains("down"), "{error}");
        assert_eq!(
            plan("nobody", Some(r#"{"agents":[]}"#), &Pins::default()).unwrap_err().code(),
            "unknown_agent"
        );
    }

    #[test]
    fn an_archive_for_other_machines_is_an_unsupported_platform() {
        let registry = r#"{"agents":[{"id":"x","name":"x","version":"1.0.0",
            "distribution":{"binary":{"windows-x86_64":{"archive":"a","cmd":"b"}}}}]}"#;
        let error = plan("x", Some(registry), &Pins::default()).unwrap_err();
        assert_eq!(error.code(), "unsupported_platform");
        assert!(error.to_string().ends_with("only for windows-x86_64"), "{error}");
    }

    #[test]
    fn a_registry_on_the_network_cannot_name_a_file_of_this_machine() {
        let registry = format!(
            r#"{{"agents":[{{"id":"x","name":"x","version":"1.0.0","distribution":{{"npx":{{"package":"x@1"}},
                "binary":{{"{}":{{"archive":"file:///etc/passwd","cmd":"b"}}}}}}}}]}}"#,
            Platform::current().key()
        );
        let error = plan("x", Some(&registry), &Pins::default()).unwrap_err();
        assert_eq!(error.code(), "no_source");
        assert!(error.to_string().contains("file:///etc/passwd"), "{error}");
    }
}
