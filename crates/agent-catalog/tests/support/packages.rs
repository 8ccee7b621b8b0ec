//! A stand-in for an npm registry: enough of it for the real npm client.

use serde_json::{Value, json};

use super::server::{Answer, Server};
use super::tar_gz;

/// A package whose command is an ACP agent in JavaScript.
pub struct Package<'a> {
    pub name: &'a str,
    pub version: &'a str,
    pub engine: &'a str,
    pub script: &'a str,
}

/// Speaks ACP from Node.js and tells which Node.js it runs in.
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
    /// Publishes the package, alone under its name.
    pub fn publish(&self, server: &Server) {
        let short = self.name.rsplit('/').next().unwrap();
        let description: Value = json!({
            "name": self.name, "version": self.version, "bin": { short: "main.js" },
            "engines": { "node": self.engine },
        });
        let tarball = tar_gz(&[
            ("package/package.json", 0o644, description.to_string().as_bytes()),
            ("package/main.js", 0o755, self.script.as_bytes()),
        ]);
        let file = format!("/tarballs/{short}-{}.tgz", self.version);
        let mut entry = description;
        entry["dist"] = json!({ "tarball": server.url(&file) });
        let document = json!({
            "name": self.name, "dist-tags": { "latest": self.version }, "versions": { self.version: entry },
        });
        server.set(&file, Answer::body(tarball));
        server.set(&format!("/{}", self.name), Answer::body(document.to_string()));
    }
}
