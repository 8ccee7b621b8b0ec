//! The API document over HTTP: it is served, its operations are there and no others, and what streams carry is what it
//! says. Requests and answers at large are tried by the contract fuzzer (`scripts/schemathesis.sh`).

mod events;
mod operations;
mod schema;

use std::path::Path;

use serde_json::Value;

/// The golden file.
fn document() -> Value {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/openapi.json");
    serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
}
