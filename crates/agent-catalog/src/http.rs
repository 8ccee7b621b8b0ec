//! The HTTP client for registries and archives: proxies and certificates as the machine has them.

use std::time::Duration;

use crate::error::CatalogError;

/// A download that sends nothing for this long is given up.
const READ_TIMEOUT: Duration = Duration::from_secs(60);
const CONNECT_TIMEOUT: Duration = Duration::from_secs(15);

/// Builds a client. `certificates` are PEM files' contents to trust besides the system's.
pub(crate) fn client(certificates: &[Vec<u8>]) -> Result<reqwest::Client, CatalogError> {
    // Fails only when a provider is installed already, which is just as good.
    let _installed_before = rustls::crypto::ring::default_provider().install_default();
    let mut builder = reqwest::Client::builder()
        .user_agent(concat!("sandbox-agent/", env!("CARGO_PKG_VERSION")))
        .connect_timeout(CONNECT_TIMEOUT)
        .read_timeout(READ_TIMEOUT);
    for pem in certificates {
        match reqwest::Certificate::from_pem_bundle(pem) {
            Ok(bundle) => {
                for certificate in bundle {
                    builder = builder.add_root_certificate(certificate);
                }
            }
            Err(error) => tracing::warn!(%error, "a configured certificate file cannot be read"),
        }
    }
    builder
        .build()
        .map_err(|error| CatalogError::Configuration { detail: format!("no HTTP client: {}", chain(&error)) })
}

/// An error with its causes, in one line: reqwest hides the interesting part in `source`.
pub(crate) fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(inner) = cause {
        let inner_text = inner.to_string();
        if !text.contains(&inner_text) {
            text.push_str(": ");
            text.push_str(&inner_text);
        }
        cause = inner.source();
    }
    text
}
