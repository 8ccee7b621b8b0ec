//! Printing results to standard output.

use std::io::Write;
use std::time::Duration;

use agent_catalog::{Catalog, InstallOutcome, InstallRequest, InstallState};
use serde::Serialize;

use super::error::CliError;
use super::progress::StatusLine;

/// The format in which results are printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Format {
    /// For people.
    Text,
    /// For programs.
    Json,
}

impl Format {
    pub(super) const fn of(json: bool) -> Self {
        if json { Self::Json } else { Self::Text }
    }
}

/// Prints a value as indented JSON.
pub(super) fn print_json(value: &impl Serialize) -> Result<(), CliError> {
    let mut out = std::io::stdout().lock();
    serde_json::to_writer_pretty(&mut out, value).map_err(std::io::Error::from)?;
    writeln!(out)?;
    Ok(())
}

/// Prints bytes unchanged, and adds a missing line break at the end. Prints nothing for empty input.
pub(super) fn print_bytes(bytes: &[u8]) -> Result<(), CliError> {
    let mut out = std::io::stdout().lock();
    out.write_all(bytes)?;
    if !bytes.is_empty() && !bytes.ends_with(b"\n") {
        out.write_all(b"\n")?;
    }
    Ok(out.flush()?)
}

/// Prints a line.
pub(super) fn print_line(text: impl std::fmt::Display) -> Result<(), CliError> {
    Ok(writeln!(std::io::stdout().lock(), "{text}")?)
}

/// Loads the agents of the registry, and prints a warning if the registry cannot be reached.
pub(super) async fn refresh_registry(catalog: &Catalog) {
    if let Some(problem) = catalog.registry().lookup().await.problem {
        eprintln!("the ACP registry cannot be reached, so its newest agents are missing: {problem}");
    }
}

/// Installs an agent and shows the progress.
pub(super) async fn install_with_progress(
    catalog: &Catalog,
    agent: &str,
    request: InstallRequest,
) -> Result<InstallOutcome, CliError> {
    let mut progress = catalog.install_progress(agent)?;
    let install = catalog.install(agent, request);
    tokio::pin!(install);
    let mut line = StatusLine::new();
    let mut tick = tokio::time::interval(Duration::from_millis(100));
    let outcome = loop {
        tokio::select! {
            outcome = &mut install => break outcome,
            _ = tick.tick() => {}
        }
        let now = progress.borrow_and_update().clone();
        if let (InstallState::Installing, Some(step)) = (now.state, now.step) {
            let step = step.as_str().replace('_', " ");
            let seconds = now.elapsed().unwrap_or_default().as_secs();
            line.show(&format!("{agent}: {step} {} ({seconds} s)", now.detail.unwrap_or_default()));
        }
    };
    line.clear();
    Ok(outcome?)
}
