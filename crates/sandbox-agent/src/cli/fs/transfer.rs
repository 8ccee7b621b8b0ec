//! `fs cat`, `fs get` and `fs put`: single files, transferred in chunks.

use std::ffi::OsString;
use std::io::{self, Write};
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};

use bytes::Bytes;
use futures_util::stream;
use reqwest::header::ETAG;
use reqwest::{Method, Response};
use sandbox_fs::{FileService, Root, UserPath, WriteOptions};
use serde_json::{Value, json};
use tokio::io::AsyncReadExt;

use super::{Remote, print_result, text_field};
use crate::cli::client::Request;
use crate::cli::error::CliError;
use crate::cli::output::{Format, print_json};
use crate::cli::progress::{Meter, size};

const CHUNK: usize = 256 << 10;

/// The condition for storing a file.
#[derive(Debug)]
pub(super) enum Condition {
    None,
    Absent,
    Matches(String),
}

/// Prints a file.
pub(super) async fn print(remote: &Remote, path: &OsString) -> Result<(), CliError> {
    let response = remote.at(Method::GET, "file", path).send().await?;
    let mut out = io::stdout().lock();
    each_chunk(remote, response, None, |bytes| Ok(out.write_all(bytes)?)).await?;
    Ok(out.flush()?)
}

/// Downloads a file, completely or not at all.
pub(super) async fn get(
    remote: &Remote,
    path: &OsString,
    target: Option<PathBuf>,
    format: Format,
) -> Result<(), CliError> {
    if target.as_deref() == Some(Path::new("-")) {
        return print(remote, path).await;
    }
    let name = Path::new(path).file_name();
    let name = name.ok_or_else(|| CliError::Usage("name a file, not a directory".to_owned()))?;
    let target = match target {
        None => PathBuf::from(name),
        Some(folder) if folder.is_dir() => folder.join(name),
        Some(file) => file,
    };
    let response = remote.at(Method::GET, "file", path).send().await?;
    let meter = Meter::new(&name.to_string_lossy(), response.content_length());
    let mut writer =
        local_files()?.begin_write(&UserPath::parse(target.as_os_str())?, &WriteOptions::default())?;
    each_chunk(remote, response, Some(meter), |bytes| Ok(writer.write_chunk(bytes)?)).await?;
    let outcome = writer.commit()?;
    let answer = json!({"path": outcome.path, "bytesWritten": outcome.bytes_written});
    print_result(&answer, format, || {
        format!("wrote {} ({})", text_field(&answer, "path"), size(outcome.bytes_written))
    })
}

/// The file service for the local files.
pub(super) fn local_files() -> Result<FileService, CliError> {
    Ok(FileService::open(&Root::Unconfined { workspace: std::env::current_dir()? })?)
}

async fn each_chunk(
    remote: &Remote,
    mut response: Response,
    mut meter: Option<Meter>,
    mut process: impl FnMut(&[u8]) -> Result<(), CliError>,
) -> Result<(), CliError> {
    while let Some(bytes) = response.chunk().await.map_err(|error| remote.0.failure(&error))? {
        process(&bytes)?;
        if let Some(meter) = &mut meter {
            meter.add(bytes.len());
        }
    }
    Ok(())
}

/// Stores a file.
pub(super) async fn put(
    remote: &Remote,
    source: &Path,
    mut path: OsString,
    condition: Condition,
    format: Format,
) -> Result<(), CliError> {
    if path.as_encoded_bytes().ends_with(b"/") {
        let name = source.file_name().filter(|_| source != Path::new("-"));
        path.push(
            name.ok_or_else(|| CliError::Usage("standard input has no name; give the full path".to_owned()))?,
        );
    }
    let mut request = remote.at(Method::PUT, "file", &path);
    request = match condition {
        Condition::None => request,
        Condition::Absent => request.header("if-none-match", "*")?,
        Condition::Matches(etag) => request.header("if-match", &etag)?,
    };
    let response = file_body(request, "application/octet-stream", source).await?.send().await?;
    let etag = response.headers().get(ETAG).and_then(|etag| etag.to_str().ok()).map(str::to_owned);
    let bytes = response.bytes().await.map_err(|error| remote.0.failure(&error))?;
    let mut answer: Value = serde_json::from_slice(&bytes).map_err(io::Error::from)?;
    if format == Format::Json {
        answer["etag"] = json!(etag);
        return print_json(&answer);
    }
    let written = answer["bytesWritten"].as_u64().unwrap_or_default();
    print_result(&answer, format, || format!("stored {} ({})", text_field(&answer, "path"), size(written)))
}

/// Sends a file, or standard input for `-`, a chunk in memory at a time.
pub(in crate::cli) async fn file_body(
    request: Request,
    media_type: &'static str,
    source: &Path,
) -> Result<Request, CliError> {
    if source == Path::new("-") {
        let input = std::fs::File::from(io::stdin().as_fd().try_clone_to_owned()?);
        let meter = Meter::new("standard input", None);
        return Ok(request.body(media_type, body(tokio::fs::File::from_std(input), meter)));
    }
    let local_error = |error: io::Error| CliError::local(source, &error);
    let file = tokio::fs::File::open(source).await.map_err(local_error)?;
    let found = file.metadata().await.map_err(local_error)?;
    if found.is_dir() {
        return Err(CliError::Usage(format!("{} is a directory; see `fs upload`", source.display())));
    }
    let length = found.is_file().then_some(found.len());
    let meter = Meter::new(&source.file_name().unwrap_or_default().to_string_lossy(), length);
    let request = request.body(media_type, body(file, meter));
    // The length is sent first, so that a file that is too large is rejected before it is sent.
    match length {
        Some(length) => request.header("content-length", &length.to_string()),
        None => Ok(request),
    }
}

/// The content of a file as a body.
fn body(source: tokio::fs::File, meter: Meter) -> reqwest::Body {
    reqwest::Body::wrap_stream(stream::try_unfold((source, meter), |(mut source, mut meter)| async move {
        let mut chunk = bytes::BytesMut::with_capacity(CHUNK);
        let count = source.read_buf(&mut chunk).await?;
        meter.add(count);
        Ok::<_, io::Error>((count > 0).then(|| (Bytes::from(chunk), (source, meter))))
    }))
}
