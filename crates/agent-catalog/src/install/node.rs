//! Node.js and npm for an install: the machine's own if they are suitable, else private ones.

use std::path::{Path, PathBuf};

use semver::Version;
use serde_json::Value;

use crate::error::{CatalogError, InstallStep};
use crate::install::context::{InstallContext, QUERY_TIMEOUT};
use crate::install::node_bootstrap;
use crate::install::node_version::{NodeRange, choose};
use crate::install::runtime::{Runtime, RuntimeRecord, ensure, unpack_tarball};
use crate::platform::Platform;
use crate::record::RecordedArtifact;
use crate::tool::{Tool, path_option, words};

/// A usable Node.js.
#[derive(Debug, Clone)]
pub(crate) struct Node {
    pub(crate) program: PathBuf,
    pub(crate) version: Version,
    /// The private runtime; `None` for the machine's own Node.js.
    pub(crate) runtime: Option<Runtime>,
}

impl Node {
    /// The directory to prepend to `PATH`, for a private Node.js.
    pub(crate) fn path_entry(&self) -> Option<PathBuf> {
        self.runtime.as_ref().and(self.program.parent()).map(Path::to_owned)
    }

    pub(crate) fn artifact(&self, context: &InstallContext) -> Option<RecordedArtifact> {
        self.runtime.as_ref().map(|runtime| runtime.artifact(context, &self.program))
    }
}

/// npm, with the Node.js that runs it.
#[derive(Debug, Clone)]
pub(crate) struct Npm {
    node: Node,
    /// `npm-cli.js`, or an executable npm program.
    program: PathBuf,
}

/// The metadata of one package version.
#[derive(Debug, Clone)]
pub(crate) struct PackageFacts {
    pub(crate) version: String,
    pub(crate) engine: Option<NodeRange>,
}

impl Npm {
    /// Returns the machine's npm, or else a private one.
    pub(crate) async fn prepare(context: &InstallContext) -> Result<Self, CatalogError> {
        context.progress.enter(InstallStep::PrepareRuntime, "Node.js");
        let program = context.host.find_program("npm");
        match (machine_node(context).await, program) {
            (Some(node), Some(program)) => {
                let program = program.canonicalize().unwrap_or(program);
                Ok(Self { node, program })
            }
            _ => {
                let (node, program) = node_bootstrap::fetch(context).await?;
                Ok(Self { node, program })
            }
        }
    }

    /// Returns a Node.js that satisfies every range: the one that runs npm, or else a private one.
    pub(crate) async fn node_for(
        &self,
        context: &InstallContext,
        ranges: &[NodeRange],
    ) -> Result<Node, CatalogError> {
        if ranges.iter().all(|range| range.accepts(&self.node.version)) {
            return Ok(self.node.clone());
        }
        let wanted: Vec<_> = ranges.iter().map(NodeRange::text).collect();
        let wanted = wanted.join(" and ");
        let package = Platform::current().node_package();
        context.progress.enter(InstallStep::PrepareRuntime, format!("Node.js {wanted}"));
        let offered = self.query(context, &[package, "versions"]).await?;
        let offered: Vec<String> = serde_json::from_value(offered).unwrap_or_default();
        let version = choose(&offered, ranges).ok_or_else(|| CatalogError::RuntimeMissing {
            runtime: format!("Node.js {wanted}"),
            detail: format!(
                "the machine has {}, and the package {package} has no version that satisfies it",
                self.node.version
            ),
        })?;
        let record = RuntimeRecord {
            name: "node".to_owned(),
            version: version.to_string(),
            origin: format!("npm:{package}@{version}"),
        };
        let runtime = ensure(context, record, async |directory: &Path| {
            let tarball = self.pack(context, &format!("{package}@{version}")).await?;
            unpack_tarball(context, tarball, directory).await
        })
        .await?;
        Ok(Node { program: runtime.directory.join("bin/node"), version, runtime: Some(runtime) })
    }

    /// A package's exact version and its Node.js requirement; `None` if the version does not exist.
    pub(crate) async fn facts(
        &self,
        context: &InstallContext,
        name: &str,
        version: Option<&str>,
    ) -> Result<Option<PackageFacts>, CatalogError> {
        let spec = format!("{name}@{}", version.unwrap_or("latest"));
        let answer = match self.query(context, &[&spec, "version", "engines"]).await {
            Ok(answer) => answer,
            Err(CatalogError::InstallFailed { output_tail, .. })
                if ["E404", "ETARGET", "404 Not Found"].iter().any(|mark| output_tail.contains(mark)) =>
            {
                return Ok(None);
            }
            Err(error) => return Err(error),
        };
        // For a range, npm prints a list whose last element is the newest; for one field, it prints the bare
        // value.
        let answer = match answer {
            Value::Array(mut list) => list.pop().unwrap_or(Value::Null),
            other => other,
        };
        let text = |value: &Value| value.as_str().map(str::to_owned);
        let Some(version) = text(&answer).or_else(|| text(&answer["version"])) else { return Ok(None) };
        let engine = answer["engines"]["node"].as_str().map(NodeRange::parse);
        Ok(Some(PackageFacts { version, engine }))
    }

    /// An npm command line, with this Node.js first on `PATH`.
    pub(crate) fn tool(
        &self,
        context: &InstallContext,
        node: &Node,
        args: &[&str],
        directory: &Path,
    ) -> Tool {
        let first: Vec<_> = node.path_entry().into_iter().collect();
        let is_script = self.program.extension().is_some_and(|extension| extension == "js");
        let (program, mut all) = if is_script {
            (self.node.program.clone(), vec![self.program.clone().into_os_string()])
        } else {
            (self.program.clone(), Vec::new())
        };
        all.extend(words(args));
        Tool {
            program,
            args: all,
            variables: context.scratch.variables_with_path(&context.host, &first),
            directory: directory.to_owned(),
            timeout: QUERY_TIMEOUT,
        }
    }

    async fn query(&self, context: &InstallContext, args: &[&str]) -> Result<Value, CatalogError> {
        let mut all = vec!["view", "--json"];
        all.extend(args);
        let tool = self.tool(context, &self.node, &all, context.scratch.path());
        let output = context.run(InstallStep::ResolveSource, tool).await?;
        Ok(serde_json::from_slice(&output.stdout).unwrap_or(Value::Null))
    }

    /// Downloads a package's tarball with npm's own configuration.
    async fn pack(&self, context: &InstallContext, spec: &str) -> Result<PathBuf, CatalogError> {
        let folder = context.scratch.path().join("pack");
        let made = std::fs::create_dir_all(&folder);
        made.map_err(|error| CatalogError::storage("create", &folder, &error))?;
        let mut tool = self.tool(context, &self.node, &["pack", "--silent", spec], &folder);
        tool.args.push(path_option("--pack-destination=", &folder));
        tool.timeout = super::context::INSTALL_TIMEOUT;
        let output = context.run(InstallStep::PrepareRuntime, tool).await?;
        let printed = String::from_utf8_lossy(&output.stdout);
        let name = printed.lines().last().unwrap_or_default().trim();
        Ok(folder.join(name))
    }
}

/// The Node.js on `PATH`, resolved to its real path: version managers put shims on `PATH` that need the real home
/// directory.
async fn machine_node(context: &InstallContext) -> Option<Node> {
    let program = context.host.find_program("node")?;
    let script = "process.stdout.write(process.execPath + '\\n' + process.versions.node)";
    let tool = Tool {
        program,
        args: words(&["-e", script]),
        variables: context.host.variables().clone(),
        directory: context.scratch.path().to_owned(),
        timeout: QUERY_TIMEOUT,
    };
    let output = tool.run().await.ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    let (path, version) = text.trim().split_once('\n')?;
    Some(Node { program: path.into(), version: Version::parse(version).ok()?, runtime: None })
}
