//! The log: on standard error, so that standard output stays for what was asked for.
//!
//! As text for people, or one flat JSON object a line for machines. No header, query, body or token goes in.

use std::io::IsTerminal;

use tracing_subscriber::EnvFilter;

use crate::settings::LogFormat;

/// Starts logging. A filter that cannot be read logs as `info` does, and says so.
pub(crate) fn start(filter: &str, format: LogFormat) {
    let (parsed, complaint) = match EnvFilter::try_new(filter) {
        Ok(parsed) => (parsed, None),
        Err(error) => (EnvFilter::new("info"), Some(error)),
    };
    let subscriber = tracing_subscriber::fmt()
        .with_env_filter(parsed)
        .with_ansi(std::io::stderr().is_terminal())
        .with_writer(std::io::stderr);
    match format {
        LogFormat::Text => subscriber.init(),
        LogFormat::Json => subscriber.json().flatten_event(true).init(),
    }
    if let Some(error) = complaint {
        tracing::warn!(filter, %error, "cannot read the log filter; logging at info");
    }
}
