//! Installs Node.js and npm on a machine that has neither: downloads their tarballs directly from the
//! configured npm registry.
//!
//! This works only with a configured registry: no registry address is built in.

use std::path::{Path, PathBuf};

use semver::Version;
use serde_json::Value;
use sha2::{Digest, Sha512};

use crate::error::{CatalogError, InstallStep};
use crate::http;
use crate::install::context::InstallContext;
use crate::install::download;
use crate::install::node::Node;
use crate::install::node_version::{NodeRange, choose};
use crate::install::npmrc::NpmSettings;
use crate::install::runtime::{Runtime, RuntimeRecord, ensure, unpack_tarball};
use crate::platform::Platform;

/// npm 12 and later do not run install scripts of indirect dependencies; npm 11 does.
const NPM_RANGE: &str = "^11";

/// Ensures that private copies of Node.js and npm exist; returns Node.js and the path of `npm-cli.js`.
pub(crate) async fn fetch(context: &InstallContext) -> Result<(Node, PathBuf), CatalogError> {
    let settings = NpmSettings::of_host(&context.host, context.npm_registry.as_deref());
    let Some(registry) = settings.registry.clone() else {
        return Err(CatalogError::RuntimeMissing {
            runtime: "Node.js with npm".to_owned(),
            detail: "there is no npm on PATH and no npm registry to fetch it from; install Node.js, or set \
                     SANDBOX_AGENT_NPM_REGISTRY (or `registry` in an npmrc) to an npm registry's address"
                .to_owned(),
        });
    };
    let certificates: Vec<Vec<u8>> =
        settings.certificates.iter().filter_map(|file| std::fs::read(file).ok()).collect();
    let source = TarballSource { context, http: http::client(&certificates)?, settings, registry };

    let node_package = Platform::current().node_package();
    let node_document = source.document(node_package).await?;
    let node_version = choose(&versions(&node_document, |_| true), &[])
        .ok_or_else(|| source.missing(node_package, "it has no usable version"))?;
    let node = source.runtime("node", node_package, &node_document, &node_version).await?;

    let npm_document = source.document("npm").await?;
    let wanted = NodeRange::parse(NPM_RANGE);
    let fitting = versions(&npm_document, |entry| {
        entry["engines"]["node"].as_str().is_none_or(|range| NodeRange::parse(range).accepts(&node_version))
    });
    let npm_version = fitting
        .iter()
        .filter_map(|text| Version::parse(text).ok())
        .filter(|version| version.pre.is_empty() && wanted.accepts(version))
        .max()
        .ok_or_else(|| source.missing("npm", "no version fits the Node.js that was fetched"))?;
    let npm = source.runtime("npm", "npm", &npm_document, &npm_version).await?;

    let program = node.directory.join("bin/node");
    let node = Node { program, version: node_version, runtime: Some(node) };
    Ok((node, npm.directory.join("bin/npm-cli.js")))
}

fn versions(document: &Value, accept: impl Fn(&Value) -> bool) -> Vec<String> {
    let listed = document["versions"].as_object().into_iter().flatten();
    listed.filter(|(_, entry)| accept(entry)).map(|(version, _)| version.clone()).collect()
}

struct TarballSource<'a> {
    context: &'a InstallContext,
    http: reqwest::Client,
    settings: NpmSettings,
    registry: String,
}

impl TarballSource<'_> {
    fn missing(&self, package: &str, why: &str) -> CatalogError {
        CatalogError::RuntimeMissing {
            runtime: "Node.js with npm".to_owned(),
            detail: format!("the configured npm registry was asked for {package}: {why}"),
        }
    }

    async fn document(&self, package: &str) -> Result<Value, CatalogError> {
        let url = format!("{}/{package}", self.registry);
        let mut request =
            self.http.get(&url).header("accept", "application/vnd.npm.install-v1+json, application/json");
        if let Some(token) = self.settings.token_for(&url) {
            request = request.bearer_auth(token);
        }
        let answer = async {
            let response = request.send().await?.error_for_status()?;
            response.json::<Value>().await
        };
        answer.await.map_err(|error| self.missing(package, &http::chain(&error)))
    }

    async fn runtime(
        &self,
        name: &str,
        package: &str,
        document: &Value,
        version: &Version,
    ) -> Result<Runtime, CatalogError> {
        let entry = &document["versions"][version.to_string()]["dist"];
        let tarball =
            entry["tarball"].as_str().ok_or_else(|| self.missing(package, "no tarball is listed"))?;
        let integrity = entry["integrity"].as_str();
        let record = RuntimeRecord {
            name: name.to_owned(),
            version: version.to_string(),
            origin: format!("npm:{package}@{version}"),
        };
        ensure(self.context, record, async |directory: &Path| {
            let file = self.context.scratch.path().join(format!("{name}.tgz"));
            let fetched = download::fetch(&self.http, tarball, &file, None).await;
            let checked = match fetched {
                Ok(_) => check_integrity(&file, integrity),
                Err(detail) => Err(detail),
            };
            checked
                .map_err(|detail| self.context.failed(InstallStep::PrepareRuntime, detail, String::new()))?;
            unpack_tarball(self.context, file, directory).await
        })
        .await
    }
}

/// Checks `sha512-<base64>`. Older algorithms are not accepted.
fn check_integrity(file: &Path, integrity: Option<&str>) -> Result<(), String> {
    let expected = integrity
        .and_then(|text| text.split_whitespace().find_map(|part| part.strip_prefix("sha512-")))
        .ok_or("the registry gives no sha512 for this tarball")?;
    let bytes = std::fs::read(file).map_err(|error| error.to_string())?;
    let actual = base64(&Sha512::digest(&bytes));
    if actual == expected {
        Ok(())
    } else {
        Err("the tarball's sha512 does not match the registry's".to_owned())
    }
}

fn base64(bytes: &[u8]) -> String {
    const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::new();
    for chunk in bytes.chunks(3) {
        let padded = [chunk[0], chunk.get(1).copied().unwrap_or(0), chunk.get(2).copied().unwrap_or(0)];
        let number = u32::from_be_bytes([0, padded[0], padded[1], padded[2]]);
        for position in 0..4 {
            let index = (number >> (18 - 6 * position)) & 63;
            let used = position <= chunk.len();
            text.push(if used { char::from(ALPHABET[index as usize]) } else { '=' });
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_pads() {
        for (plain, encoded) in
            [("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foobar", "Zm9vYmFy")]
        {
            assert_eq!(base64(plain.as_bytes()), encoded);
        }
    }

    #[test]
    fn a_tarball_with_another_hash_is_refused() {
        let file = tempfile::NamedTempFile::new().unwrap();
        assert!(check_integrity(file.path(), Some("sha512-AAAA")).is_err());
        assert!(check_integrity(file.path(), Some("sha1-AAAA")).is_err());
        let empty = format!("sha512-{}", base64(&Sha512::digest(b"")));
        assert_eq!(check_integrity(file.path(), Some(&empty)), Ok(()));
    }
}
