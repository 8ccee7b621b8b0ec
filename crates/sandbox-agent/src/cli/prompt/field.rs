//! One field of an agent's form: how it is shown, and which lines are valid values for it.

use serde_json::{Value, json};

use super::choice::{self, Choice};
use crate::cli::style::one_line;

/// The maximum length of a shown label or description.
const MAX_LENGTH: usize = 400;

/// A field of a form.
#[derive(Debug)]
pub(super) struct Field {
    name: String,
    label: String,
    description: Option<String>,
    kind: Kind,
    is_required: bool,
    default: Option<Value>,
}

#[derive(Debug)]
enum Kind {
    Text { length: Range },
    Number { range: Range },
    Integer { range: Range },
    Boolean,
    One(Vec<Choice>),
    Several { choices: Vec<Choice>, count: Range },
}

/// Optional limits, both inclusive.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Range {
    least: Option<f64>,
    most: Option<f64>,
}

impl Range {
    fn read(schema: &Value, least: &str, most: &str) -> Self {
        Self { least: schema[least].as_f64(), most: schema[most].as_f64() }
    }

    /// An error if the number is outside of the limits; `what` names the number.
    fn check(self, number: f64, what: &str) -> Result<(), String> {
        match self {
            Self { least: Some(least), .. } if number < least => {
                Err(format!("{what} must be at least {least}"))
            }
            Self { most: Some(most), .. } if number > most => Err(format!("{what} must be at most {most}")),
            _ => Ok(()),
        }
    }
}

impl Field {
    /// The fields of a form's schema.
    pub(super) fn read_all(schema: &Value) -> Vec<Self> {
        let required: Vec<&str> =
            schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
        let properties = schema["properties"].as_object().into_iter().flatten();
        properties.map(|(name, property)| Self::read(name, property, &required)).collect()
    }

    fn read(name: &str, property: &Value, required: &[&str]) -> Self {
        let text = |key: &str| property[key].as_str().map(str::to_owned);
        let of_text = || match choice::read(&property["enum"], &property["oneOf"]) {
            choices if choices.is_empty() => {
                Kind::Text { length: Range::read(property, "minLength", "maxLength") }
            }
            choices => Kind::One(choices),
        };
        let kind = match property["type"].as_str() {
            Some("number") => Kind::Number { range: Range::read(property, "minimum", "maximum") },
            Some("integer") => Kind::Integer { range: Range::read(property, "minimum", "maximum") },
            Some("boolean") => Kind::Boolean,
            Some("array") => Kind::Several {
                choices: choice::read(&property["items"]["enum"], &property["items"]["anyOf"]),
                count: Range::read(property, "minItems", "maxItems"),
            },
            _ => of_text(),
        };
        Self {
            name: name.to_owned(),
            label: text("title").unwrap_or_else(|| name.to_owned()),
            description: text("description"),
            kind,
            is_required: required.contains(&name),
            default: property.get("default").filter(|value| !value.is_null()).cloned(),
        }
    }

    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// The label, the description, the choices, and a hint about valid lines.
    pub(super) fn text(&self) -> String {
        let required = if self.is_required { " (required)" } else { "" };
        let mut text = format!("\n{}{required}", one_line(&self.label, MAX_LENGTH));
        if let Some(description) = &self.description {
            text += &format!("\n  {}", one_line(description, MAX_LENGTH));
        }
        if let Kind::One(choices) | Kind::Several { choices, .. } = &self.kind {
            text += &choice::text(choices);
        }
        let expected = match &self.kind {
            Kind::Text { .. } => "text",
            Kind::Number { .. } | Kind::One(_) => "number",
            Kind::Integer { .. } => "whole number",
            Kind::Boolean => "y or n",
            Kind::Several { .. } => "numbers, separated by commas",
        };
        text += &format!("\n{expected}");
        match (&self.default, self.is_required) {
            (Some(default), _) => text += &format!("; empty means {}", shown(default)),
            (None, false) => text += "; empty skips it",
            (None, true) => {}
        }
        text
    }

    /// The value of a line; `None` if the field is skipped. An error says why the line is invalid.
    pub(super) fn value(&self, line: &str) -> Result<Option<Value>, String> {
        if line.is_empty() {
            return match (&self.default, self.is_required) {
                (Some(default), _) => Ok(Some(default.clone())),
                (None, false) => Ok(None),
                (None, true) => Err("this field is required".to_owned()),
            };
        }
        self.parse(line).map(Some)
    }

    fn parse(&self, line: &str) -> Result<Value, String> {
        match &self.kind {
            Kind::Text { length } => {
                length.check(line.chars().count() as f64, "the number of characters")?;
                Ok(json!(line))
            }
            Kind::Integer { range } => {
                let number: i64 = line.parse().map_err(|_| "not a whole number".to_owned())?;
                range.check(number as f64, "the number")?;
                Ok(json!(number))
            }
            Kind::Number { range } => {
                let number: f64 = line.parse().map_err(|_| "not a number".to_owned())?;
                if !number.is_finite() {
                    return Err("not a number".to_owned());
                }
                range.check(number, "the number")?;
                Ok(line.parse::<i64>().map_or_else(|_| json!(number), |whole| json!(whole)))
            }
            Kind::Boolean => match line.to_ascii_lowercase().as_str() {
                "y" | "yes" | "true" => Ok(json!(true)),
                "n" | "no" | "false" => Ok(json!(false)),
                _ => Err("not y or n".to_owned()),
            },
            Kind::One(choices) => {
                let chosen = choice::find(choices, line).ok_or("not one of the choices")?;
                Ok(json!(chosen.id))
            }
            Kind::Several { choices, count } => {
                let chosen = choice::find_all(choices, line).ok_or("not a list of the choices")?;
                count.check(chosen.len() as f64, "the number of choices")?;
                Ok(json!(chosen))
            }
        }
    }
}

/// A default value for people.
fn shown(value: &Value) -> String {
    let text = match value {
        Value::String(text) => text.clone(),
        Value::Bool(true) => "y".to_owned(),
        Value::Bool(false) => "n".to_owned(),
        Value::Array(items) => items.iter().map(shown).collect::<Vec<_>>().join(", "),
        other => other.to_string(),
    };
    one_line(&text, 80)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn field(property: &Value) -> Field {
        let schema = json!({"properties": {"f": property}, "required": ["f"]});
        Field::read_all(&schema).pop().unwrap()
    }

    #[test]
    fn every_type_accepts_its_values_and_refuses_others() {
        for (property, line, value) in [
            (json!({"type": "string", "minLength": 2, "maxLength": 3}), "abc", json!("abc")),
            (json!({"type": "string", "enum": ["red", "green"]}), "2", json!("green")),
            (json!({"type": "string", "oneOf": [{"const": "r", "title": "Red"}]}), "red", json!("r")),
            (json!({"type": "number", "minimum": 0}), "2.5", json!(2.5)),
            (json!({"type": "number"}), "3", json!(3)),
            (json!({"type": "integer", "maximum": 9}), "-9", json!(-9)),
            (json!({"type": "boolean"}), "Yes", json!(true)),
            (json!({"type": "array", "items": {"enum": ["a", "b", "c"]}}), "3, a", json!(["c", "a"])),
            (json!({"type": "array", "items": {"anyOf": [{"const": "x", "title": "X"}]}}), "1", json!(["x"])),
            (json!({"type": "new in a later version"}), "words", json!("words")),
        ] {
            assert_eq!(field(&property).value(line), Ok(Some(value)), "{property}");
        }
        for (property, line, reason) in [
            (json!({"type": "string", "minLength": 2}), "a", "the number of characters must be at least 2"),
            (json!({"type": "string", "enum": ["red"]}), "2", "not one of the choices"),
            (json!({"type": "number", "minimum": 0.5}), "0", "the number must be at least 0.5"),
            (json!({"type": "number"}), "inf", "not a number"),
            (json!({"type": "integer", "maximum": 9}), "10", "the number must be at most 9"),
            (json!({"type": "integer"}), "1.5", "not a whole number"),
            (json!({"type": "boolean"}), "perhaps", "not y or n"),
            (json!({"type": "array", "items": {"enum": ["a"]}}), "a,z", "not a list of the choices"),
            (
                json!({"type": "array", "maxItems": 1, "items": {"enum": ["a", "b"]}}),
                "1,2",
                "the number of choices must be at most 1",
            ),
            (json!({"type": "string"}), "", "this field is required"),
        ] {
            assert_eq!(field(&property).value(line), Err(reason.to_owned()), "{property}");
        }
    }

    #[test]
    fn an_empty_line_means_the_default() {
        let colour = field(&json!({"type": "string", "title": "Colour", "description": "Of the boat",
            "enum": ["red", "green"], "default": "red"}));
        assert_eq!(colour.value(""), Ok(Some(json!("red"))));
        let text = "\nColour (required)\n  Of the boat\n  1) red\n  2) green\nnumber; empty means red";
        assert_eq!(colour.text(), text);
    }
}
