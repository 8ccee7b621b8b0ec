//! The arguments of a set of skills. It has any number of sources; each is followed by the options that belong to it.

use clap::{ArgMatches, Args, Command, FromArgMatches};
use sandbox_config::SkillsEntry;
use serde_json::{Value, json};

use super::Entry;
use crate::cli::error::CliError;
use crate::cli::input;
use crate::cli::table;

/// A set of skills from one or more sources
#[derive(Debug, Args)]
pub(in crate::cli) struct Skills {
    /// The name of the set of skills
    name: String,
    /// The whole entry as JSON, or @FILE, or - for standard input
    #[arg(long, value_name = "JSON", conflicts_with_all = ["github", "git", "local"], required_unless_present_any = ["github", "git", "local"])]
    entry: Option<String>,
    #[command(flatten)]
    sources: Sources,
}

impl Entry for Skills {
    const PATH: &'static str = "/v1/config/skills";
    const NAME: &'static str = "skillName";
    type Valid = SkillsEntry;

    fn name(&self) -> &str {
        &self.name
    }

    fn json(&self) -> Result<Vec<u8>, CliError> {
        match &self.entry {
            Some(entry) => input::read(entry),
            None => Ok(json!({"sources": self.sources.0}).to_string().into_bytes()),
        }
    }

    fn print(entries: &[(&String, &Value)]) -> Result<(), CliError> {
        let rows: Vec<[String; 2]> =
            entries.iter().map(|(name, entry)| [(*name).clone(), describe(entry)]).collect();
        table::print(["NAME", "SOURCES"], &rows)
    }
}

fn describe(entry: &Value) -> String {
    let sources = entry["sources"].as_array().into_iter().flatten();
    let named = sources.map(|source| {
        let text = |name: &str| source[name].as_str().unwrap_or_default();
        format!("{}:{}", text("type"), text("source"))
    });
    named.collect::<Vec<_>>().join("  ")
}

/// The options of the sources. They only define the arguments: [`Sources`] reads their values, with their order.
#[derive(Debug, Args)]
#[allow(dead_code, reason = "the values are read from the matches")]
struct SourceOptions {
    /// Skills from a GitHub repository; repeatable
    #[arg(long, value_name = "OWNER/NAME")]
    github: Vec<String>,
    /// Skills from a git repository; repeatable
    #[arg(long, value_name = "URL")]
    git: Vec<String>,
    /// Skills from a directory on the server; repeatable
    #[arg(long, value_name = "DIR")]
    local: Vec<String>,
    /// The branch, tag or commit of the source before it
    #[arg(long = "ref", value_name = "REF", conflicts_with = "entry")]
    reference: Vec<String>,
    /// The directory within the source before it
    #[arg(long, value_name = "DIR", conflicts_with = "entry")]
    subpath: Vec<String>,
    /// Only this skill of the source before it; repeatable
    #[arg(long = "skill", value_name = "NAME", conflicts_with = "entry")]
    skills: Vec<String>,
}

/// The sources in the order of the command line, as JSON.
#[derive(Debug)]
struct Sources(Vec<Value>);

/// The ids of the arguments that start a source. They are also the types of sources.
const STARTS: [&str; 3] = ["github", "git", "local"];
/// The ids of the arguments that belong to a source, with their fields.
const OPTIONS: [(&str, &str); 3] = [("reference", "ref"), ("subpath", "subpath"), ("skills", "skills")];

impl Sources {
    fn read(matches: &ArgMatches) -> Result<Self, String> {
        let given = |id: &'static str| {
            let values = matches.get_many::<String>(id).into_iter().flatten();
            let indices = matches.indices_of(id).into_iter().flatten();
            indices.zip(values).map(move |(index, value)| (index, id, value))
        };
        let ids = STARTS.into_iter().chain(OPTIONS.map(|(id, _)| id));
        // The options of a single source may also stand before it.
        let is_single = STARTS.into_iter().flat_map(given).count() == 1;
        let mut all: Vec<(usize, &str, &String)> = ids.flat_map(given).collect();
        all.sort_unstable_by_key(|(index, id, _)| (is_single && !STARTS.contains(id), *index));
        let mut sources: Vec<Value> = Vec::new();
        for (_, id, value) in all {
            match OPTIONS.iter().find(|(option, _)| *option == id) {
                Some((_, field)) => add(sources.last_mut(), field, value)?,
                None => sources.push(json!({"type": id, "source": value})),
            }
        }
        Ok(Self(sources))
    }
}

/// Adds an option to the source that it belongs to.
fn add(source: Option<&mut Value>, field: &str, value: &str) -> Result<(), String> {
    let source = source.ok_or("name a source before the options that belong to it")?;
    if field == "skills" {
        match source[field].as_array_mut() {
            Some(skills) => skills.push(json!(value)),
            None => source[field] = json!([value]),
        }
        return Ok(());
    }
    if !source[field].is_null() {
        return Err(format!("--{field} is given twice for one source"));
    }
    source[field] = json!(value);
    Ok(())
}

impl FromArgMatches for Sources {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        Self::read(matches)
            .map_err(|reason| clap::Error::raw(clap::error::ErrorKind::ArgumentConflict, reason))
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

impl Args for Sources {
    fn augment_args(command: Command) -> Command {
        SourceOptions::augment_args(command)
    }

    fn augment_args_for_update(command: Command) -> Command {
        SourceOptions::augment_args_for_update(command)
    }
}
