//! The log. It goes to standard error, so that standard output contains only results.
//!
//! The format is text for people, or one flat JSON object per line for programs. Headers, query strings, bodies and
//! tokens are never logged.

use std::io::IsTerminal;

use tracing_subscriber::filter::Targets;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;
use tracing_subscriber::{fmt, registry};

use crate::settings::LogFormat;

/// Starts logging. An invalid filter is replaced by `info`, with a warning.
pub(crate) fn start(filter: &str, format: LogFormat) {
    let (targets, filter_error) = match filter.parse::<Targets>() {
        Ok(targets) => (targets, None),
        Err(error) => (Targets::new().with_default(tracing::Level::INFO), Some(error)),
    };
    let layer = fmt::layer().with_ansi(std::io::stderr().is_terminal()).with_writer(std::io::stderr);
    let filtered = registry().with(targets);
    match format {
        LogFormat::Text => filtered.with(layer).init(),
        LogFormat::Json => filtered.with(layer.json().flatten_event(true)).init(),
    }
    if let Some(error) = filter_error {
        tracing::warn!(filter, %error, "invalid log filter; using info");
    }
}
