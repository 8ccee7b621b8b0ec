//! A fake npm registry, complete enough for the real npm client, with packages that are agents.

use agent_catalog::Manifest;
use serde_json::{Value, json};

use super::depot::archive;
use super::{Depot, Machine, NO_SERVER};

/// An ACP agent in JavaScript.
const AGENT: &str = r#"#!/usr/bin/env node
require('readline').createInterface({ input: process.stdin }).on('line', (line) => {
  const { id, method } = JSON.parse(line);
  const { version } = require('./package.json');
  const result = method === 'initialize'
    ? { protocolVersion: 1, agentInfo: { name: 'packaged', version }, agentCapabilities: {} }
    : null;
  console.log(JSON.stringify({ jsonrpc: '2.0', id, result }));
});
"#;

/// The package and version that the manifest pins for `gemini`, an agent that is one npm package.
pub(crate) fn pinned_gemini() -> (String, String) {
    pinned("gemini")
}

/// The package and version that the manifest pins for an agent.
pub(crate) fn pinned(agent: &str) -> (String, String) {
    let known = Manifest::embedded().find(agent).expect("the manifest has it");
    let npx = known.fallback.as_ref().and_then(|fallback| fallback.distribution.npx.as_ref());
    let (name, version) = npx.expect("it is a package").package.rsplit_once('@').expect("it is pinned");
    (name.to_owned(), version.to_owned())
}

/// A machine without an ACP registry, whose npm uses a depot with these versions of `gemini`; `more` is merged
/// into the package's description.
pub(crate) fn machine_with_gemini(versions: &[&str], more: &Value) -> (Depot, Machine) {
    machine_with(&pinned_gemini().0, versions, more)
}

/// Like [`machine_with_gemini`], with any package.
pub(crate) fn machine_with(name: &str, versions: &[&str], more: &Value) -> (Depot, Machine) {
    let depot = Depot::open();
    let command = name.rsplit('/').next().unwrap_or(name);
    let mut published = serde_json::Map::new();
    for version in versions {
        let mut description = json!({ "name": name, "version": version, "bin": { command: "main.js" } });
        for (key, value) in more.as_object().into_iter().flatten() {
            description[key] = value.clone();
        }
        let path = format!("/tarballs/{version}.tgz");
        let text = description.to_string();
        depot.put(&path, archive(&[("package/package.json", text.as_str()), ("package/main.js", AGENT)]));
        description["dist"] = json!({ "tarball": depot.url(&path) });
        published.insert((*version).to_owned(), description);
    }
    let document = json!({ "name": name, "dist-tags": { "latest": versions.last() }, "versions": published });
    depot.put(&format!("/{name}"), document.to_string());
    let machine = Machine::new(NO_SERVER).with("SANDBOX_AGENT_NPM_REGISTRY", &depot.url(""));
    (depot, machine)
}
