//! The `sandbox-agent` binary. All code is in the library of this crate.

use std::process::ExitCode;

/// Replaces the allocator of the C library: musl's has one lock for all threads, and glibc's is slower for the
/// allocations of a request; see `bench/RESULTS.md`.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    sandbox_agent::main_with(|instances| instances)
}
