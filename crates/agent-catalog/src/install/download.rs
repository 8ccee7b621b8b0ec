//! Downloads one file: streamed to disk, hashed on the way, and limited in size even if the server announces
//! less.

use std::path::Path;

use futures_util::StreamExt;
use sha2::{Digest, Sha256};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use crate::http::chain;

/// The maximum size of a download; the largest agents are a third of this.
pub(crate) const MAX_DOWNLOAD: u64 = 2 << 30;

/// The read size for local files.
const BUFFER_BYTES: usize = 256 << 10;

/// A finished download.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Downloaded {
    /// The SHA-256 in lower-case hexadecimal.
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
        let mut local = open_local(path).await?;
        let mut buffer = vec![0; BUFFER_BYTES];
        loop {
            let count = local.read(&mut buffer).await.map_err(|error| format!("{path}: {error}"))?;
            if count == 0 {
                break;
            }
            take(&buffer[..count]).await?;
        }
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

/// Opens a local file, which must be a regular file within the size limit. Reading anything else, such as a
/// pipe, may never end.
async fn open_local(path: &str) -> Result<tokio::fs::File, String> {
    let fail = |error: std::io::Error| format!("{path}: {error}");
    let metadata = tokio::fs::metadata(path).await.map_err(fail)?;
    if !metadata.is_file() {
        return Err(format!("{path} is not a regular file"));
    }
    if metadata.len() > MAX_DOWNLOAD {
        return Err(format!("{path} is larger than the limit of {MAX_DOWNLOAD} bytes"));
    }
    tokio::fs::File::open(path).await.map_err(fail)
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

#[cfg(test)]
mod tests {
    use super::*;

    async fn fetch_local(source: &Path) -> Result<Downloaded, String> {
        let folder = tempfile::tempdir().unwrap();
        let url = format!("file://{}", source.display());
        let client = crate::http::LazyClient::default();
        fetch(client.get().unwrap(), &url, &folder.path().join("download"), None).await
    }

    #[tokio::test]
    async fn a_local_archive_that_is_too_large_is_refused_before_it_is_read() {
        let folder = tempfile::tempdir().unwrap();
        let archive = folder.path().join("archive");
        // A sparse file; reading it into memory would need its full size.
        std::fs::File::create(&archive).unwrap().set_len(1 << 42).unwrap();
        let refused = fetch_local(&archive).await.unwrap_err();
        assert!(refused.contains("larger than the limit"), "{refused}");
    }

    #[tokio::test]
    async fn only_a_regular_file_is_a_local_archive() {
        let folder = tempfile::tempdir().unwrap();
        let refused = fetch_local(folder.path()).await.unwrap_err();
        assert!(refused.contains("not a regular file"), "{refused}");
        let archive = folder.path().join("archive");
        std::fs::write(&archive, vec![7; 3 * BUFFER_BYTES / 2]).unwrap();
        assert_eq!(fetch_local(&archive).await.unwrap().bytes, (3 * BUFFER_BYTES / 2) as u64);
    }
}
