//! `fs watch`: changes as they happen.

use serde_json::{Value, json};

use super::text_field;
use crate::cli::client::{EventStream, Scope, Server};
use crate::cli::error::CliError;
use crate::cli::output::{Format, print_line};

pub(super) async fn run(server: &Server, target: String, format: Format) -> Result<(), CliError> {
    let mut events = EventStream::open(server, target, Scope::Live, None).await?;
    while let Some(event) = events.next().await? {
        let data: Value = serde_json::from_str(&event.data).unwrap_or_default();
        match format {
            Format::Json => print_line(json!({"event": event.name, "data": data}))?,
            Format::Text => print_line(text(&event.name, &data))?,
        }
    }
    Ok(())
}

fn text(event: &str, data: &Value) -> String {
    match event {
        "renamed" => format!("renamed {} to {}", text_field(data, "from"), text_field(data, "to")),
        "overflow" => "overflow: changes were missed; list the directory again".to_owned(),
        _ => format!("{event} {}", text_field(data, "path")),
    }
}
