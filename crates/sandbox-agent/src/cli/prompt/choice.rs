//! The choices that an agent offers, and how a line from the user selects among them.

use serde_json::Value;

use crate::cli::style::one_line;

/// One choice.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Choice {
    pub(super) id: String,
    label: String,
}

impl Choice {
    /// A choice in any of its forms: a string, a pair of id and label, or an object.
    fn read(option: &Value) -> Option<Self> {
        let (id, label) = match option {
            Value::String(word) => (word.as_str(), None),
            Value::Array(_) => (option[0].as_str()?, option[1].as_str()),
            _ => {
                let id = option["const"].as_str().or_else(|| option["id"].as_str())?;
                let labels = ["title", "label", "name"];
                (id, labels.iter().find_map(|name| option[*name].as_str()))
            }
        };
        Some(Self { id: id.to_owned(), label: label.unwrap_or(id).to_owned() })
    }
}

/// The choices of a list, or of the other list if there are none in the first.
pub(super) fn read(list: &Value, other: &Value) -> Vec<Choice> {
    let of = |list: &Value| -> Vec<Choice> {
        list.as_array().into_iter().flatten().filter_map(Choice::read).collect()
    };
    Some(of(list)).filter(|choices| !choices.is_empty()).unwrap_or_else(|| of(other))
}

/// The numbered choices, one per line.
pub(super) fn text(choices: &[Choice]) -> String {
    let lines = choices.iter().enumerate();
    lines.map(|(index, choice)| format!("\n  {}) {}", index + 1, one_line(&choice.label, 160))).collect()
}

/// The choice with this number, id or label.
pub(super) fn find<'a>(choices: &'a [Choice], line: &str) -> Option<&'a Choice> {
    let line = line.trim();
    let by_number = line.parse::<usize>().ok().and_then(|number| choices.get(number.checked_sub(1)?));
    by_number.or_else(|| {
        choices.iter().find(|choice| choice.id == line || choice.label.eq_ignore_ascii_case(line))
    })
}

/// The ids of the choices in a list with commas; `None` if one of them does not exist.
pub(super) fn find_all(choices: &[Choice], line: &str) -> Option<Vec<String>> {
    let mut ids = Vec::new();
    for word in line.split(',') {
        let id = &find(choices, word)?.id;
        if !ids.contains(id) {
            ids.push(id.clone());
        }
    }
    Some(ids)
}
