//! Generates values for a JSON schema, with the script's values in the properties whose names match.

use serde_json::{Map, Value};

/// The maximum depth: enough for any tool, and a limit for recursive schemas.
const MAX_DEPTH: usize = 12;
/// The value for a timeout: long enough for any scripted command, whether in milliseconds or seconds.
const TIMEOUT: u64 = 60_000;

/// A script's values for the arguments of a tool.
pub(crate) trait Hints {
    /// The text for a property with this name (lower case, letters and digits only), for the `index`th entry of
    /// its list.
    fn text(&self, name: &str, index: usize) -> Option<String>;
    /// The entries for a list, such as an argument vector.
    fn list(&self, name: &str) -> Option<Vec<String>>;
    /// The minimum number of entries for a list with this name.
    fn length(&self, name: &str) -> usize;
}

/// Provides no values.
pub(crate) struct NoHints;

impl Hints for NoHints {
    fn text(&self, _: &str, _: usize) -> Option<String> {
        None
    }

    fn list(&self, _: &str) -> Option<Vec<String>> {
        None
    }

    fn length(&self, _: &str) -> usize {
        0
    }
}

/// A value for `schema`: every required property, and those that the hints provide.
pub(crate) fn fill(schema: &Value, hints: &dyn Hints) -> Value {
    Filler { root: schema, hints }.value(schema, "", 0, 0)
}

/// Normalises a name: removes case and separators, so that `filePath` and `file_path` are equal.
pub(crate) fn plain(name: &str) -> String {
    name.chars().filter(|character| character.is_alphanumeric()).flat_map(char::to_lowercase).collect()
}

struct Filler<'a> {
    root: &'a Value,
    hints: &'a dyn Hints,
}

impl Filler<'_> {
    fn value(&self, schema: &Value, name: &str, index: usize, depth: usize) -> Value {
        if depth > MAX_DEPTH {
            return Value::Null;
        }
        if let Some(pointer) = schema["$ref"].as_str().and_then(|reference| reference.strip_prefix('#')) {
            let target = self.root.pointer(pointer).unwrap_or(&Value::Null);
            return self.value(target, name, index, depth + 1);
        }
        if let Some(value) = schema.get("const") {
            return value.clone();
        }
        let hint = self.hints.text(name, index);
        if let Some(choices) = schema["enum"].as_array().filter(|choices| !choices.is_empty()) {
            let hinted_choice =
                choices.iter().find(|choice| hint.as_deref().is_some_and(|hint| *choice == hint));
            return hinted_choice.unwrap_or(&choices[0]).clone();
        }
        for key in ["anyOf", "oneOf", "allOf"] {
            let Some(variants) = schema[key].as_array() else { continue };
            if let Some(variant) = variants.iter().find(|variant| kind(variant) != "null") {
                return self.value(variant, name, index, depth + 1);
            }
        }
        match kind(schema) {
            "object" => self.object(schema, depth),
            "array" => self.array(schema, name, depth),
            "integer" | "number" => number(schema, name),
            "boolean" => schema.get("default").cloned().unwrap_or(Value::Bool(false)),
            "null" => Value::Null,
            _ => Value::String(hint.unwrap_or_else(|| "scripted".to_owned())),
        }
    }

    fn object(&self, schema: &Value, depth: usize) -> Value {
        let mut object = Map::new();
        let Some(properties) = schema["properties"].as_object() else { return Value::Object(object) };
        let required: Vec<&str> =
            schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
        for (key, property) in properties {
            let name = plain(key);
            let hinted = self.hints.text(&name, 0).is_some() || self.hints.list(&name).is_some();
            if required.contains(&key.as_str()) || hinted {
                object.insert(key.clone(), self.value(property, &name, 0, depth + 1));
            }
        }
        Value::Object(object)
    }

    fn array(&self, schema: &Value, name: &str, depth: usize) -> Value {
        if let Some(list) = self.hints.list(name) {
            return Value::from(list);
        }
        let least = schema["minItems"].as_u64().and_then(|least| usize::try_from(least).ok()).unwrap_or(0);
        let length = least.min(16).max(self.hints.length(name));
        // Entries without names of their own use the name of their list.
        let entries = (0..length).map(|index| self.entry(&schema["items"], name, index, depth + 1));
        Value::Array(entries.collect())
    }

    /// An entry of a list; objects in it get different values by their index.
    fn entry(&self, schema: &Value, name: &str, index: usize, depth: usize) -> Value {
        let mut value = self.value(schema, name, index, depth);
        if let Value::Object(object) = &mut value {
            for (key, held) in object {
                if held.is_string()
                    && let Some(text) = self.hints.text(&plain(key), index)
                {
                    *held = Value::String(text);
                }
            }
        }
        value
    }
}

/// The type in lower case (Gemini uses upper case); of several types, the first that is not null.
fn kind(schema: &Value) -> &'static str {
    let named = match &schema["type"] {
        Value::String(name) => name.as_str(),
        Value::Array(names) => {
            names.iter().filter_map(Value::as_str).find(|name| *name != "null").unwrap_or("")
        }
        _ if schema["properties"].is_object() => "object",
        _ => "",
    };
    let known = ["object", "array", "integer", "number", "boolean", "null", "string"];
    known.into_iter().find(|known| named.eq_ignore_ascii_case(known)).unwrap_or("string")
}

fn number(schema: &Value, name: &str) -> Value {
    if let Some(default) = schema.get("default").filter(|default| default.is_number()) {
        return default.clone();
    }
    if name.contains("timeout") {
        return Value::from(schema["maximum"].as_u64().map_or(TIMEOUT, |most| most.min(TIMEOUT)));
    }
    schema.get("minimum").filter(|minimum| minimum.is_number()).cloned().unwrap_or_else(|| Value::from(1))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn required_properties_are_filled_and_others_left_out() {
        let schema = json!({"type": "object", "required": ["a", "b", "c", "d"], "properties": {
            "a": {"type": "string"}, "b": {"type": "INTEGER", "minimum": 3}, "c": {"enum": ["x", "y"]},
            "d": {"type": ["null", "boolean"]}, "e": {"type": "string"}}});
        assert_eq!(fill(&schema, &NoHints), json!({"a": "scripted", "b": 3, "c": "x", "d": false}));
    }

    #[test]
    fn references_and_variants_are_followed() {
        let schema = json!({"$defs": {"name": {"anyOf": [{"type": "null"}, {"const": "n"}]}},
            "type": "object", "required": ["a"], "properties": {"a": {"$ref": "#/$defs/name"}}});
        assert_eq!(fill(&schema, &NoHints), json!({"a": "n"}));
    }

    #[test]
    fn a_recursive_schema_terminates() {
        let schema = json!({"type": "object", "required": ["a"], "properties": {"a": {"$ref": "#"}}});
        assert!(fill(&schema, &NoHints).is_object());
    }

    #[test]
    fn a_timeout_is_long_enough_and_within_its_maximum() {
        let schema = json!({"type": "object", "required": ["timeout_ms", "timeout"], "properties": {
            "timeout_ms": {"type": "number"}, "timeout": {"type": "number", "maximum": 300}}});
        assert_eq!(fill(&schema, &NoHints), json!({"timeout_ms": 60000, "timeout": 300}));
    }
}
