//! The HTTP client for registries and archives, using the machine's proxies and certificates.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use crate::error::CatalogError;

/// A download that receives no data for this long is aborted.
const READ_TIMEOUT: Duration = Duration::from_secs(60);
const CONNECT_TIMEOUT: Duration = Duration::from_secs(15);

/// Builds a client. `certificates` are the contents of PEM files to trust in addition to the system's.
pub(crate) fn client(certificates: &[Vec<u8>]) -> Result<reqwest::Client, CatalogError> {
    let extra: Vec<reqwest::Certificate> = certificates
        .iter()
        .filter_map(|pem| {
            reqwest::Certificate::from_pem_bundle(pem)
                .inspect_err(|error| tracing::warn!(%error, "a configured certificate file cannot be read"))
                .ok()
        })
        .flatten()
        .collect();
    build_client(extra, || {
        reqwest::Client::builder()
            .user_agent(concat!("sandbox-agent/", env!("CARGO_PKG_VERSION")))
            .connect_timeout(CONNECT_TIMEOUT)
            .read_timeout(READ_TIMEOUT)
    })
    .map_err(|error| CatalogError::Configuration { detail: format!("no HTTP client: {}", chain(&error)) })
}

/// The client for everything except npm's own settings. It is built on first use, because reading the system's
/// certificates takes more time and memory than the rest of a server's start.
#[derive(Debug, Clone, Default)]
pub(crate) struct LazyClient(Arc<OnceLock<reqwest::Client>>);

impl LazyClient {
    /// The client, or the reason why it cannot be built.
    pub(crate) fn get(&self) -> Result<&reqwest::Client, String> {
        if let Some(client) = self.0.get() {
            return Ok(client);
        }
        let client = client(&[]).map_err(|error| error.to_string())?;
        // Another thread may have stored an equivalent client in the meantime.
        Ok(self.0.get_or_init(|| client))
    }
}

/// Builds an HTTP client that trusts the system's certificates and `extra`.
///
/// A file system with nothing but the binary has no system certificates. Requests without `https` must still work
/// there, so the client then trusts `extra` alone, and connections to all other `https` servers fail.
///
/// # Errors
/// The client cannot be built for a reason other than missing certificates.
pub fn build_client(
    extra: Vec<reqwest::Certificate>,
    configure: impl Fn() -> reqwest::ClientBuilder,
) -> Result<reqwest::Client, reqwest::Error> {
    // Fails only when a provider is already installed, and any provider works.
    let _installed_before = rustls::crypto::ring::default_provider().install_default();
    configure().tls_certs_merge(extra.clone()).build().or_else(|error| {
        let client = configure().tls_certs_only(extra).build()?;
        tracing::info!(reason = chain(&error), "no system certificates; {TRUST}");
        Ok(client)
    })
}

/// Advice for a server whose certificate is not trusted.
const TRUST: &str = "for https, install ca-certificates or name a file of certificates in SSL_CERT_FILE";

/// An error with its causes on one line: reqwest's own text omits the cause.
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
    // The most likely reason is a machine without any certificates.
    if text.contains("UnknownIssuer") {
        text.push_str("; ");
        text.push_str(TRUST);
    }
    text
}
