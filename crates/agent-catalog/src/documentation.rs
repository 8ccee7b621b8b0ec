//! Generates `docs/agents.md` from the manifest, so that the two cannot disagree.

use std::fmt::Write;

use crate::distribution::PackageDistribution;
use crate::manifest::{Manifest, ManifestAgent, NativeMode};
use crate::platform::Platform;

const INTRODUCTION: &str = "\
# Agents

<!-- Generated from crates/agent-catalog/manifest/agents.toml; change that file, then run
     BLESS=1 cargo test -p agent-catalog --test documentation -->

`?agent=` accepts the name of every agent below. The server installs an agent on first use;
`sandbox-agent install <agent>` installs it beforehand. The version comes from the ACP registry, or, if the registry cannot be reached, it is the pinned
version in the last column. Any other id in the registry works too, and so does any command set with
`--agent NAME=COMMAND`. `mock` is built in and needs no installation.

Each version is installed into its own directory below the data directory. If a package needs a newer Node.js than the
machine has, the server installs a private one for it. Python packages are installed with `uv`, which the server fetches
with pip if it is missing. The configuration of npm and pip (registry, proxy, certificates) applies.

`sandbox-agent install` and `POST /v1/agents/{agent}/install` ask the registry again and fail with the step `verify` when
the installed agent does not start properly; one that only lacks credentials is installed. An agent that is installed on
first use is started in either case, and `verified` in `GET /v1/agents` says how its verification went. There, a
capability that is `null` is not known until the agent has been probed with `?config=true`. Archives are refused when
they have an absolute name, `..`, a backslash, a device, or a link that leads out; a registry over http or https cannot
name a file of this machine.

";

/// The whole page.
#[must_use]
pub fn agents_markdown() -> String {
    let mut page = INTRODUCTION.to_owned();
    page.push_str("| agent | name | ACP registry id | pinned version |\n|---|---|---|---|\n");
    for agent in Manifest::embedded().agents() {
        let registry =
            agent.registry.as_ref().map_or("not in the registry".to_owned(), |slug| format!("`{slug}`"));
        let pinned = pinned(agent).map_or("none".to_owned(), |(kind, package)| format!("{kind} `{package}`"));
        // Writing to a String cannot fail, here and below.
        let _ = writeln!(page, "| [`{id}`](#{id}) | {} | {registry} | {pinned} |", agent.name, id = agent.id);
    }
    for agent in Manifest::embedded().agents() {
        section(&mut page, agent);
    }
    page
}

fn pinned(agent: &ManifestAgent) -> Option<(&'static str, &str)> {
    let distribution = &agent.fallback.as_ref()?.distribution;
    let npm = distribution.npx.as_ref().map(|offer| ("npm", offer.package.as_str()));
    npm.or_else(|| distribution.uvx.as_ref().map(|offer| ("PyPI", offer.package.as_str())))
}

fn section(page: &mut String, agent: &ManifestAgent) {
    let id = &agent.id;
    let _ = write!(page, "\n## {id}\n\n{}. Install: `sandbox-agent install {id}`.\n\n", agent.name);
    match &agent.registry {
        Some(slug) => drop(writeln!(page, "- Source: ACP registry `{slug}`")),
        None => page.push_str("- Source: not in the ACP registry (`non_registry`)\n"),
    }
    match pinned(agent) {
        Some((kind, package)) => drop(writeln!(page, "- Fallback: {kind} `{package}`{}", only_on(agent))),
        None => page.push_str("- Fallback: none; it can be installed from the registry only\n"),
    }
    let distribution = agent.fallback.as_ref().map(|fallback| &fallback.distribution);
    if let Some(offer) = distribution.and_then(|d| d.npx.as_ref().or(d.uvx.as_ref())) {
        launch(page, offer);
    }
    if let Some(native) = &agent.native {
        let how = match native.mode {
            NativeMode::Beside => "installed alongside",
            NativeMode::Override => "included in the ACP package; `agentVersion` selects another version",
            NativeMode::User => "not installed by this product",
        };
        let version = native.version.as_deref().map_or(String::new(), |version| format!("@{version}"));
        let _ = writeln!(page, "- Native agent: npm `{}{version}`, {how}", native.package);
    }
    let platforms: Vec<_> = agent.platforms.iter().map(|platform| format!("`{platform}`")).collect();
    let _ = writeln!(page, "- Platforms: {}", platforms.join(", "));
    credentials(page, agent);
    match &agent.verification {
        Some(args) => drop(writeln!(page, "- Verified by: `{}`", args.join(" "))),
        None => page.push_str("- Verified by: an ACP `initialize` handshake\n"),
    }
    let facts = agent.facts;
    if facts.questions {
        page.push_str("- Asks the user questions\n");
    }
    if !facts.permissions {
        page.push_str("- Never asks for permission\n");
    }
}

fn only_on(agent: &ManifestAgent) -> String {
    let narrowed = agent.fallback.as_ref().and_then(|fallback| fallback.platforms.as_ref());
    narrowed.map_or(String::new(), |platforms| {
        let keys: Vec<&str> = platforms.iter().copied().map(Platform::key).collect();
        format!(" (only on {})", keys.join(", "))
    })
}

fn launch(page: &mut String, offer: &PackageDistribution) {
    let package = crate::distribution::PackageName::npm(&offer.package);
    let command = offer.command.as_deref().unwrap_or_else(|| package.short_name());
    let line: Vec<&str> = std::iter::once(command).chain(offer.args.iter().map(String::as_str)).collect();
    let _ = writeln!(page, "- Started as: `{}`", line.join(" "));
    if let Some(python) = &offer.python {
        let _ = writeln!(page, "- Needs: Python {python}");
    }
    for (name, value) in &offer.env {
        let _ = writeln!(page, "- Default: `{name}={value}`");
    }
}

fn credentials(page: &mut String, agent: &ManifestAgent) {
    let names = agent.credentials.env.iter().chain(&agent.credentials.files);
    let names: Vec<_> = names.map(|name| format!("`{name}`")).collect();
    let _ = writeln!(page, "- Credentials (any of): {}", names.join(", "));
}
