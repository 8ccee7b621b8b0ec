//! `sandbox-agent model`: a model that follows a script in the prompt, to try agents without an account or a network.

use std::io::Write;
use std::net::{IpAddr, Ipv4Addr};

use clap::Args;
use scripted_model::ModelError;
use scripted_model::recipes::{Recipe, Variable, recipes};
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use super::error::CliError;

/// The address of the model.
#[derive(Debug, Args)]
pub(super) struct ModelArguments {
    /// Port to listen on; 0 picks a free one
    #[arg(long, default_value_t = 2469)]
    port: u16,
    /// Address to listen on. The model checks no key: anyone who can reach the address can use it
    #[arg(long, default_value_t = IpAddr::V4(Ipv4Addr::LOCALHOST))]
    host: IpAddr,
    /// Print only the address
    #[arg(long)]
    quiet: bool,
}

/// Serves until the future is dropped. A signal is the normal end of this command.
pub(super) async fn run(arguments: ModelArguments) -> Result<(), CliError> {
    let listener = TcpListener::bind((arguments.host, arguments.port)).await?;
    let url = format!("http://{}", listener.local_addr()?);
    let mut greeting = format!("listening on {url}\n");
    if !arguments.quiet {
        greeting += &introduction(&url);
    }
    // The reader may have closed the pipe after the first line; that must not end the model.
    let _ = std::io::stdout().write_all(greeting.as_bytes());
    match scripted_model::serve(listener, CancellationToken::new()).await {
        Err(ModelError::Listener(error)) => Err(error.into()),
        Ok(()) | Err(_) => Ok(()),
    }
}

fn introduction(url: &str) -> String {
    let scripts = indented(scripted_model::HELP);
    let settings: Vec<String> = recipes(url).iter().map(shell_commands).collect();
    format!(
        "\nA prompt can contain:\n\n{scripts}\n\nStart the server with these settings to make its agents use this model:\n\n{}",
        settings.join("\n")
    )
}

fn shell_commands(recipe: &Recipe) -> String {
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
    fn the_settings_of_each_agent_can_be_pasted_into_a_shell() {
        let text = introduction("http://127.0.0.1:1");
        assert!(text.contains("# goose\nexport GOOSE_PROVIDER=openai\n"));
        assert!(text.contains("export OPENAI_BASE_URL=http://127.0.0.1:1/v1\n"));
        assert!(text.contains("# and in ~/.codex/config.toml:\n    model = "));
    }
}
