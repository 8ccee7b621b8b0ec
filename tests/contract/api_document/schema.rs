//! A validator for the part of JSON Schema that the document uses for stream events.

use serde_json::Value;

/// Why a value does not match a schema of the document; `None` if it does.
pub(super) fn misfit(document: &Value, schema: &Value, value: &Value) -> Option<String> {
    if let Some(reference) = schema["$ref"].as_str() {
        let target = document.pointer(reference.strip_prefix('#')?).unwrap_or_else(|| panic!("{reference}"));
        return misfit(document, target, value);
    }
    let fits = |one: &&Value| misfit(document, one, value).is_none();
    for (word, least, most) in [("anyOf", 1, usize::MAX), ("oneOf", 1, 1)] {
        if let Some(choices) = schema[word].as_array() {
            let count = choices.iter().filter(fits).count();
            if count < least || count > most {
                return Some(format!("{value} fits {count} of {word}"));
            }
        }
    }
    if let Some(all) = schema["allOf"].as_array()
        && let Some(reason) = all.iter().find_map(|one| misfit(document, one, value))
    {
        return Some(reason);
    }
    if let Some(allowed) = schema["enum"].as_array()
        && !allowed.contains(value)
    {
        return Some(format!("{value} is none of {allowed:?}"));
    }
    let kinds = match &schema["type"] {
        Value::String(kind) => vec![kind.as_str()],
        Value::Array(kinds) => kinds.iter().filter_map(Value::as_str).collect(),
        _ => Vec::new(),
    };
    if !kinds.is_empty() && !kinds.iter().any(|kind| is_of(kind, value)) {
        return Some(format!("{value} is no {}", kinds.join(" or ")));
    }
    in_parts(document, schema, value)
}

fn in_parts(document: &Value, schema: &Value, value: &Value) -> Option<String> {
    match value {
        Value::Array(items) if !schema["items"].is_null() => {
            items.iter().find_map(|item| misfit(document, &schema["items"], item))
        }
        Value::Object(members) => {
            let required = schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str);
            let mut missing = required.filter(|name| !members.contains_key(*name));
            if let Some(name) = missing.next() {
                return Some(format!("{value} has no {name}"));
            }
            members.iter().find_map(|(name, member)| {
                misfit(document, &schema["properties"][name], member)
                    .map(|reason| format!("{name}: {reason}"))
            })
        }
        _ => None,
    }
}

fn is_of(kind: &str, value: &Value) -> bool {
    match kind {
        "string" => value.is_string(),
        "integer" => value.is_i64() || value.is_u64(),
        "number" => value.is_number(),
        "boolean" => value.is_boolean(),
        "null" => value.is_null(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        other => panic!("the document has a type {other}"),
    }
}

/// A property of the value that the schema does not list; `None` if it lists all of them. Such a property means that the
/// schema is out of date.
pub(super) fn unnamed(document: &Value, schema: &Value, value: &Value) -> Option<String> {
    if let Some(reference) = schema["$ref"].as_str() {
        return unnamed(document, document.pointer(reference.strip_prefix('#')?)?, value);
    }
    let properties = schema["properties"].as_object()?;
    value.as_object()?.keys().find(|name| !properties.contains_key(*name)).cloned()
}
