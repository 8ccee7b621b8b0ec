//! The HTTP client for registries and archives: proxies and certificates as the machine has them.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use crate::error::CatalogError;

/// A download that sends nothing for this long is given up.
const READ_TIMEOUT: Duration = Duration::from_secs(60);
const CONNECT_TIMEOUT: Duration = Duration::from_secs(15);

/// Builds a client. `certificates` are PEM files' contents to trust besides the system's.
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

/// The client for everything but npm's own settings, made when it is first needed: reading the system's certificates
/// takes longer and more memory than the rest of a server's start.
#[derive(Debug, Clone, Default)]
pub(crate) struct LazyClient(Arc<OnceLock<reqwest::Client>>);

impl LazyClient {
    /// The client, or why there is none.
    pub(crate) fn get(&self) -> Result<&reqwest::Client, String> {
        if let Some(client) = self.0.get() {
            return Ok(client);
        }
        let client = client(&[]).map_err(|error| error.to_string())?;
        // Whoever was faster has made the same.
        Ok(self.0.get_or_init(|| client))
    }
}

/// An HTTP client that trusts what the system trusts, and `extra` besides.
///
/// A root with nothing but the binary in it has no certificates. That must stop nothing that does without `https`,
/// so such a client trusts `extra` alone, and every other server is refused when it is asked.
///
/// # Errors
/// The client cannot be built for another reason.
pub fn build_client(
    extra: Vec<reqwest::Certificate>,
    configure: impl Fn() -> reqwest::ClientBuilder,
) -> Result<reqwest::Client, reqwest::Error> {
    // Fails only when a provider is installed already, which is just as good.
    let _installed_before = rustls::crypto::ring::default_provider().install_default();
    configure().tls_certs_merge(extra.clone()).build().or_else(|error| {
        let client = configure().tls_certs_only(extra).build()?;
        tracing::info!(reason = chain(&error), "no system certificates; {TRUST}");
        Ok(client)
    })
}

/// What to do about a server that is not trusted.
const TRUST: &str = "for https, install ca-certificates or name a file of certificates in SSL_CERT_FILE";

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
    // The usual reason is a machine without any certificates.
    if text.contains("UnknownIssuer") {
        text.push_str("; ");
        text.push_str(TRUST);
    }
    text
}
