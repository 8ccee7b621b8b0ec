//! The content of the file that stores one directory's entries, independent of where that file is.
//!
//! Parsing is strict. Anything that this release would not write itself is an error, because the next write
//! replaces the whole file and would silently drop it. Entries stay text and are validated when they are
//! requested, so that one invalid entry does not block the others.

use std::collections::BTreeMap;
use std::path::Path;

use serde::Serialize;
use serde_json::value::RawValue;

use crate::entry::Section;
use crate::json::{Field, Object};
use crate::{Directory, EntryName, Error};

/// The format version that this release reads and writes.
const VERSION: u32 = 1;

/// The entries of one list, keyed by name.
pub(crate) type Entries = BTreeMap<EntryName, Box<RawValue>>;

/// Everything that is stored for one directory.
#[derive(Default)]
pub(crate) struct Document {
    mcp: Entries,
    skills: Entries,
}

/// The file's members, in the order in which they are written.
#[derive(Serialize)]
struct Written<'document> {
    version: u32,
    /// The directory in plain text, for people: the file's own name is a hash.
    directory: &'document str,
    mcp: &'document Entries,
    skills: &'document Entries,
}

impl Document {
    pub(crate) fn section(&self, section: Section) -> &Entries {
        match section {
            Section::Mcp => &self.mcp,
            Section::Skills => &self.skills,
        }
    }

    pub(crate) fn section_mut(&mut self, section: Section) -> &mut Entries {
        match section {
            Section::Mcp => &mut self.mcp,
            Section::Skills => &mut self.skills,
        }
    }

    /// The content of the file.
    pub(crate) fn to_bytes(&self, directory: &Directory) -> serde_json::Result<Vec<u8>> {
        let written =
            Written { version: VERSION, directory: directory.as_str(), mcp: &self.mcp, skills: &self.skills };
        let mut bytes = serde_json::to_vec(&written)?;
        bytes.push(b'\n');
        Ok(bytes)
    }

    /// Parses the content of `file`, which must belong to `directory`.
    pub(crate) fn from_bytes(bytes: &[u8], directory: &Directory, file: &Path) -> Result<Self, Error> {
        let corrupt = |reason: String| Error::CorruptFile { file: file.to_owned(), reason };
        let text = std::str::from_utf8(bytes).map_err(|error| corrupt(error.to_string()))?;
        let value: &RawValue = serde_json::from_str(text).map_err(|error| corrupt(error.to_string()))?;
        let object = Field::root(value).object().map_err(|error| corrupt(error.to_string()))?;
        if let Some(version) = object.optional("version").and_then(|field| field.whole_number().ok())
            && version != u64::from(VERSION)
        {
            return Err(Error::UnsupportedVersion { file: file.to_owned(), version: version.to_string() });
        }
        Self::from_object(&object, directory).map_err(|error| corrupt(error.to_string()))
    }

    fn from_object(object: &Object<'_>, directory: &Directory) -> Result<Self, Error> {
        object.required("version")?.whole_number()?;
        let owner = object.required("directory")?;
        if owner.string()? != directory.as_str() {
            return Err(owner.error(format!("is not {}, which this file belongs to", directory.as_str())));
        }
        for (key, field) in object.members() {
            if !["version", "directory", "mcp", "skills"].contains(&key) {
                return Err(field.error("is not part of this format"));
            }
        }
        Ok(Self {
            mcp: read_entries(&object.required("mcp")?)?,
            skills: read_entries(&object.required("skills")?)?,
        })
    }
}

fn read_entries(section: &Field<'_>) -> Result<Entries, Error> {
    let entry = |(name, field): (&str, Field<'_>)| Ok((EntryName::parse(name)?, field.raw().to_owned()));
    section.object()?.members().map(entry).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Document, Error> {
        Document::from_bytes(text.as_bytes(), &Directory::parse("/app").unwrap(), "/data/file.json".as_ref())
    }

    #[test]
    fn entries_are_read_back_byte_for_byte() {
        let written = concat!(
            r#"{"version":1,"directory":"/app","mcp":{"a":{ "n" : 1.10e+400 },"ü":{"z":1,"a":2}},"#,
            r#""skills":{"s":{"sources":[]}}}"#,
            "\n"
        );
        let bytes = read(written).unwrap().to_bytes(&Directory::parse("/app").unwrap()).unwrap();
        assert_eq!(String::from_utf8(bytes).unwrap(), written);
    }

    #[test]
    fn any_other_content_is_an_error_that_names_the_file_and_the_field() {
        for (text, reason) in [
            ("", "EOF while parsing a value at line 1 column 0"),
            ("[]", "entry must be an object"),
            ("{}", "version is required"),
            (r#"{"version":"1"}"#, "version must be a whole number, 0 or more"),
            (r#"{"version":1,"mcp":{},"skills":{}}"#, "directory is required"),
            (
                r#"{"version":1,"directory":"/b","mcp":{},"skills":{}}"#,
                "directory is not /app, which this file belongs to",
            ),
            (r#"{"version":1,"directory":"/app","mcp":{}}"#, "skills is required"),
            (r#"{"version":1,"directory":"/app","mcp":[],"skills":{}}"#, "mcp must be an object"),
            (r#"{"version":1,"directory":"/app","mcp":{"a":1,"a":2},"skills":{}}"#, "mcp.a is duplicated"),
            (r#"{"version":1,"directory":"/app","mcp":{"":1},"skills":{}}"#, "name must not be empty"),
            (
                r#"{"version":1,"directory":"/app","mcp":{},"skills":{},"x":0}"#,
                "x is not part of this format",
            ),
        ] {
            match read(text) {
                Err(Error::CorruptFile { file, reason: given }) => {
                    assert_eq!((file.to_str(), given.as_str()), (Some("/data/file.json"), reason));
                }
                other => panic!("{text}: {:?}", other.err()),
            }
        }
    }

    #[test]
    fn a_newer_format_is_distinguished_from_a_damaged_file() {
        let error = read(r#"{"version":2,"anything":true}"#).err().unwrap();
        assert!(matches!(&error, Error::UnsupportedVersion { version, .. } if version == "2"), "{error}");
        assert!(error.to_string().contains("/data/file.json"));
    }
}
