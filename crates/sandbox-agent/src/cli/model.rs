//! `sandbox-agent model`: a model that does what the prompt says, for trying agents without an account or a network.

use std::io::Write;
use std::net::{IpAddr, Ipv4Addr};

use clap::Args;
use scripted_model::ModelError;
use scripted_model::recipes::{Recipe, Variable, recipes};
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use super::error::CliError;

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

/// Serves until the future is dropped: a signal ends the command, which is how it is meant to end.
pub(super) async fn run(arguments: ModelArguments) -> Result<(), CliError> {
    let listener = TcpListener::bind((arguments.host, arguments.port)).await?;
    let url = format!("http://{}", listener.local_addr()?);
    let mut greeting = format!("listening on {url}\n");
    if !arguments.quiet {
        greeting += &introduction(&url);
    }
    // Whoever started it may have read the first line and closed the pipe; the model is there all the same.
    let _ = std::io::stdout().write_all(greeting.as_bytes());
    match scripted_model::serve(listener, CancellationToken::new()).await {
        Err(ModelError::Listener(error)) => Err(error.into()),
        Ok(()) | Err(_) => Ok(()),
    }
}

fn introduction(url: &str) -> String {
    let scripts = indented(scripted_model::HELP);
    let settings: Vec<String> = recipes(url).iter().map(described).collect();
    format!(
        "\nA prompt can say:\n\n{scripts}\n\nStart the server with these to point its agents here:\n\n{}",
        settings.join("\n")
    )
}

fn described(recipe: &Recipe) -> String {
    let mut text = format!("# {}\n", recipe.agent);
    for Variable { name, value } in &recipe.environment {
        text += &format!("export {name}={value}\n");
    }
    for file in &recipe.files {
        text += &format!("# and in {}:\n{}\n", file.path, indented(file.content.trim_end()));
    }
    text
}

fn indented(text: &str) -> String {
    let indent = |line: &str| if line.is_empty() { String::new() } else { format!("    {line}") };
    text.lines().map(indent).collect::<Vec<String>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_introduction_can_be_pasted_into_a_shell_agent_by_agent() {
        let text = introduction("http://127.0.0.1:1");
        assert!(text.contains("# goose\nexport GOOSE_PROVIDER=openai\n"));
        assert!(text.contains("export OPENAI_BASE_URL=http://127.0.0.1:1/v1\n"));
        assert!(text.contains("# and in ~/.codex/config.toml:\n    model = "));
    }
}
