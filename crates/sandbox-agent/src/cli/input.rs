//! What a command is given to send: text as it stands, `@FILE`, or `-` for standard input.

use std::io::Read;
use std::path::Path;

use serde_json::Value;

use super::error::CliError;

/// The bytes that an argument stands for.
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

/// The same where it must be JSON.
pub(super) fn read_json(argument: &str) -> Result<Value, CliError> {
    serde_json::from_slice(&read(argument)?).map_err(|error| {
        CliError::Usage(format!("this is not JSON: {error}; give JSON, @FILE, or - for standard input"))
    })
}
