//! The log: on standard error, so that standard output stays for what was asked for.
//!
//! As text for people, or one flat JSON object a line for machines. No header, query, body or token goes in.

use std::io::IsTerminal;

use tracing_subscriber::filter::Targets;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;
use tracing_subscriber::{fmt, registry};

use crate::settings::LogFormat;

/// Starts logging. A filter that cannot be read logs as `info` does, and says so.
pub(crate) fn start(filter: &str, format: LogFormat) {
    let (targets, complaint) = match filter.parse::<Targets>() {
        Ok(targets) => (targets, None),
        Err(error) => (Targets::new().with_default(tracing::Level::INFO), Some(error)),
    };
    let layer = fmt::layer().with_ansi(std::io::stderr().is_terminal()).with_writer(std::io::stderr);
    let filtered = registry().with(targets);
    match format {
        LogFormat::Text => filtered.with(layer).init(),
        LogFormat::Json => filtered.with(layer.json().flatten_event(true)).init(),
    }
    if let Some(error) = complaint {
        tracing::warn!(filter, %error, "cannot read the log filter; logging at info");
    }
}
