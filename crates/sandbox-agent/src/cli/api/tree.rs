//! The commands of `sandbox-agent api`, generated from the list of endpoints.

use clap::builder::PossibleValuesParser;
use clap::{Arg, ArgAction, ArgMatches, Command, Error, FromArgMatches, Subcommand};

use super::endpoint::{Body, Endpoint, Location, Parameter, Shape};
use super::endpoints::{ENDPOINTS, GROUPS};

/// The argument with the body.
pub(super) const BODY: &str = "body";
/// The argument with the content type of the body.
pub(super) const CONTENT_TYPE: &str = "content_type";

/// An endpoint to call, with its arguments.
#[derive(Debug)]
pub(super) struct Call {
    pub(super) endpoint: &'static Endpoint,
    pub(super) matches: ArgMatches,
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
        let mut matches = matches;
        while let Some((word, inner)) = matches.subcommand() {
            words.push(word);
            matches = inner;
        }
        let endpoint = ENDPOINTS.iter().find(|endpoint| endpoint.words == words);
        let endpoint = endpoint.ok_or_else(|| Error::new(clap::error::ErrorKind::MissingSubcommand))?;
        Ok(Self { endpoint, matches: matches.clone() })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

/// Adds the commands whose words start with these.
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
            endpoint_command(endpoint)
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

fn endpoint_command(endpoint: &'static Endpoint) -> Command {
    let name = endpoint.words.last().copied().unwrap_or_default();
    let request = format!("Request: {} {}", endpoint.method, endpoint.path);
    let mut command = Command::new(name).about(endpoint.about).after_help(request);
    for parameter in endpoint.parameters {
        command = command.arg(parameter_argument(parameter));
    }
    let body = || Arg::new(BODY).long(BODY).required(true);
    match endpoint.body {
        Body::None | Body::Fields => command,
        Body::Json => {
            command.arg(body().value_name("JSON").help("The body: JSON, @FILE, or - for standard input"))
        }
        Body::Bytes(content_types) => {
            command =
                command.arg(body().value_name("FILE").help("The body: @FILE, - for standard input, or text"));
            if content_types.len() > 1 {
                let argument =
                    Arg::new(CONTENT_TYPE).long("content-type").help("The content type of the body");
                let values = PossibleValuesParser::new(content_types);
                command = command.arg(argument.value_parser(values).default_value(content_types[0]));
            }
            command
        }
    }
}

fn parameter_argument(parameter: &'static Parameter) -> Arg {
    let argument = Arg::new(parameter.name).help(parameter.help);
    if parameter.location == Location::Path {
        return argument.required(true);
    }
    let argument = argument.long(parameter.flag);
    match parameter.shape {
        Shape::Required => argument.required(true),
        Shape::Optional => argument,
        Shape::Repeated => argument.action(ArgAction::Append),
        Shape::Switch => argument.action(ArgAction::SetTrue),
        Shape::Boolean => argument.value_parser(PossibleValuesParser::new(["true", "false"])),
    }
}
