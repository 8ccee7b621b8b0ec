//! The product with its engine behind a channel: `sandbox-agent` in everything but the implementation of `Instances`
//! that its doors hold. Only the tests run it.

use std::process::ExitCode;

use remote_instances::RemoteInstances;

/// The allocator of the real binary: tests measure memory.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    sandbox_agent::main_with(RemoteInstances::over_channel)
}
