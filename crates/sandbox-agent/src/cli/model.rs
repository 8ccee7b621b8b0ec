//! `sandbox-agent model`: a model that does what the prompt says, for trying agents without an account or a network.

use std::net::{IpAddr, Ipv4Addr};

use clap::Args;
use scripted_model::ModelError;
use scripted_model::recipes::{Recipe, recipes};
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use super::CliError;

/// Where the model listens.
#[derive(Debug, Args)]
pub(super) struct ModelArguments {
    /// Port to listen on; 0 takes a free one
    #[arg(long, default_value_t = 2469)]
    port: u16,
    /// Address to listen on. The model checks no key: anywhere but on loopback, whoever reaches it can use it
    #[arg(long, default_value_t = IpAddr::V4(Ipv4Addr::LOCALHOST))]
    host: IpAddr,
    /// Print where it listens and nothing else
    #[arg(long)]
    quiet: bool,
}

/// Serves until a signal ends the command, which is how it is meant to end.
pub(super) async fn run(arguments: ModelArguments) -> Result<(), CliError> {
    let listener = TcpListener::bind((arguments.host, arguments.port)).await?;
    let url = format!("http://{}", listener.local_addr()?);
    println!("listening on {url}");
    if !arguments.quiet {
        println!("\nA prompt can say:\n\n{}\n", indented(scripted_model::HELP));
        println!("Start the server with these to point its agents here:\n");
        for recipe in recipes(&url) {
            print_recipe(&recipe);
        }
    }
    match scripted_model::serve(listener, CancellationToken::new()).await {
        Err(ModelError::Listener(error)) => Err(error.into()),
        Ok(()) | Err(_) => Ok(()),
    }
}

fn print_recipe(recipe: &Recipe) {
    println!("# {}", recipe.agent);
    for (name, value) in &recipe.environment {
        println!("export {name}={value}");
    }
    if let Some(file) = &recipe.file {
        println!("# and in {}:", file.path);
        println!("{}", indented(file.content.trim_end()));
    }
    println!();
}

fn indented(text: &str) -> String {
    let lines: Vec<String> =
        text.lines().map(|line| if line.is_empty() { String::new() } else { format!("    {line}") }).collect();
    lines.join("\n")
}
