//! The interpreters that a bundled agent needs. Private interpreters are packed unchanged; those of the
//! machine are packed as private ones.
//!
//! A machine's Python is packed with its standard library and its shared library. The system libraries it links to
//! (libc, OpenSSL, SQLite) are not packed.

use std::path::{Path, PathBuf};

use serde_json::Value;

use super::{IndexedEnvironment, invalid};
use crate::catalog::Catalog;
use crate::error::CatalogError;
use crate::install::RuntimeRecord;
use crate::record::{InstallRecord, RecordedLaunch, Word};
use crate::tool::{Tool, words};

/// The parts that have to be packed with one agent.
#[derive(Debug, Default)]
pub(super) struct BundleParts {
    /// The launch, with the machine's paths replaced by private ones.
    pub(super) launch: Option<RecordedLaunch>,
    /// Directories below the data directory, packed whole.
    pub(super) runtimes: Vec<PathBuf>,
    /// Files of the machine, and their paths in the bundle.
    pub(super) files: Vec<(PathBuf, PathBuf)>,
    /// Directories of the machine, and their paths in the bundle.
    pub(super) directories: Vec<(PathBuf, PathBuf)>,
    /// Runtimes assembled from the machine's files, and the records to write for them.
    pub(super) records: Vec<(PathBuf, RuntimeRecord)>,
    /// Links to pack instead of the entries at their paths.
    pub(super) links: Vec<(PathBuf, PathBuf)>,
    pub(super) environments: Vec<IndexedEnvironment>,
}

/// Determines what an agent needs.
pub(super) async fn prepare(
    catalog: &Catalog,
    record: &InstallRecord,
    bundle: &Path,
) -> Result<BundleParts, CatalogError> {
    let mut parts = BundleParts { launch: Some(record.launch.clone()), ..BundleParts::default() };
    let in_launch = std::iter::once(&record.launch.program).chain(&record.launch.search_path);
    for word in in_launch.chain(&record.launch.library_path) {
        if let Word::Data(path) = word {
            parts.runtimes.extend(runtime_directory(path));
        }
    }
    parts.runtimes.sort();
    parts.runtimes.dedup();
    if let Word::Host(node) = &record.launch.program {
        include_node(catalog, &mut parts, node, bundle).await?;
    }
    let version_directory = catalog.data().version(&record.agent, &record.directory);
    if version_directory.join("venv/pyvenv.cfg").exists() {
        let relative = Path::new("agents").join(record.agent.as_str()).join(&record.directory).join("venv");
        include_python(catalog, &mut parts, &relative, bundle).await?;
    }
    Ok(parts)
}

/// The `runtimes/<name>/<version>` prefix of a path.
fn runtime_directory(path: &Path) -> Option<PathBuf> {
    path.starts_with("runtimes").then(|| path.components().take(3).collect())
}

async fn query(
    catalog: &Catalog,
    program: &Path,
    args: &[&str],
    bundle: &Path,
) -> Result<Value, CatalogError> {
    let tool = Tool {
        program: program.to_owned(),
        args: words(args),
        variables: catalog.options().host.variables().clone(),
        directory: std::env::temp_dir(),
        timeout: std::time::Duration::from_secs(60),
    };
    let output = tool.run().await.map_err(|failure| invalid(bundle, failure.detail))?;
    serde_json::from_slice(&output.stdout).map_err(|error| invalid(bundle, error.to_string()))
}

fn text<'a>(answer: &'a Value, name: &str) -> &'a str {
    answer[name].as_str().unwrap_or_default()
}

async fn include_node(
    catalog: &Catalog,
    parts: &mut BundleParts,
    node: &Path,
    bundle: &Path,
) -> Result<(), CatalogError> {
    let script = "process.stdout.write(JSON.stringify({version: process.versions.node, \
                  shared: !!process.config.variables.node_shared}))";
    let answer = query(catalog, node, &["-e", script], bundle).await?;
    if answer["shared"] == true {
        let detail = format!("{} needs its distribution's libraries and cannot be bundled", node.display());
        return Err(invalid(bundle, detail));
    }
    let version = text(&answer, "version").to_owned();
    let home = Path::new("runtimes/node").join(&version);
    let program = home.join("bin/node");
    if let Some(launch) = &mut parts.launch {
        launch.program = Word::Data(program.clone());
        launch.search_path.insert(0, Word::Data(home.join("bin")));
    }
    // A private copy of that version may exist already; then that copy is packed.
    if catalog.data().root().join(&home).join(crate::layout::RECORD_FILE).exists() {
        parts.runtimes.push(home);
    } else {
        parts.files.push((node.to_owned(), program));
        let origin = format!("machine:node@{version}");
        parts.records.push((home, RuntimeRecord { name: "node".to_owned(), version, origin }));
    }
    Ok(())
}

async fn include_python(
    catalog: &Catalog,
    parts: &mut BundleParts,
    environment: &Path,
    bundle: &Path,
) -> Result<(), CatalogError> {
    let root = catalog.data().root();
    let script = "import json,os,sys,sysconfig as s\n\
        print(json.dumps({'program': os.path.realpath(sys.executable), 'stdlib': s.get_path('stdlib'),\n\
        'version': '%d.%d.%d' % sys.version_info[:3], 'short': '%d.%d' % sys.version_info[:2],\n\
        'library': os.path.join(s.get_config_var('LIBDIR') or '', s.get_config_var('INSTSONAME') or '')\n\
        if s.get_config_var('Py_ENABLE_SHARED') else ''}))";
    let answer =
        query(catalog, &root.join(environment).join("bin/python"), &["-I", "-c", script], bundle).await?;
    let program = PathBuf::from(text(&answer, "program"));
    let home = if let Ok(inside) = program.strip_prefix(root) {
        let runtime = runtime_directory(inside)
            .ok_or_else(|| invalid(bundle, format!("{} is not a runtime", program.display())))?;
        parts.links.push((environment.join("bin/python"), relative_link(&environment.join("bin"), inside)));
        parts.runtimes.push(runtime);
        inside.parent().unwrap_or(inside).to_owned()
    } else {
        let (version, short) = (text(&answer, "version"), text(&answer, "short"));
        let home = Path::new("runtimes/python").join(version);
        let placed = home.join("bin").join(format!("python{short}"));
        parts.links.push((environment.join("bin/python"), relative_link(&environment.join("bin"), &placed)));
        parts.files.push((program, placed));
        let library = PathBuf::from(text(&answer, "library"));
        if let Some(name) = library.file_name() {
            parts.files.push((library.clone(), home.join("lib").join(name)));
            if let Some(launch) = &mut parts.launch {
                launch.library_path.push(Word::Data(home.join("lib")));
            }
        }
        let standard_library = home.join("lib").join(format!("python{short}"));
        parts.directories.push((PathBuf::from(text(&answer, "stdlib")), standard_library));
        let (name, version) = ("python".to_owned(), version.to_owned());
        let origin = format!("machine:python@{version}");
        parts.records.push((home.clone(), RuntimeRecord { name, version, origin }));
        home.join("bin")
    };
    parts.environments.push(IndexedEnvironment { path: environment.to_owned(), home });
    Ok(())
}

/// The relative link from a directory to a path; both are relative to the same root.
fn relative_link(from: &Path, to: &Path) -> PathBuf {
    let up = from.components().map(|_| "..");
    up.map(PathBuf::from).collect::<PathBuf>().join(to)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_lead_up_and_down_again() {
        let link = relative_link(Path::new("agents/a/1/venv/bin"), Path::new("runtimes/python/3/bin/python"));
        assert_eq!(link, Path::new("../../../../../runtimes/python/3/bin/python"));
    }

    #[test]
    fn only_paths_below_runtimes_have_a_runtime_directory() {
        assert_eq!(
            runtime_directory(Path::new("runtimes/node/24.0.0/bin/node")),
            Some("runtimes/node/24.0.0".into())
        );
        assert_eq!(runtime_directory(Path::new("agents/pi/1/x")), None);
    }
}
