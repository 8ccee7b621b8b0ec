//! The commands of `sandbox-agent api`, made from the list of endpoints.

use clap::builder::PossibleValuesParser;
use clap::{Arg, ArgAction, ArgMatches, Command, Error, FromArgMatches, Subcommand};

use super::endpoint::{Body, Endpoint, Parameter, Place, Shape};
use super::endpoints::{ENDPOINTS, GROUPS};

/// The argument that holds a body.
pub(super) const BODY: &str = "body";
/// The argument that says what kind of body it is.
pub(super) const CONTENT_TYPE: &str = "content_type";

/// An endpoint to be called, with what it is given.
#[derive(Debug)]
pub(super) struct Call {
    pub(super) endpoint: &'static Endpoint,
    pub(super) given: ArgMatches,
}

impl Subcommand for Call {
    fn augment_subcommands(command: Command) -> Command {
        with_commands(command.subcommand_required(true).arg_required_else_help(true), &[])
    }

    fn augment_subcommands_for_update(command: Command) -> Command {
        Self::augment_subcommands(command)
    }

    fn has_subcommand(name: &str) -> bool {
        ENDPOINTS.iter().any(|endpoint| endpoint.words[0] == name)
    }
}

impl FromArgMatches for Call {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, Error> {
        let mut words = Vec::new();
        let mut given = matches;
        while let Some((word, inner)) = given.subcommand() {
            words.push(word);
            given = inner;
        }
        let endpoint = ENDPOINTS.iter().find(|endpoint| endpoint.words == words);
        let endpoint = endpoint.ok_or_else(|| Error::new(clap::error::ErrorKind::MissingSubcommand))?;
        Ok(Self { endpoint, given: given.clone() })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

/// Adds the commands that go on from these words.
fn with_commands(mut command: Command, words: &[&str]) -> Command {
    let depth = words.len();
    let mut added: Vec<&str> = Vec::new();
    for endpoint in ENDPOINTS.iter().filter(|endpoint| endpoint.words.starts_with(words)) {
        let word = endpoint.words[depth];
        if added.contains(&word) {
            continue;
        }
        added.push(word);
        let inner = if endpoint.words.len() == depth + 1 {
            of_endpoint(endpoint)
        } else {
            let group = &endpoint.words[..=depth];
            let about = GROUPS.iter().find(|(words, _)| *words == group).map_or("", |(_, about)| *about);
            let group_command =
                Command::new(word).about(about).subcommand_required(true).arg_required_else_help(true);
            with_commands(group_command, group)
        };
        command = command.subcommand(inner);
    }
    command
}

fn of_endpoint(endpoint: &'static Endpoint) -> Command {
    let name = endpoint.words.last().copied().unwrap_or_default();
    let what = format!("{} {}", endpoint.method, endpoint.path);
    let mut command = Command::new(name).about(endpoint.about).after_help(what);
    for parameter in endpoint.parameters {
        command = command.arg(of_parameter(parameter));
    }
    let body = || Arg::new(BODY).long(BODY).required(true);
    match endpoint.body {
        Body::None | Body::Fields => command,
        Body::Json => {
            command.arg(body().value_name("JSON").help("The body: JSON, @FILE, or - for standard input"))
        }
        Body::Bytes(kinds) => {
            command =
                command.arg(body().value_name("FILE").help("The body: @FILE, - for standard input, or text"));
            if kinds.len() > 1 {
                let kind = Arg::new(CONTENT_TYPE).long("content-type").help("What the body is");
                command =
                    command.arg(kind.value_parser(PossibleValuesParser::new(kinds)).default_value(kinds[0]));
            }
            command
        }
    }
}

fn of_parameter(parameter: &'static Parameter) -> Arg {
    let argument = Arg::new(parameter.name).help(parameter.help);
    if parameter.place == Place::Path {
        return argument.required(true);
    }
    let argument = argument.long(parameter.flag);
    match parameter.shape {
        Shape::Required => argument.required(true),
        Shape::Optional => argument,
        Shape::Repeated => argument.action(ArgAction::Append),
        Shape::Switch => argument.action(ArgAction::SetTrue),
        Shape::Truth => argument.value_parser(PossibleValuesParser::new(["true", "false"])),
    }
}
