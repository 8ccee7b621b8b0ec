//! Installs a Python package into a virtual environment of its own, with uv.

use std::path::Path;

use semver::VersionReq;

use crate::error::{CatalogError, InstallStep};
use crate::host::is_executable;
use crate::install::context::{InstallContext, Installed};
use crate::install::python::{Python, Uv, find_pythons};
use crate::plan::PackageOffer;
use crate::record::{ArtifactKind, RecordedArtifact, RecordedLaunch, Word};
use crate::tool::path_option;

/// The virtual environment's directory in the version's directory.
const ENVIRONMENT: &str = "venv";
/// The required Python version if the package's data names none.
const DEFAULT_PYTHON: &str = ">=3.10";

/// Creates the environment and installs the package.
pub(crate) async fn install(
    context: &InstallContext,
    offer: &PackageOffer,
) -> Result<Installed, CatalogError> {
    let uv = Uv::prepare(context).await?;
    let wanted = offer.python.as_deref().unwrap_or(DEFAULT_PYTHON);
    let candidates = pythons(context, &uv, wanted).await?;
    let name = offer.package.name();
    // The version directory is created before uv resolves a version; without a requested one it is named `latest`.
    let (directory, path) = context.make_version_directory(offer.version.as_deref().unwrap_or("latest"))?;
    let environment = path.join(ENVIRONMENT);
    let mut failure = None;
    for python in &candidates {
        match attempt(context, &uv, offer, python, &environment).await {
            Ok(()) => {
                failure = None;
                break;
            }
            // Another Python may work if the package refuses this one.
            Err(error) if refuses_python(&error) => {
                crate::layout::remove_tree(&environment);
                failure = Some(error);
            }
            Err(error) => return Err(error),
        }
    }
    if let Some(error) = failure {
        return Err(missing_python(name, &candidates, &error));
    }
    let version = match &offer.version {
        Some(version) => version.clone(),
        None => installed_version(context, &uv, offer, &environment).await?,
    };
    let root = context.data.root();
    let script = command(context, offer, &environment)?;
    let artifact = RecordedArtifact {
        kind: ArtifactKind::AgentProcess,
        path: Word::path(root, &environment),
        origin: format!("pypi:{name}=={version}"),
        version: Some(version.clone()),
        source: context.source,
        sha256: None,
    };
    let runtime = uv.runtime.as_ref().map(|runtime| runtime.artifact(context, &uv.program));
    let launch = RecordedLaunch {
        program: Word::path(root, &script),
        args: offer.args.iter().cloned().map(Word::Text).collect(),
        env: offer.env.clone(),
        // Some packages start `python` or a command of the same environment by name.
        search_path: vec![Word::path(root, &environment.join("bin"))],
        library_path: Vec::new(),
    };
    Ok(Installed {
        version,
        directory,
        artifacts: std::iter::once(artifact).chain(runtime).collect(),
        launch,
    })
}

/// The candidate interpreters, at most three.
async fn pythons(context: &InstallContext, uv: &Uv, wanted: &str) -> Result<Vec<Python>, CatalogError> {
    let range = VersionReq::parse(wanted).unwrap_or(VersionReq::STAR);
    let mut found = find_pythons(context, &range).await;
    if found.is_empty() {
        let downloaded = uv.download_python(context, wanted).await;
        found = find_pythons(context, &range).await;
        if found.is_empty() {
            let reason = downloaded.err().map_or_else(String::new, |failure| {
                format!(
                    "; uv could not download one: {}",
                    failure.tail.lines().last().unwrap_or(&failure.detail)
                )
            });
            return Err(CatalogError::RuntimeMissing {
                runtime: format!("Python {wanted}"),
                detail: format!("no such Python is on this machine{reason}; install one and put it on PATH"),
            });
        }
    }
    found.truncate(3);
    Ok(found)
}

async fn attempt(
    context: &InstallContext,
    uv: &Uv,
    offer: &PackageOffer,
    python: &Python,
    environment: &Path,
) -> Result<(), CatalogError> {
    let name = offer.package.name();
    context.progress.enter(InstallStep::InstallPackage, format!("{name} with Python {}", python.version));
    let mut make = uv.tool(context, &["venv", "--relocatable", "--no-python-downloads", "--quiet"]);
    make.args.push(path_option("--python=", &python.program));
    make.args.push(environment.into());
    context.run(InstallStep::InstallPackage, make).await?;
    let requirement = match &offer.version {
        Some(version) => format!("{name}=={version}"),
        None => name.to_owned(),
    };
    let mut install = uv.tool(context, &["pip", "install"]);
    install.args.push(path_option("--python=", &environment.join("bin/python")));
    install.args.push(requirement.into());
    context.run(InstallStep::InstallPackage, install).await.map(|_| ())
}

/// True if uv's output says that the package does not support this interpreter.
fn refuses_python(error: &CatalogError) -> bool {
    let output = error.output_tail().unwrap_or_default();
    let flat = output.split_whitespace().collect::<Vec<_>>().join(" ");
    flat.contains("does not satisfy Python") || flat.contains("Requires-Python")
}

fn missing_python(package: &str, tried: &[Python], error: &CatalogError) -> CatalogError {
    let tried: Vec<_> = tried.iter().map(|python| python.version.to_string()).collect();
    CatalogError::RuntimeMissing {
        runtime: format!("a Python that {package} accepts"),
        detail: format!("tried {}: {}", tried.join(", "), error.output_tail().unwrap_or_default()),
    }
}

async fn installed_version(
    context: &InstallContext,
    uv: &Uv,
    offer: &PackageOffer,
    environment: &Path,
) -> Result<String, CatalogError> {
    let mut show = uv.tool(context, &["pip", "show", "--quiet", offer.package.short_name()]);
    show.args.push(path_option("--python=", &environment.join("bin/python")));
    show.args.retain(|word| word != "--quiet");
    let output = context.run(InstallStep::InstallPackage, show).await?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let version =
        text.lines().find_map(|line| line.strip_prefix("Version:")).map(|version| version.trim().to_owned());
    version.ok_or_else(|| {
        let detail = "uv does not say which version it installed".to_owned();
        context.failed(InstallStep::InstallPackage, detail, text)
    })
}

/// The requested command, else the one with the package's name.
fn command(
    context: &InstallContext,
    offer: &PackageOffer,
    environment: &Path,
) -> Result<std::path::PathBuf, CatalogError> {
    let names = offer.command.iter().map(String::as_str).chain([offer.package.short_name()]);
    let found = names.map(|name| environment.join("bin").join(name)).find(|path| is_executable(path));
    found.ok_or_else(|| {
        let detail = format!("{} has no command of that name", offer.package.name());
        context.failed(InstallStep::InstallPackage, detail, String::new())
    })
}
