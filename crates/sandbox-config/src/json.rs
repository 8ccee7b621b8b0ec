//! Validates JSON text without decoding it: a [`Field`] is a piece of the text plus its path, and errors name that
//! path. The text is only borrowed, so the validated text is the stored text.
//!
//! Two rules hold everywhere. `null` means the same as a missing field, as in the published client's types. And an
//! object must not contain a key twice: another reader may use the other value, which was not validated.

use std::collections::HashSet;
use std::fmt;

use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;

use crate::Error;

/// The maximum number of characters of a key in an error message.
const KEY_IN_MESSAGE: usize = 80;

/// A value inside an entry.
pub(crate) struct Field<'text> {
    /// The path, such as `headers.X-Team` or `sources[0]`; empty for the whole entry.
    path: String,
    value: &'text RawValue,
}

impl<'text> Field<'text> {
    /// The whole entry.
    pub(crate) fn root(value: &'text RawValue) -> Self {
        Self { path: String::new(), value }
    }

    /// An error about this field.
    pub(crate) fn error(&self, problem: impl Into<String>) -> Error {
        let field = if self.path.is_empty() { "entry".to_owned() } else { self.path.clone() };
        Error::InvalidField { field, problem: problem.into() }
    }

    /// The members of an object.
    pub(crate) fn object(&self) -> Result<Object<'text>, Error> {
        if !self.value.get().starts_with('{') {
            return Err(self.error("must be an object"));
        }
        // The text is valid JSON; only a key such as "\ud800", an unpaired surrogate, can still fail.
        let members: Members<'text> = serde_json::from_str(self.value.get())
            .map_err(|_| self.error("has a key that is not valid Unicode"))?;
        let mut seen = HashSet::new();
        for (key, value) in &members.0 {
            if !seen.insert(key.as_str()) {
                return Err(Field { path: member_path(&self.path, key), value }.error("is duplicated"));
            }
        }
        Ok(Object { path: self.path.clone(), members: members.0 })
    }

    /// The items of an array.
    pub(crate) fn array(&self) -> Result<Vec<Field<'text>>, Error> {
        let items: Vec<&'text RawValue> =
            serde_json::from_str(self.value.get()).map_err(|_| self.error("must be an array"))?;
        let item = |(index, value)| Field { path: format!("{}[{index}]", self.path), value };
        Ok(items.into_iter().enumerate().map(item).collect())
    }

    /// The items of an array of strings.
    pub(crate) fn array_of_strings(&self) -> Result<Vec<(Field<'text>, String)>, Error> {
        self.array()?.into_iter().map(|item| item.string().map(|text| (item, text))).collect()
    }

    pub(crate) fn string(&self) -> Result<String, Error> {
        if !self.value.get().starts_with('"') {
            return Err(self.error("must be a string"));
        }
        serde_json::from_str(self.value.get()).map_err(|_| self.error("must be valid Unicode"))
    }

    /// A string that can be passed to a program: not empty, no NUL.
    pub(crate) fn filled_string(&self) -> Result<String, Error> {
        let text = self.string()?;
        if text.is_empty() {
            return Err(self.error("must not be empty"));
        }
        if text.contains('\0') {
            return Err(self.error("must not contain a NUL character"));
        }
        Ok(text)
    }

    /// One of a fixed list of words.
    pub(crate) fn one_of(&self, words: &'static [&'static str]) -> Result<&'static str, Error> {
        let text = self.string()?;
        words.iter().find(|word| **word == text).copied().ok_or_else(|| {
            let quoted: Vec<_> = words.iter().map(|word| format!("\"{word}\"")).collect();
            self.error(format!("must be {}", quoted.join(" or ")))
        })
    }

    pub(crate) fn boolean(&self) -> Result<bool, Error> {
        match self.value.get() {
            "true" => Ok(true),
            "false" => Ok(false),
            _ => Err(self.error("must be true or false")),
        }
    }

    /// A non-negative `int64`.
    pub(crate) fn whole_number(&self) -> Result<u64, Error> {
        let number = self.value.get().parse::<u64>().ok().filter(|number| i64::try_from(*number).is_ok());
        number.ok_or_else(|| self.error("must be a whole number, 0 or more"))
    }

    /// The text itself.
    pub(crate) fn raw(&self) -> &'text RawValue {
        self.value
    }
}

/// The members of an object, in order, without duplicate keys.
pub(crate) struct Object<'text> {
    path: String,
    members: Vec<(String, &'text RawValue)>,
}

impl<'text> Object<'text> {
    /// A member that may be missing; `null` counts as missing.
    pub(crate) fn optional(&self, key: &str) -> Option<Field<'text>> {
        let (key, value) = self.members.iter().find(|(name, _)| name == key)?;
        (value.get() != "null").then(|| Field { path: member_path(&self.path, key), value })
    }

    /// A required member.
    pub(crate) fn required(&self, key: &str) -> Result<Field<'text>, Error> {
        self.optional(key).ok_or_else(|| self.missing(key, "is required"))
    }

    /// An error about a missing member.
    pub(crate) fn missing(&self, key: &str, problem: impl Into<String>) -> Error {
        Error::InvalidField { field: member_path(&self.path, key), problem: problem.into() }
    }

    /// Every member with its key.
    pub(crate) fn members(&self) -> impl Iterator<Item = (&str, Field<'text>)> {
        self.members
            .iter()
            .map(|(key, value)| (key.as_str(), Field { path: member_path(&self.path, key), value }))
    }
}

/// Formats a path as `headers.X-Team`, or as `headers["a b"]` if a dot would be hard to read.
fn member_path(parent: &str, key: &str) -> String {
    let plain = |character: char| character.is_alphanumeric() || matches!(character, '-' | '_');
    if !key.is_empty() && key.len() <= KEY_IN_MESSAGE && key.chars().all(plain) {
        let dot = if parent.is_empty() { "" } else { "." };
        return format!("{parent}{dot}{key}");
    }
    let short: String = key.chars().take(KEY_IN_MESSAGE).collect();
    let more = if short.len() < key.len() { "…" } else { "" };
    format!("{parent}[{short:?}{more}]")
}

/// An object's members as text, in order. A map type would reorder them and silently drop duplicate keys.
struct Members<'text>(Vec<(String, &'text RawValue)>);

impl<'de> Deserialize<'de> for Members<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Collect;
        impl<'de> Visitor<'de> for Collect {
            type Value = Members<'de>;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut members = Vec::new();
                while let Some(member) = map.next_entry()? {
                    members.push(member);
                }
                Ok(Members(members))
            }
        }
        deserializer.deserialize_map(Collect)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_uses_dots_for_plain_keys_and_quotes_for_others() {
        assert_eq!(member_path("", "type"), "type");
        assert_eq!(member_path("headers", "X-Foo"), "headers.X-Foo");
        assert_eq!(member_path("sources[0]", "ref"), "sources[0].ref");
        assert_eq!(member_path("env", "a.b \"c\"\n"), r#"env["a.b \"c\"\n"]"#);
        assert_eq!(member_path("env", ""), r#"env[""]"#);
        assert_eq!(member_path("env", &"k".repeat(500)), format!("env[\"{}\"…]", "k".repeat(KEY_IN_MESSAGE)));
    }

    #[test]
    fn an_unpaired_surrogate_is_refused_where_text_is_read() {
        let value: &RawValue = serde_json::from_str(r#"{"a":"\ud800","b":{"\ud800":1}}"#).unwrap();
        let object = Field::root(value).object().unwrap();
        let message = |result: Result<(), Error>| result.unwrap_err().to_string();
        assert_eq!(message(object.required("a").unwrap().string().map(drop)), "a must be valid Unicode");
        assert_eq!(
            message(object.required("b").unwrap().object().map(drop)),
            "b has a key that is not valid Unicode"
        );
    }
}
