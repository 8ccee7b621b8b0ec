//! A skills entry: the sources of skills. Nothing is fetched or checked for existence here.

use std::fmt;

use serde::{Serialize, Serializer};
use serde_json::value::RawValue;

use crate::Error;
use crate::entry::{Entry, Sealed, Section};
use crate::json::Field;

/// A validated skills entry.
#[derive(Clone)]
pub struct SkillsEntry {
    json: Box<RawValue>,
}

impl Entry for SkillsEntry {
    fn as_json(&self) -> &str {
        self.json.get()
    }
}

impl Sealed for SkillsEntry {
    const SECTION: Section = Section::Skills;

    fn check(value: &RawValue) -> Result<Self, Error> {
        for source in Field::root(value).object()?.required("sources")?.array()? {
            check_source(&source)?;
        }
        Ok(Self { json: value.to_owned() })
    }
}

impl Serialize for SkillsEntry {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.json.serialize(serializer)
    }
}

impl fmt::Debug for SkillsEntry {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("SkillsEntry").finish_non_exhaustive()
    }
}

fn check_source(source: &Field<'_>) -> Result<(), Error> {
    let object = source.object()?;
    object.required("type")?.one_of(&["github", "git", "local"])?;
    object.required("source")?.filled_string()?;
    for key in ["ref", "subpath"] {
        if let Some(field) = object.optional(key) {
            field.string()?;
        }
    }
    if let Some(skills) = object.optional("skills") {
        for (item, name) in skills.array_of_strings()? {
            if name.is_empty() {
                return Err(item.error("must not be empty"));
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(json: &str) -> String {
        SkillsEntry::parse(json.as_bytes()).unwrap_err().to_string()
    }

    /// An entry with one valid source and a second one with these members.
    fn second_source(members: &str) -> String {
        format!(r#"{{"sources":[{{"type":"git","source":"s"}},{{{members}}}]}}"#)
    }

    #[test]
    fn every_form_of_the_published_type_is_accepted_and_kept() {
        for json in [
            r#"{"sources":[]}"#,
            r#"{"sources":[{"type":"github","source":"owner/name"}]}"#,
            r#"{"sources":[{"type":"git","source":"ssh://host/x","ref":"main","subpath":"a/b","skills":["one","two"]}]}"#,
            r#"{"sources":[{"type":"local","source":"./skills","ref":null,"subpath":null,"skills":null}]}"#,
            r#"{"sources":[{"type":"local","source":"s","skills":[],"depth":1e400}],"note":{"big":12345678901234567890123}}"#,
        ] {
            assert_eq!(SkillsEntry::parse(json.as_bytes()).unwrap().as_json(), json);
        }
    }

    #[test]
    fn a_wrong_field_is_named_by_its_path() {
        assert_eq!(refused("[]"), "entry must be an object");
        assert_eq!(refused("{}"), "sources is required");
        assert_eq!(refused(r#"{"sources":null}"#), "sources is required");
        assert_eq!(refused(r#"{"sources":{}}"#), "sources must be an array");
        assert_eq!(refused(r#"{"sources":["s"]}"#), "sources[0] must be an object");
        for (members, message) in [
            (r#""source":"s""#, "sources[1].type is required"),
            (r#""type":"svn","source":"s""#, r#"sources[1].type must be "github" or "git" or "local""#),
            (r#""type":7,"source":"s""#, "sources[1].type must be a string"),
            (r#""type":"git""#, "sources[1].source is required"),
            (r#""type":"git","source":["s"]"#, "sources[1].source must be a string"),
            (r#""type":"git","source":"""#, "sources[1].source must not be empty"),
            (r#""type":"git","source":"s","ref":1"#, "sources[1].ref must be a string"),
            (r#""type":"git","source":"s","subpath":{}"#, "sources[1].subpath must be a string"),
            (r#""type":"git","source":"s","skills":"one""#, "sources[1].skills must be an array"),
            (r#""type":"git","source":"s","skills":["one",2]"#, "sources[1].skills[1] must be a string"),
            (r#""type":"git","source":"s","skills":[""]"#, "sources[1].skills[0] must not be empty"),
            (r#""type":"git","source":"s","source":"t""#, "sources[1].source is duplicated"),
        ] {
            assert_eq!(refused(&second_source(members)), message);
        }
    }
}
