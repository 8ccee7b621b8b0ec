//! The mock agent as a separate program: serves ACP on stdin and stdout until stdin ends.

use std::process::ExitCode;

fn main() -> ExitCode {
    match mock_agent::run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("mock-agent: {error}");
            ExitCode::FAILURE
        }
    }
}
