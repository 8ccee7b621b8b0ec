//! The API document, generated from the handlers and their types, and the tests that compare it with the server.
//!
//! `BLESS=1 cargo test -p sandbox-agent document` regenerates `docs/openapi.json`.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

use acp_http_adapter::{AcpDocument, AcpDoor, DoorSettings};
use acp_instances::Limits;
use agent_catalog::CatalogOptions;
use http_server::{ConnectionLimits, Problem};
use sandbox_fs::Root;
use serde_json::Value;
use tokio_util::sync::CancellationToken;
use utoipa::openapi::OpenApi as Document;
use utoipa::openapi::security::{HttpAuthScheme, HttpBuilder, SecurityScheme};
use utoipa::{Modify, OpenApi};

use super::{Configuration, Files, Services, agents, config, fs, health, metrics, openapi, removed, ui};
use crate::engine::Engine;
use crate::settings::{EffectiveLimits, FileSettings};

/// The parts of the API document that do not belong to a single route.
#[derive(OpenApi)]
#[openapi(
    info(
        title = "Sandbox Agent",
        description = "Any ACP agent behind HTTP: processes, messages, files, configuration. Every 4xx and 5xx response is \
            an RFC 9457 problem document. A token is needed only if the server was started with one.",
        license(name = "Apache-2.0", identifier = "Apache-2.0")
    ),
    servers((url = "/", description = "The server that sent this document.")),
    security(("bearer" = [])),
    components(schemas(Problem)),
    tags(
        (name = "server", description = "Health, version and metrics of the server."),
        (name = "instances", description = "Running agents: messages to and from them."),
        (name = "agents", description = "Listing and installing agents."),
        (name = "files", description = "The files of the sandbox."),
        (name = "configuration", description = "MCP servers and skills of a directory. Storage only."),
        (name = "inspector", description = "The inspector's web page."),
        (name = "removed", description = "Endpoints that no longer exist."),
    ),
    modifiers(&Token)
)]
struct Base;

/// The token as a security scheme.
struct Token;

impl Modify for Token {
    fn modify(&self, document: &mut Document) {
        let scheme = HttpBuilder::new()
            .scheme(HttpAuthScheme::Bearer)
            .description(Some("The token that the server was started with; see `--token-file`."));
        let components = document.components.get_or_insert_default();
        components.add_security_scheme("bearer", SecurityScheme::Http(scheme.build()));
    }
}

fn document() -> Document {
    let mut whole = Base::openapi();
    for part in [
        health::document::Document::openapi(),
        metrics::Document::openapi(),
        openapi::Document::openapi(),
        AcpDocument::openapi(),
        agents::document::Document::openapi(),
        fs::document::Document::openapi(),
        config::document::Document::openapi(),
        ui::document::Document::openapi(),
        removed::document::document(),
    ] {
        whole.merge(part);
    }
    http_server::document::add_shared(&mut whole);
    whole
}

fn as_json() -> Value {
    serde_json::to_value(document()).unwrap()
}

/// Every operation: path, method, and the operation itself.
fn operations(document: &Value) -> impl Iterator<Item = (&String, &String, &Value)> {
    let paths = document["paths"].as_object().unwrap();
    paths.iter().flat_map(|(path, item)| {
        item.as_object().unwrap().iter().map(move |(method, operation)| (path, method, operation))
    })
}

#[test]
fn the_golden_file_matches_the_code() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/openapi.json");
    let generated = document().to_pretty_json().unwrap() + "\n";
    if std::env::var_os("BLESS").is_some() {
        std::fs::write(&path, &generated).unwrap();
    }
    let written = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        written == generated,
        "docs/openapi.json is stale; run BLESS=1 cargo test -p sandbox-agent document"
    );
}

#[tokio::test]
async fn the_document_has_exactly_the_routes_of_the_server() {
    let folder = tempfile::tempdir().unwrap();
    let root = Root::Confined { root: folder.path().to_owned(), workspace: folder.path().to_owned() };
    let settings = FileSettings { root, max_upload_bytes: None, max_upload_entries: None };
    let options = CatalogOptions::new(folder.path());
    let engine = Engine::new(Limits::default(), options, "", None, |instances| instances).unwrap();
    let memory = engine.instances.memory();
    let files = Files::open(&settings, folder.path(), memory, CancellationToken::new()).unwrap();
    let configuration = Configuration::open(folder.path(), files.workspace()).unwrap();
    let door = AcpDoor::new(Arc::clone(&engine.instances), DoorSettings::default());
    let limits = EffectiveLimits::of(&Limits::default(), &settings, ConnectionLimits::default());
    let (routes, _) = super::build_routes(Services {
        engine,
        door,
        files,
        configuration,
        limits,
        journal: super::JournalState::Off,
    });

    let served: BTreeSet<(String, String)> = routes
        .listed()
        .iter()
        .map(|route| {
            let method =
                route.method.as_ref().map_or_else(|| "any".to_owned(), |it| it.as_str().to_lowercase());
            (route.path.replace("{*", "{"), method)
        })
        .collect();
    let document = as_json();
    let documented: BTreeSet<(String, String)> = operations(&document)
        .map(|(path, method, operation)| {
            let any = operation["x-any-method"] == true;
            (path.clone(), if any { "any".to_owned() } else { method.clone() })
        })
        .collect();
    assert_eq!(served, documented);
}

#[test]
fn every_operation_has_a_unique_name_a_summary_and_its_responses() {
    let document = as_json();
    let mut names = BTreeSet::new();
    for (path, method, operation) in operations(&document) {
        let name = operation["operationId"].as_str().unwrap_or_default();
        assert!(!name.is_empty() && names.insert(name.to_owned()), "{method} {path}: {name}");
        assert!(operation["summary"].as_str().is_some_and(|text| !text.is_empty()), "{method} {path}");
        assert_eq!(operation["tags"].as_array().map(Vec::len), Some(1), "{method} {path}");
        let responses = operation["responses"].as_object().unwrap();
        assert!(responses.contains_key("403"), "{method} {path}: every request can fail the access checks");
        let open = operation["security"] == serde_json::json!([{}]);
        assert_ne!(
            open,
            responses.contains_key("401"),
            "{method} {path}: 401 exactly where a token is needed"
        );
        let protected = path.starts_with("/v1") || path == "/metrics";
        assert_eq!(protected, !open, "{method} {path}");
    }
}

#[test]
fn every_reference_has_a_target() {
    let document = as_json();
    let mut waiting = vec![&document];
    let mut seen = 0;
    while let Some(value) = waiting.pop() {
        match value {
            Value::Array(items) => waiting.extend(items),
            Value::Object(members) => {
                if let Some(Value::String(target)) = members.get("$ref") {
                    let pointer = target.strip_prefix('#').unwrap();
                    assert!(document.pointer(pointer).is_some(), "{target}");
                    seen += 1;
                }
                waiting.extend(members.values());
            }
            _ => {}
        }
    }
    assert!(seen > 100, "{seen}");
}
