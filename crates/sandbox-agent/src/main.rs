//! The `sandbox-agent` binary. Everything is in the library; see there.

use std::process::ExitCode;

/// The allocator of musl takes one lock for all threads, and that of glibc is slower on what a request needs; see
/// `bench/RESULTS.md`.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    sandbox_agent::main_with(|instances| instances)
}
