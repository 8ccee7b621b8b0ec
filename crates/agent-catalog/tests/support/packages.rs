//! A fake npm registry, complete enough for the real npm client.

use serde_json::{Value, json};

use super::server::{Answer, Server};
use super::tar_gz;

/// A package whose command is an ACP agent in JavaScript.
pub struct Package<'a> {
    pub name: &'a str,
    pub version: &'a str,
    pub engine: &'a str,
}

/// Publishes several versions of a package, described by their `package.json`, each with the same command.
pub fn publish_all(server: &Server, name: &str, descriptions: &[Value]) {
    let mut versions = serde_json::Map::new();
    let mut latest = String::new();
    for description in descriptions {
        let version = description["version"].as_str().unwrap().to_owned();
        let tarball = tar_gz(&[
            ("package/package.json", 0o644, description.to_string().as_bytes()),
            ("package/main.js", 0o755, AGENT_SCRIPT.as_bytes()),
        ]);
        let file = format!("/tarballs/{}-{version}.tgz", name.replace('/', "-"));
        server.set(&file, Answer::body(tarball));
        let mut entry = description.clone();
        entry["dist"] = json!({ "tarball": server.url(&file) });
        latest.clone_from(&version);
        versions.insert(version, entry);
    }
    let document = json!({ "name": name, "dist-tags": { "latest": latest }, "versions": versions });
    server.set(&format!("/{name}"), Answer::body(document.to_string()));
}

/// An ACP agent that reports the version of the Node.js that runs it.
pub const AGENT_SCRIPT: &str = r#"#!/usr/bin/env node
require('readline').createInterface({ input: process.stdin }).on('line', (line) => {
  const { id, method } = JSON.parse(line);
  const result = method === 'initialize'
    ? { protocolVersion: 1, agentInfo: { name: 'fake', version: process.versions.node }, agentCapabilities: {} }
    : { sessionId: 's' };
  console.log(JSON.stringify({ jsonrpc: '2.0', id, result }));
});
"#;

impl Package<'_> {
    /// Publishes the package, with this version only.
    pub fn publish(&self, server: &Server) {
        let short = self.name.rsplit('/').next().unwrap();
        let description = json!({
            "name": self.name, "version": self.version, "bin": { short: "main.js" },
            "engines": { "node": self.engine },
        });
        publish_all(server, self.name, &[description]);
    }
}
