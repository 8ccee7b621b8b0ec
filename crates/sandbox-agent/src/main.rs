//! The `sandbox-agent` binary.

fn main() {}
