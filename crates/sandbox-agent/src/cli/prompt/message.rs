//! The prompt for the agent: a text and attached files.

use std::io::{IsTerminal, Read};
use std::path::{Path, PathBuf};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use super::session::InitializeResponse;
use crate::cli::error::CliError;

/// A prompt, read before anything is started.
#[derive(Debug)]
pub(super) struct Message {
    text: String,
    files: Vec<Attachment>,
}

#[derive(Debug)]
struct Attachment {
    name: String,
    uri: String,
    media_type: &'static str,
    bytes: Vec<u8>,
}

impl Message {
    /// The text, or standard input for `-`, with the files.
    pub(super) fn read(text: &str, files: &[PathBuf]) -> Result<Self, CliError> {
        let text = if text == "-" { from_standard_input()? } else { text.to_owned() };
        if text.trim().is_empty() && files.is_empty() {
            return Err(CliError::Usage(
                "the prompt is empty; give a text, or - to read it from standard input".to_owned(),
            ));
        }
        let files = files.iter().map(|path| Attachment::read(path)).collect::<Result<_, _>>()?;
        Ok(Self { text, files })
    }

    /// The prompt as ACP content blocks, of the types that the agent accepts.
    pub(super) fn blocks(&self, agent: &InitializeResponse) -> Result<Value, CliError> {
        let files = self.files.iter().map(|file| file.block(|content| agent.accepts(content)));
        let text = Some(Ok(json!({"type": "text", "text": self.text}))).filter(|_| !self.text.is_empty());
        files.chain(text).collect()
    }
}

fn from_standard_input() -> Result<String, CliError> {
    let mut input = std::io::stdin();
    if input.is_terminal() {
        eprintln!("reading the prompt from the terminal; end it with Ctrl-D");
    }
    let mut text = String::new();
    input.read_to_string(&mut text)?;
    Ok(text)
}

impl Attachment {
    fn read(path: &Path) -> Result<Self, CliError> {
        let local_error = |error: std::io::Error| CliError::local(path, &error);
        let bytes = std::fs::read(path).map_err(local_error)?;
        let absolute = path.canonicalize().map_err(local_error)?;
        let name = absolute.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let uri = reqwest::Url::from_file_path(&absolute).map(String::from).unwrap_or_else(|()| name.clone());
        Ok(Self { media_type: media_type(&absolute), name, uri, bytes })
    }

    fn block(&self, accepts: impl Fn(&str) -> bool) -> Result<Value, CliError> {
        let Self { name, uri, media_type, bytes } = self;
        let kind = media_type.split('/').next().unwrap_or_default();
        if matches!(kind, "image" | "audio") && accepts(kind) {
            return Ok(
                json!({"type": kind, "mimeType": media_type, "data": STANDARD.encode(bytes), "uri": uri}),
            );
        }
        match (std::str::from_utf8(bytes), accepts("embeddedContext")) {
            (Ok(text), true) => Ok(json!({
                "type": "resource", "resource": {"uri": uri, "mimeType": media_type, "text": text},
            })),
            (Ok(text), false) => {
                Ok(json!({"type": "text", "text": format!("File {name}:\n\n````\n{text}\n````\n")}))
            }
            (Err(_), true) => Ok(json!({
                "type": "resource", "resource": {"uri": uri, "mimeType": media_type, "blob": STANDARD.encode(bytes)},
            })),
            (Err(_), false) => Err(CliError::Usage(format!("this agent does not accept files like {name}"))),
        }
    }
}

fn media_type(path: &Path) -> &'static str {
    let extension = path.extension().unwrap_or_default().to_string_lossy().to_ascii_lowercase();
    match extension.as_str() {
        "png" => "image/png",
        "jpg" | "jpeg" => "image/jpeg",
        "gif" => "image/gif",
        "webp" => "image/webp",
        "wav" => "audio/wav",
        "mp3" => "audio/mpeg",
        "ogg" => "audio/ogg",
        "json" => "application/json",
        "pdf" => "application/pdf",
        "html" | "htm" => "text/html",
        "md" => "text/markdown",
        "zip" | "gz" | "tar" | "zst" | "bin" => "application/octet-stream",
        _ => "text/plain",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn attachment(name: &str, bytes: &[u8]) -> Attachment {
        let media_type = media_type(Path::new(name));
        Attachment { name: name.into(), uri: format!("file:///{name}"), media_type, bytes: bytes.into() }
    }

    #[test]
    fn a_file_is_sent_as_the_best_type_that_the_agent_accepts() {
        let picture = attachment("a.PNG", b"\x89PNG");
        let image = picture.block(|content| content == "image").unwrap();
        assert_eq!((&image["type"], &image["data"]), (&json!("image"), &json!("iVBORw==")));
        let blob = picture.block(|content| content == "embeddedContext");
        assert_eq!(blob.unwrap()["resource"]["blob"], "iVBORw==");
        assert!(matches!(picture.block(|_| false), Err(CliError::Usage(_))));
        let text = attachment("a.rs", b"fn main() {}");
        assert_eq!(text.block(|_| true).unwrap()["resource"]["text"], "fn main() {}");
        assert_eq!(text.block(|_| false).unwrap()["type"], "text");
    }
}
