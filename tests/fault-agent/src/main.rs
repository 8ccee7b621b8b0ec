//! An agent that misbehaves on request.

fn main() {}
