//! The API document over HTTP: it is served, exactly its operations exist, and stream events match it. The
//! contract fuzzer (`scripts/schemathesis.sh`) tests other requests and answers.

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
