//! The log. It goes to standard error, so that standard output contains only results.
//!
//! The format is text for people, or one flat JSON object per line for programs. Headers, query strings, bodies and
//! tokens are never logged.

use std::io::IsTerminal;
use std::sync::OnceLock;

use tracing_subscriber::filter::Targets;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;
use tracing_subscriber::{fmt, registry};

use crate::log_writer::LogWriter;
use crate::settings::LogFormat;

static WRITER: OnceLock<LogWriter> = OnceLock::new();

/// Waits a short time until all lines are written. Called before the program exits.
pub(crate) fn flush() {
    if let Some(writer) = WRITER.get() {
        writer.flush_all();
    }
}

/// Starts logging. An invalid filter is replaced by `info`, with a warning.
pub(crate) fn start(filter: &str, format: LogFormat) {
    let (targets, filter_error) = match filter.parse::<Targets>() {
        Ok(targets) => (targets, None),
        Err(error) => (Targets::new().with_default(tracing::Level::INFO), Some(error)),
    };
    let writer = match LogWriter::start(std::io::stderr()) {
        Ok(writer) => WRITER.get_or_init(|| writer).clone(),
        Err(error) => {
            eprintln!("cannot start the thread that writes the log: {error}");
            return;
        }
    };
    let layer = fmt::layer().with_ansi(std::io::stderr().is_terminal()).with_writer(writer);
    let filtered = registry().with(targets);
    match format {
        LogFormat::Text => filtered.with(layer).init(),
        LogFormat::Json => filtered.with(layer.json().flatten_event(true)).init(),
    }
    if let Some(error) = filter_error {
        tracing::warn!(filter, %error, "invalid log filter; using info");
    }
}
