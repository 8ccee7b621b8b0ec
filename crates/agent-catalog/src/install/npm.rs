//! Installs an npm package into its own directory.

use std::collections::BTreeMap;
use std::io::Read;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde_json::json;

use crate::error::{CatalogError, InstallStep};
use crate::host::is_executable;
use crate::install::context::{INSTALL_TIMEOUT, InstallContext, Installed};
use crate::install::node::{Node, Npm, PackageFacts};
use crate::layout::{read_json, write_json};
use crate::manifest::NativeMode;
use crate::plan::{NativePlan, PackageOffer};
use crate::record::{ArtifactKind, RecordedArtifact, RecordedLaunch, Source, Word};

/// The relevant fields of an installed `package.json`.
#[derive(Debug, Deserialize)]
struct PackageJson {
    version: String,
    #[serde(default)]
    bin: Option<Bin>,
}

/// `bin` is either one unnamed command or a map of named ones.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum Bin {
    One(PathBuf),
    Many(BTreeMap<String, PathBuf>),
}

/// Installs the package and, next to it, the native agent that it needs.
pub(crate) async fn install(
    context: &InstallContext,
    offer: &PackageOffer,
    native: Option<&NativePlan>,
) -> Result<Installed, CatalogError> {
    let npm = Npm::prepare(context).await?;
    let name = offer.package.name();
    context.progress.enter(InstallStep::ResolveSource, name);
    let facts = existing(context, &npm, name, offer.version.as_deref()).await?;
    let native_facts = match native.and_then(|plan| Some((plan, plan.version.as_deref()?))) {
        Some((plan, version)) => {
            Some((plan, existing(context, &npm, &plan.dependency.package, Some(version)).await?))
        }
        None => None,
    };
    let native_engine = native_facts.as_ref().and_then(|(_, facts)| facts.engine.clone());
    let ranges: Vec<_> = facts.engine.iter().cloned().chain(native_engine).collect();
    let node = npm.node_for(context, &ranges).await?;

    let (directory, path) = context.make_version_directory(&facts.version)?;
    let mut dependencies = BTreeMap::from([(name.to_owned(), facts.version.clone())]);
    let mut overrides = BTreeMap::new();
    if let Some((plan, native_facts)) = &native_facts {
        let place = match plan.dependency.mode {
            NativeMode::Beside => &mut dependencies,
            NativeMode::Override | NativeMode::User => &mut overrides,
        };
        place.insert(plan.dependency.package.clone(), native_facts.version.clone());
    }
    // npm 12 runs only install scripts that are allowed by name; older versions ignore the field.
    let allowed: BTreeMap<&str, bool> =
        dependencies.keys().chain(overrides.keys()).map(|n| (n.as_str(), true)).collect();
    let package_json = json!({
        "name": "installed-agent", "version": "0.0.0", "private": true,
        "dependencies": dependencies, "overrides": overrides, "allowScripts": allowed,
    });
    write_json(&path.join("package.json"), &package_json)?;
    context.progress.enter(InstallStep::InstallPackage, format!("{name}@{}", facts.version));
    let before = offer.before.as_ref().map(|day| format!("--before={day}"));
    let mut arguments = vec!["install", "--omit=dev", "--no-engine-strict", "--loglevel=warn"];
    arguments.extend(before.as_deref());
    let mut tool = npm.tool(context, &node, &arguments, &path);
    tool.timeout = INSTALL_TIMEOUT;
    context.run(InstallStep::InstallPackage, tool).await?;

    let launch = launch(context, offer, native, &node, &path)?;
    let artifacts = artifacts(context, offer, native, &node, &path, &facts);
    Ok(Installed { version: facts.version, directory, artifacts, launch })
}

async fn existing(
    context: &InstallContext,
    npm: &Npm,
    name: &str,
    version: Option<&str>,
) -> Result<PackageFacts, CatalogError> {
    npm.facts(context, name, version).await?.ok_or_else(|| CatalogError::VersionUnavailable {
        agent: context.agent.to_string(),
        requested: version.unwrap_or("latest").to_owned(),
        reason: format!("npm has no {name} of that version"),
    })
}

fn launch(
    context: &InstallContext,
    offer: &PackageOffer,
    native: Option<&NativePlan>,
    node: &Node,
    directory: &Path,
) -> Result<RecordedLaunch, CatalogError> {
    let package = directory.join("node_modules").join(offer.package.name());
    let fail = |detail: String| context.failed(InstallStep::InstallPackage, detail, String::new());
    let description: PackageJson = read_json(&package.join("package.json"))
        .map_err(|error| fail(format!("unreadable package.json: {error}")))?;
    let script = command(&description, offer)
        .map(|relative| package.join(relative))
        .ok_or_else(|| fail(format!("{} has no command to run", offer.package.name())))?;
    let root = context.data.root();
    let given_args = offer.args.iter().cloned().map(Word::Text);
    let (program, args) = if runs_in_node(&script) {
        let script = Word::path(root, &script);
        (Word::path(root, &node.program), std::iter::once(script).chain(given_args).collect())
    } else {
        make_executable(&script)
            .map_err(|error| CatalogError::storage("make executable", &script, &error))?;
        (Word::path(root, &script), given_args.collect())
    };
    let mut search_path: Vec<Word> = node.path_entry().iter().map(|entry| Word::path(root, entry)).collect();
    if native.is_some_and(|plan| plan.dependency.mode == NativeMode::Beside) {
        search_path.push(Word::path(root, &directory.join("node_modules/.bin")));
    }
    Ok(RecordedLaunch { program, args, env: offer.env.clone(), search_path, library_path: Vec::new() })
}

/// The requested command, else the one with the package's name, else the first.
fn command(description: &PackageJson, offer: &PackageOffer) -> Option<PathBuf> {
    match description.bin.as_ref()? {
        Bin::One(path) => Some(path.clone()),
        Bin::Many(commands) => {
            let asked = offer.command.as_deref().and_then(|name| commands.get(name));
            asked
                .or_else(|| commands.get(offer.package.short_name()))
                .or_else(|| commands.values().next())
                .cloned()
        }
    }
}

/// Whether a command is a Node.js script; some packages ship native executables.
fn runs_in_node(script: &Path) -> bool {
    let mut start = Vec::new();
    let read = std::fs::File::open(script).and_then(|file| file.take(128).read_to_end(&mut start));
    let first_line = start.split(|byte| *byte == b'\n').next().unwrap_or_default();
    let first_line = String::from_utf8_lossy(first_line);
    let named_like_one =
        script.extension().is_some_and(|e| ["js", "mjs", "cjs"].iter().any(|known| e == *known));
    read.is_ok() && (if first_line.starts_with("#!") { first_line.contains("node") } else { named_like_one })
}

pub(crate) fn make_executable(path: &Path) -> std::io::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    if is_executable(path) {
        return Ok(());
    }
    let mode = path.metadata()?.permissions().mode() | 0o755;
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode))
}

fn artifacts(
    context: &InstallContext,
    offer: &PackageOffer,
    native: Option<&NativePlan>,
    node: &Node,
    directory: &Path,
    facts: &PackageFacts,
) -> Vec<RecordedArtifact> {
    let artifact = |kind: ArtifactKind, name: &str, version: String| RecordedArtifact {
        kind,
        path: Word::path(context.data.root(), &directory.join("node_modules").join(name)),
        origin: format!("npm:{name}@{version}"),
        version: Some(version),
        source: context.source,
        sha256: None,
    };
    let process = artifact(ArtifactKind::AgentProcess, offer.package.name(), facts.version.clone());
    // Report the version that is installed, which may be the adapter's own choice.
    let native = native.and_then(|plan| {
        let name = &plan.dependency.package;
        let installed: PackageJson =
            read_json(&directory.join("node_modules").join(name).join("package.json")).ok()?;
        let mut artifact = artifact(ArtifactKind::NativeAgent, name, installed.version);
        // The registry lists adapters only; the native agent is the manifest's choice.
        if plan.dependency.mode == NativeMode::Beside {
            artifact.source = Source::Fallback;
        }
        Some(artifact)
    });
    std::iter::once(process).chain(native).chain(node.artifact(context)).collect()
}
