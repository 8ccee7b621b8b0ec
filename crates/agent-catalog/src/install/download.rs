//! Downloads one file: streamed to disk, hashed on the way, and limited in size whatever length it announces.

use std::path::Path;

use futures_util::StreamExt;
use sha2::{Digest, Sha256};
use tokio::io::AsyncWriteExt;

use crate::http::chain;

/// The maximum size of a download; the largest agents are a third of this.
pub(crate) const MAX_DOWNLOAD: u64 = 2 << 30;

/// A finished download.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Downloaded {
    /// Lower-case hexadecimal.
    pub(crate) sha256: String,
    pub(crate) bytes: u64,
}

/// Downloads `url` (`http`, `https` or `file`) into `target`, and checks `sha256` if one is given.
pub(crate) async fn fetch(
    http: &reqwest::Client,
    url: &str,
    target: &Path,
    sha256: Option<&str>,
) -> Result<Downloaded, String> {
    let mut file =
        tokio::fs::File::create(target).await.map_err(|error| format!("{}: {error}", target.display()))?;
    let mut digest = Sha256::new();
    let mut bytes = 0_u64;
    let mut take = async |chunk: &[u8]| -> Result<(), String> {
        bytes += chunk.len() as u64;
        if bytes > MAX_DOWNLOAD {
            return Err(format!("{url} is larger than the limit of {MAX_DOWNLOAD} bytes"));
        }
        digest.update(chunk);
        file.write_all(chunk).await.map_err(|error| format!("writing {}: {error}", target.display()))
    };
    if let Some(path) = url.strip_prefix("file://") {
        let content = tokio::fs::read(path).await.map_err(|error| format!("{path}: {error}"))?;
        take(&content).await?;
    } else {
        let response = http.get(url).send().await.map_err(|error| chain(&error))?;
        let status = response.status();
        if !status.is_success() {
            return Err(format!("{url} answered {status}"));
        }
        let mut stream = response.bytes_stream();
        while let Some(chunk) = stream.next().await {
            // A body shorter than its announced length is an error here.
            take(
                &chunk
                    .map_err(|error| format!("the download of {url} was interrupted: {}", chain(&error)))?,
            )
            .await?;
        }
    }
    file.flush().await.map_err(|error| format!("writing {}: {error}", target.display()))?;
    let actual = hex(&digest.finalize());
    match sha256 {
        Some(expected) if !expected.eq_ignore_ascii_case(&actual) => {
            Err(format!("{url} has the wrong checksum: expected sha256 {expected}, got {actual}"))
        }
        _ => Ok(Downloaded { sha256: actual, bytes }),
    }
}

/// Bytes as lower-case hexadecimal.
pub(crate) fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write;
    bytes.iter().fold(String::with_capacity(bytes.len() * 2), |mut text, byte| {
        // Writing to a String cannot fail.
        let _ = write!(text, "{byte:02x}");
        text
    })
}
