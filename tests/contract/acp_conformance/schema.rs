//! A validator for the part of JSON Schema that the protocol's schema uses. An unknown keyword fails the test, so
//! that nothing is skipped silently.

use std::sync::LazyLock;

use serde_json::{Map, Value};

static SCHEMA: LazyLock<Value> = LazyLock::new(|| {
    serde_json::from_str(include_str!("../../fixtures/acp-v1.schema.json")).expect("the schema is JSON")
});

/// Keywords without effect on validation.
const ANNOTATIONS: [&str; 7] =
    ["title", "default", "format", "x-side", "x-method", "discriminator", "$schema"];

/// The part of a message that a definition describes.
#[derive(Debug, Clone, Copy)]
pub(super) enum Part {
    /// The params of a request or notification.
    Params,
    /// The result of a request.
    Result,
}

/// Checks params or a result against the definition of a method. Extensions, whose names begin with `_`, have
/// no definition.
#[track_caller]
pub(super) fn check(method: &str, part: Part, value: &Value) {
    if method.starts_with('_') {
        return;
    }
    let suffixes: &[&str] = match part {
        Part::Params => &["Request", "Notification"],
        Part::Result => &["Response"],
    };
    let definitions = SCHEMA["$defs"].as_object().expect("there are definitions");
    let (name, definition) = definitions
        .iter()
        .find(|(name, definition)| {
            definition["x-method"] == method && suffixes.iter().any(|suffix| name.ends_with(suffix))
        })
        .unwrap_or_else(|| panic!("{method} is not in the protocol"));
    if let Err(reason) = validate(definition, value) {
        panic!("{method}: {name}: {reason}\n{value:#}");
    }
}

fn validate(schema: &Value, value: &Value) -> Result<(), String> {
    let schema = match schema {
        Value::Bool(true) => return Ok(()),
        Value::Bool(false) => return Err("nothing is allowed here".into()),
        Value::Object(schema) => schema,
        other => panic!("{other} is not a schema"),
    };
    for (keyword, rule) in schema {
        if !ANNOTATIONS.contains(&keyword.as_str()) {
            apply(keyword, rule, schema, value)?;
        }
    }
    Ok(())
}

fn apply(keyword: &str, rule: &Value, schema: &Map<String, Value>, value: &Value) -> Result<(), String> {
    let members = || rule.as_array().expect("a list of schemas").iter();
    let fitting = || members().filter(|member| validate(member, value).is_ok()).count();
    let because = |holds: bool, reason: String| if holds { Ok(()) } else { Err(reason) };
    match keyword {
        "$ref" => validate(resolve(rule.as_str().expect("a reference is text")), value),
        "type" => because(has_type(rule, value), format!("{value} is not of type {rule}")),
        "const" => because(value == rule, format!("{value} is not {rule}")),
        "enum" => because(members().any(|one| one == value), format!("{value} is none of {rule}")),
        "allOf" => members().try_for_each(|member| validate(member, value)),
        "anyOf" => because(fitting() > 0, format!("no alternative fits {value}")),
        "oneOf" => because(fitting() == 1, format!("{} alternatives fit {value}", fitting())),
        "not" => because(validate(rule, value).is_err(), format!("{value} is what it must not be")),
        "minimum" => {
            because(value.as_f64() >= rule.as_f64() || !value.is_number(), format!("{value} < {rule}"))
        }
        "maximum" => {
            because(value.as_f64() <= rule.as_f64() || !value.is_number(), format!("{value} > {rule}"))
        }
        "minLength" => {
            let long = value.as_str().is_none_or(|text| Some(text.chars().count() as u64) >= rule.as_u64());
            because(long, format!("{value} is too short"))
        }
        "required" => because(
            value.as_object().is_none_or(|object| {
                members().all(|name| object.contains_key(name.as_str().expect("a name is text")))
            }),
            format!("one of {rule} is missing"),
        ),
        "properties" => each(rule.as_object().expect("properties by name"), value),
        "items" => value.as_array().into_iter().flatten().try_for_each(|item| validate(rule, item)),
        "additionalProperties" | "unevaluatedProperties" => others(rule, schema, value),
        other => panic!("`{other}` is not a keyword that this validator knows"),
    }
}

fn each(properties: &Map<String, Value>, value: &Value) -> Result<(), String> {
    for (name, schema) in properties {
        if let Some(member) = value.get(name) {
            validate(schema, member).map_err(|reason| format!("{name}: {reason}"))?;
        }
    }
    Ok(())
}

/// Checks the properties that a schema does not list.
fn others(rule: &Value, schema: &Map<String, Value>, value: &Value) -> Result<(), String> {
    let named =
        |name: &String| schema.get("properties").is_some_and(|properties| properties.get(name).is_some());
    let Some(object) = value.as_object() else { return Ok(()) };
    object
        .iter()
        .filter(|(name, _)| !named(name))
        .try_for_each(|(name, member)| validate(rule, member).map_err(|reason| format!("{name}: {reason}")))
}

fn resolve(reference: &str) -> &'static Value {
    let path = reference.strip_prefix('#').expect("a reference into this document");
    SCHEMA.pointer(path).unwrap_or_else(|| panic!("{reference} leads nowhere"))
}

fn has_type(rule: &Value, value: &Value) -> bool {
    let is = |name: &str| match name {
        "null" => value.is_null(),
        "boolean" => value.is_boolean(),
        "string" => value.is_string(),
        "number" => value.is_number(),
        "integer" => value.is_i64() || value.is_u64(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        other => panic!("{other} is not a type"),
    };
    match rule {
        Value::String(name) => is(name),
        Value::Array(names) => names.iter().any(|name| is(name.as_str().expect("a name is text"))),
        other => panic!("{other} is not a type"),
    }
}

#[test]
fn the_validator_accepts_valid_and_rejects_invalid_messages() {
    let update =
        |kind: &str| serde_json::json!({"sessionUpdate": kind, "content": {"type": "text", "text": "x"}});
    let schema = &SCHEMA["$defs"]["SessionUpdate"];
    assert!(validate(schema, &update("agent_message_chunk")).is_ok());
    assert!(validate(schema, &update("no_such_update")).is_err());
    assert!(validate(schema, &serde_json::json!({"sessionUpdate": "agent_message_chunk"})).is_err());
    let initialized = &SCHEMA["$defs"]["InitializeResponse"];
    assert!(validate(initialized, &serde_json::json!({"protocolVersion": 1})).is_ok());
    assert!(validate(initialized, &serde_json::json!({"protocolVersion": "1"})).is_err());
    assert!(validate(initialized, &serde_json::json!({})).is_err());
}
