//! Python interpreters and uv: the machine's own, else private ones.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use semver::{Version, VersionReq};

use crate::error::{CatalogError, InstallStep};
use crate::host::is_executable;
use crate::install::context::{INSTALL_TIMEOUT, InstallContext, QUERY_TIMEOUT};
use crate::install::pip_config::PipConfig;
use crate::install::runtime::{Runtime, RuntimeRecord, ensure};
use crate::install::uv_bootstrap;
use crate::tool::{Tool, ToolFailure, path_option, words};

/// The release of uv to download if the machine has none.
const UV_VERSION: &str = "0.13.7";
/// The minor versions of Python 3 to look for, most preferred first: agents' wheels lag behind new releases.
const MINORS: [u64; 5] = [13, 12, 14, 11, 10];

/// A usable Python.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Python {
    pub(crate) program: PathBuf,
    pub(crate) version: Version,
}

/// uv: the machine's own or a private one.
#[derive(Debug, Clone)]
pub(crate) struct Uv {
    pub(crate) program: PathBuf,
    pub(crate) runtime: Option<Runtime>,
}

/// The interpreters that satisfy a requirement, best first, without duplicates.
pub(crate) async fn find_pythons(context: &InstallContext, wanted: &VersionReq) -> Vec<Python> {
    let mut found: Vec<Python> = Vec::new();
    let mut seen = BTreeSet::new();
    for candidate in candidates(context) {
        if let Some(python) = ask(context, &candidate).await
            && wanted.matches(&python.version)
            && seen.insert(python.program.clone())
        {
            found.push(python);
        }
    }
    let rank =
        |version: &Version| MINORS.iter().position(|minor| *minor == version.minor).unwrap_or(MINORS.len());
    found.sort_by(|a, b| rank(&a.version).cmp(&rank(&b.version)).then(b.version.cmp(&a.version)));
    found
}

/// Programs on `PATH`, pyenv's versions (its shims run only the selected one), and usual locations.
fn candidates(context: &InstallContext) -> Vec<PathBuf> {
    let host = &context.host;
    let names = MINORS.iter().map(|minor| format!("python3.{minor}")).chain(["python3".to_owned()]);
    let mut paths: Vec<PathBuf> = names.filter_map(|name| host.find_program(name)).collect();
    let pyenv =
        host.get("PYENV_ROOT").map(PathBuf::from).or_else(|| host.home().map(|home| home.join(".pyenv")));
    let managed = [
        pyenv.map(|root| root.join("versions")),
        host.home().map(|home| home.join(".local/share/uv/python")),
        Some(uv_pythons(context)),
    ];
    for directory in managed.into_iter().flatten() {
        let entries = std::fs::read_dir(directory).into_iter().flatten().flatten();
        paths
            .extend(entries.map(|entry| entry.path().join("bin/python3")).filter(|path| is_executable(path)));
    }
    paths
}

/// The directory for Pythons that uv downloads.
fn uv_pythons(context: &InstallContext) -> PathBuf {
    context.data.root().join("runtimes/python-uv")
}

async fn ask(context: &InstallContext, program: &Path) -> Option<Python> {
    let script =
        "import sys,os\nprint(os.path.realpath(sys.executable))\nprint('%d.%d.%d' % sys.version_info[:3])";
    let tool = Tool {
        program: program.to_owned(),
        args: words(&["-I", "-c", script]),
        // Use the real environment: a version manager's shim needs the real home directory to find its
        // interpreter.
        variables: context.host.variables().clone(),
        directory: context.scratch.path().to_owned(),
        timeout: QUERY_TIMEOUT,
    };
    let output = tool.run().await.ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    let (path, version) = text.trim().split_once('\n')?;
    Some(Python { program: path.into(), version: Version::parse(version.trim()).ok()? })
}

impl Uv {
    /// Returns the machine's uv, or else a private one installed with pip from pip's configured index.
    pub(crate) async fn prepare(context: &InstallContext) -> Result<Self, CatalogError> {
        context.progress.enter(InstallStep::PrepareRuntime, "uv");
        if let Some(program) = context.host.find_program("uv") {
            return Ok(Self { program, runtime: None });
        }
        let record = RuntimeRecord {
            name: "uv".to_owned(),
            version: UV_VERSION.to_owned(),
            origin: format!("pypi:uv=={UV_VERSION}"),
        };
        let runtime =
            ensure(context, record, async |directory: &Path| install_uv(context, directory).await).await?;
        Ok(Self { program: runtime.directory.join("bin/uv"), runtime: Some(runtime) })
    }

    /// A uv command line.
    pub(crate) fn tool(&self, context: &InstallContext, args: &[&str]) -> Tool {
        let mut variables = context.scratch.variables();
        variables.insert("UV_PYTHON_INSTALL_DIR".into(), uv_pythons(context).into());
        // Ignore a project's settings in a parent directory.
        variables.insert("UV_NO_PROJECT".into(), "1".into());
        Tool {
            program: self.program.clone(),
            args: words(args),
            variables,
            directory: context.scratch.path().to_owned(),
            timeout: INSTALL_TIMEOUT,
        }
    }

    /// Lets uv download a Python. uv gets Pythons from another server than packages, which may be unreachable.
    pub(crate) async fn download_python(
        &self,
        context: &InstallContext,
        wanted: &str,
    ) -> Result<(), ToolFailure> {
        context.progress.enter(InstallStep::PrepareRuntime, format!("Python {wanted}"));
        let mut tool = self.tool(context, &["python", "install", "--no-bin", wanted]);
        tool.timeout = QUERY_TIMEOUT * 3;
        tool.run().await.map(|_| ())
    }
}

async fn install_uv(context: &InstallContext, directory: &Path) -> Result<(), CatalogError> {
    let missing = |detail: String| CatalogError::RuntimeMissing { runtime: "uv".to_owned(), detail };
    let pythons = find_pythons(context, &VersionReq::STAR).await;
    let Some(python) = pythons.first() else {
        let Some(index) = PipConfig::of_host(&context.host).index_url else {
            let detail = "there is neither uv nor a Python with pip on this machine, and pip is not configured with \
                          an index to fetch uv from; install one of them, or set PIP_INDEX_URL";
            return Err(missing(detail.to_owned()));
        };
        return uv_bootstrap::fetch(context, &index, UV_VERSION, directory).await.map_err(missing);
    };
    let mut tool = Tool {
        program: python.program.clone(),
        args: words(&[
            "-m",
            "pip",
            "install",
            "--quiet",
            "--no-deps",
            "--disable-pip-version-check",
            "--no-compile",
        ]),
        variables: context.scratch.variables(),
        directory: context.scratch.path().to_owned(),
        timeout: INSTALL_TIMEOUT,
    };
    tool.args.push(path_option("--prefix=", directory));
    tool.args.push(format!("uv=={UV_VERSION}").into());
    // Distributions mark their Python as externally managed; installing into a separate prefix does not touch it.
    tool.variables.insert("PIP_BREAK_SYSTEM_PACKAGES".into(), "1".into());
    if let Err(failure) = tool.run().await {
        let tail = failure.tail.lines().last().unwrap_or_default().to_owned();
        return Err(missing(format!("pip could not install it: {}; {tail}", failure.detail)));
    }
    // Debian's pip appends `local` to a prefix; move the program to `bin`.
    let program = directory.join("bin/uv");
    let elsewhere = directory.join("local/bin/uv");
    if !program.exists() && elsewhere.exists() {
        let bin = directory.join("bin");
        std::fs::create_dir_all(&bin)
            .and_then(|()| std::fs::rename(&elsewhere, &program))
            .map_err(|error| CatalogError::storage("move", &elsewhere, &error))?;
    }
    if is_executable(&program) { Ok(()) } else { Err(missing("pip's package of it has no program".into())) }
}
