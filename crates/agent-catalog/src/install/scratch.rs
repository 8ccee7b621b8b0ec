//! The environment of install tools: a scratch home directory, but the machine's own configuration.
//!
//! A package's install script may edit shell profiles or leave files in the home directory, so the home is a
//! temporary folder. Variables point the tools to the user's real npm, pip and uv configuration (registry, proxy,
//! certificates). Nothing is read from those files here.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use tempfile::TempDir;

use crate::error::{CatalogError, StorageResult};
use crate::host::HostEnvironment;
use crate::install::pip_config::PipConfig;

/// A scratch folder and the environment variables that refer to it. The folder is deleted on drop.
#[derive(Debug)]
pub(crate) struct Scratch {
    folder: TempDir,
    variables: BTreeMap<OsString, OsString>,
}

impl Scratch {
    /// Creates a scratch folder below `parent`, on the same file system as the install.
    pub(crate) fn create(
        parent: &Path,
        host: &HostEnvironment,
        npm_registry: Option<&str>,
    ) -> Result<Self, CatalogError> {
        std::fs::create_dir_all(parent).during("create", parent)?;
        let folder = tempfile::Builder::new()
            .prefix(".scratch-")
            .tempdir_in(parent)
            .during("create a folder in", parent)?;
        let home = folder.path().join("home");
        std::fs::create_dir(&home).during("create", &home)?;
        let mut variables = host.variables().clone();
        redirect_home(&mut variables, &home);
        npm_variables(&mut variables, host, npm_registry);
        python_variables(&mut variables, host);
        Ok(Self { folder, variables })
    }

    /// The folder, for example for downloads.
    pub(crate) fn path(&self) -> &Path {
        self.folder.path()
    }

    /// The variables for a tool.
    pub(crate) fn variables(&self) -> BTreeMap<OsString, OsString> {
        self.variables.clone()
    }

    /// The variables for a tool, with private runtimes first on `PATH`.
    pub(crate) fn variables_with_path(
        &self,
        host: &HostEnvironment,
        first: &[PathBuf],
    ) -> BTreeMap<OsString, OsString> {
        let mut variables = self.variables.clone();
        variables.insert("PATH".into(), host.path_with(first));
        variables
    }
}

fn redirect_home(variables: &mut BTreeMap<OsString, OsString>, home: &Path) {
    variables.insert("HOME".into(), home.into());
    for (name, below) in [
        ("XDG_CONFIG_HOME", ".config"),
        ("XDG_DATA_HOME", ".local/share"),
        ("XDG_STATE_HOME", ".local/state"),
        ("XDG_CACHE_HOME", ".cache"),
    ] {
        variables.insert(name.into(), home.join(below).into());
    }
}

fn npm_variables(
    variables: &mut BTreeMap<OsString, OsString>,
    host: &HostEnvironment,
    npm_registry: Option<&str>,
) {
    // npm sets these variables if it started this program. They would redirect the install.
    for name in ["npm_config_prefix", "npm_config_local_prefix", "npm_config_global", "NPM_CONFIG_PREFIX"] {
        variables.remove(std::ffi::OsStr::new(name));
    }
    if let Some(config) = user_npmrc(host) {
        variables.insert("NPM_CONFIG_USERCONFIG".into(), config.into());
    }
    if host.get("npm_config_cache").is_none()
        && host.get("NPM_CONFIG_CACHE").is_none()
        && let Some(cache) = writable(host.home().map(|home| home.join(".npm")))
    {
        variables.insert("NPM_CONFIG_CACHE".into(), cache.into());
    }
    if let Some(registry) = npm_registry {
        variables.insert("NPM_CONFIG_REGISTRY".into(), registry.into());
        variables.remove(std::ffi::OsStr::new("npm_config_registry"));
    }
    for quiet in ["NPM_CONFIG_AUDIT", "NPM_CONFIG_FUND", "NPM_CONFIG_UPDATE_NOTIFIER", "NPM_CONFIG_PROGRESS"]
    {
        variables.insert(quiet.into(), "false".into());
    }
}

/// The path of the user's npmrc; the file may not exist.
pub(crate) fn user_npmrc(host: &HostEnvironment) -> Option<PathBuf> {
    let configured = host.get("NPM_CONFIG_USERCONFIG").or_else(|| host.get("npm_config_userconfig"));
    configured.map(PathBuf::from).or_else(|| host.home().map(|home| home.join(".npmrc")))
}

fn python_variables(variables: &mut BTreeMap<OsString, OsString>, host: &HostEnvironment) {
    let pip = PipConfig::of_host(host);
    let mut default = |name: &str, value: Option<OsString>| {
        if let Some(value) = value
            && host.get(name).is_none()
        {
            variables.insert(name.into(), value);
        }
    };
    default("PIP_CONFIG_FILE", pip.user_file.clone().map(Into::into));
    let config_home = host
        .get("XDG_CONFIG_HOME")
        .map(PathBuf::from)
        .or_else(|| host.home().map(|home| home.join(".config")));
    let uv_config = config_home.map(|config| config.join("uv/uv.toml")).filter(|path| path.exists());
    default("UV_CONFIG_FILE", uv_config.clone().map(Into::into));
    // uv does not read pip's configuration. If uv has no configuration of its own, pass it pip's settings.
    if uv_config.is_none() && host.get("UV_INDEX_URL").is_none() {
        default("UV_DEFAULT_INDEX", pip.index_url.map(Into::into));
        default("UV_INDEX", pip.extra_index_urls.map(Into::into));
        default("UV_FIND_LINKS", pip.find_links.map(|links| comma_separated(&links).into()));
        default("UV_INSECURE_HOST", pip.trusted_hosts.map(Into::into));
    }
    if host.get("https_proxy").is_none() {
        default("HTTPS_PROXY", pip.proxy.map(Into::into));
    }
    default("SSL_CERT_FILE", pip.certificates.map(Into::into));
    default("UV_CACHE_DIR", writable(host.home().map(|home| home.join(".cache/uv"))).map(Into::into));
    default("UV_NO_PROGRESS", Some("1".into()));
    default(
        "NETRC",
        host.home().map(|home| home.join(".netrc")).filter(|path| path.exists()).map(Into::into),
    );
    // Python must not look for user packages in the scratch home.
    default("PYTHONNOUSERSITE", Some("1".into()));
    variables.remove(std::ffi::OsStr::new("PYTHONHOME"));
    variables.remove(std::ffi::OsStr::new("PYTHONPATH"));
    variables.remove(std::ffi::OsStr::new("VIRTUAL_ENV"));
}

/// Converts pip's space-separated list into a comma-separated list for uv.
fn comma_separated(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(",")
}

/// The directory, if it exists and is writable. Used to share an existing cache of the machine.
fn writable(directory: Option<PathBuf>) -> Option<PathBuf> {
    let directory = directory?;
    rustix::fs::access(&directory, rustix::fs::Access::WRITE_OK).ok()?;
    Some(directory)
}
