//! Arguments with content to send: the text itself, `@FILE`, or `-` for standard input.

use std::io::Read;
use std::path::Path;

use serde_json::Value;

use super::error::CliError;

/// Reads the content of an argument.
pub(super) fn read(argument: &str) -> Result<Vec<u8>, CliError> {
    if argument == "-" {
        let mut bytes = Vec::new();
        std::io::stdin().read_to_end(&mut bytes)?;
        return Ok(bytes);
    }
    match argument.strip_prefix('@') {
        Some(file) => std::fs::read(file).map_err(|error| CliError::local(Path::new(file), &error)),
        None => Ok(argument.as_bytes().to_vec()),
    }
}

/// Reads the content of an argument, which must be JSON.
pub(super) fn read_json(argument: &str) -> Result<Value, CliError> {
    serde_json::from_slice(&read(argument)?).map_err(|error| {
        CliError::Usage(format!("not JSON: {error}; give JSON, @FILE, or - for standard input"))
    })
}
