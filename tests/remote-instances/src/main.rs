//! The product with its engine behind a channel: identical to `sandbox-agent`, except for the implementation
//! of `Instances` that its doors (transports such as HTTP) hold. Only tests run it.

use std::process::ExitCode;

use remote_instances::RemoteInstances;

/// The same allocator as in the real binary, because tests measure memory.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    sandbox_agent::main_with(RemoteInstances::over_channel)
}
