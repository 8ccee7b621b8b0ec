//! What commands print: results on standard output, progress on standard error.

use std::io::{IsTerminal, Write};
use std::time::Duration;

use agent_catalog::{Catalog, InstallOutcome, InstallRequest, InstallState};
use serde::Serialize;

use super::CliError;

/// How results are printed.
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

/// Asks the registry, so that its agents are known, and says so when it cannot be asked.
pub(super) async fn ask_registry(catalog: &Catalog) {
    if let Some(problem) = catalog.registry().lookup().await.problem {
        eprintln!("the ACP registry cannot be asked, so its newest agents are not known here: {problem}");
    }
}

/// Installs an agent while showing how far it is.
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

/// One line on a terminal that changes in place; on anything else, a line when the text's beginning changes.
struct StatusLine {
    terminal: bool,
    frame: usize,
    last: String,
}

impl StatusLine {
    const FRAMES: [char; 10] = ['⠋', '⠙', '⠹', '⠸', '⠼', '⠴', '⠦', '⠧', '⠇', '⠏'];

    fn new() -> Self {
        Self { terminal: std::io::stderr().is_terminal(), frame: 0, last: String::new() }
    }

    fn show(&mut self, text: &str) {
        if self.terminal {
            self.frame = (self.frame + 1) % Self::FRAMES.len();
            eprint!("\r\x1b[2K{} {text}", Self::FRAMES[self.frame]);
            return;
        }
        // Without the running seconds, so that a log file gets a line a step.
        let step = text.rsplit_once(" (").map_or(text, |(step, _)| step);
        if step != self.last {
            eprintln!("{step}");
            step.clone_into(&mut self.last);
        }
    }

    fn clear(&self) {
        if self.terminal {
            eprint!("\r\x1b[2K");
        }
    }
}
