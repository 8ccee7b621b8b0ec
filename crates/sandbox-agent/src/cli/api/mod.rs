//! `sandbox-agent api`: calls any endpoint of a running server.
//!
//! The commands are generated from one list. Responses are printed unchanged; on a terminal, JSON is indented.

mod endpoint;
mod endpoints;
mod tree;

use std::io::{IsTerminal, Write};
use std::path::Path;

use clap::{ArgMatches, Args};
use reqwest::{Method, Response};
use serde_json::{Map, Value, json};

use self::endpoint::{Body, Endpoint, Location, ResponseKind, Shape};
use self::tree::{BODY, CONTENT_TYPE, Call};
use super::client::{Request, Server, ServerAddress, encode};
use super::error::CliError;
use super::fs::file_body;
use super::input;
use super::output::{Format, print_bytes, print_json, print_line};

#[derive(Debug, Args)]
pub(super) struct ApiArguments {
    #[command(subcommand)]
    call: Call,
    /// Print responses exactly as the server sends them, and errors as JSON
    #[arg(long, global = true)]
    json: bool,
    #[command(flatten)]
    server: ServerAddress,
}

impl ApiArguments {
    pub(super) const fn format(&self) -> Format {
        Format::of(self.json)
    }
}

pub(super) async fn run(arguments: ApiArguments) -> Result<(), CliError> {
    let (server, format) = (arguments.server.server()?, arguments.format());
    let Call { endpoint, matches } = arguments.call;
    let request = with_body(with_parameters(&server, endpoint, &matches)?, endpoint, &matches).await?;
    match endpoint.response {
        ResponseKind::Json => {
            let bytes = request.bytes().await?;
            let indented = format == Format::Text && std::io::stdout().is_terminal();
            match serde_json::from_slice::<Value>(&bytes) {
                Ok(answer) if indented => print_json(&answer),
                _ => print_bytes(&bytes),
            }
        }
        ResponseKind::Bytes => print_stream(&server, request.send().await?).await,
        ResponseKind::Events => {
            print_stream(&server, request.accept("text/event-stream").send().await?).await
        }
        ResponseKind::Head => {
            let response = request.send().await?;
            print_line(format!("status: {}", response.status().as_u16()))?;
            for (name, value) in response.headers() {
                print_line(format!("{name}: {}", String::from_utf8_lossy(value.as_bytes())))?;
            }
            Ok(())
        }
    }
}

fn with_parameters(server: &Server, endpoint: &Endpoint, matches: &ArgMatches) -> Result<Request, CliError> {
    let text = |name: &str| matches.try_get_one::<String>(name).ok().flatten();
    let in_path = endpoint.parameters.iter().filter(|parameter| parameter.location == Location::Path);
    let path = in_path.fold(endpoint.path.to_owned(), |path, parameter| {
        let value = text(parameter.name).map_or("", String::as_str);
        // A path parameter may itself be a path with slashes, as for the inspector's files.
        let parts: Vec<String> = value.split('/').map(encode).collect();
        let whole = if parameter.name == "path" { parts.join("/") } else { encode(value) };
        path.replace(&format!("{{{}}}", parameter.name), &whole)
    });
    let method = Method::from_bytes(endpoint.method.as_bytes()).unwrap_or_default();
    let mut request = server.request(method, path);
    for parameter in endpoint.parameters {
        match (parameter.location, parameter.shape) {
            (Location::Path | Location::Field, _) => {}
            (_, Shape::Switch) => {
                if matches.get_flag(parameter.name) {
                    request = request.query(parameter.name, "true");
                }
            }
            (_, Shape::Repeated) => {
                for value in matches.get_many::<String>(parameter.name).into_iter().flatten() {
                    request = request.query(parameter.name, value);
                }
            }
            (location, _) => {
                if let Some(value) = text(parameter.name) {
                    request = match location {
                        Location::Header => request.header(parameter.flag, value)?,
                        _ => request.query(parameter.name, value),
                    };
                }
            }
        }
    }
    Ok(request)
}

async fn with_body(request: Request, endpoint: &Endpoint, matches: &ArgMatches) -> Result<Request, CliError> {
    let body = || matches.get_one::<String>(BODY).map_or("", String::as_str);
    match endpoint.body {
        Body::None => Ok(request),
        Body::Json => Ok(request.body("application/json", input::read(body())?)),
        Body::Fields => {
            let mut fields = Map::new();
            for parameter in
                endpoint.parameters.iter().filter(|parameter| parameter.location == Location::Field)
            {
                if parameter.shape == Shape::Switch {
                    fields.insert(parameter.name.to_owned(), json!(matches.get_flag(parameter.name)));
                } else if let Some(value) = matches.get_one::<String>(parameter.name) {
                    fields.insert(parameter.name.to_owned(), json!(value));
                }
            }
            Ok(request.json_body(&Value::Object(fields)))
        }
        Body::Bytes(content_types) => {
            let chosen = matches.try_get_one::<String>(CONTENT_TYPE).ok().flatten();
            let content_type = content_types
                .iter()
                .find(|content_type| chosen.is_none_or(|chosen| *chosen == **content_type))
                .unwrap_or(&content_types[0]);
            match (body(), body().strip_prefix('@')) {
                ("-", _) => file_body(request, content_type, Path::new("-")).await,
                (_, Some(file)) => file_body(request, content_type, Path::new(file)).await,
                (text, None) => Ok(request.body(content_type, text.to_owned())),
            }
        }
    }
}

/// Prints a response while it arrives.
async fn print_stream(server: &Server, mut response: Response) -> Result<(), CliError> {
    let mut out = std::io::stdout().lock();
    while let Some(bytes) = response.chunk().await.map_err(|error| server.failure(&error))? {
        out.write_all(&bytes)?;
        out.flush()?;
    }
    Ok(())
}
