//! Parsers that `fuzz/` calls and that are not public otherwise. Built only for fuzzing.

use crate::{Manifest, PackageName, RegistryDocument};

/// Reads a document of the ACP registry.
///
/// # Errors
/// Says why the bytes are not a registry document.
pub fn parse_registry(bytes: &[u8]) -> Result<RegistryDocument, String> {
    RegistryDocument::parse(bytes)
}

/// Reads a manifest.
///
/// # Errors
/// Says why the text is not a manifest.
pub fn parse_manifest(text: &str) -> Result<Manifest, String> {
    Manifest::parse(text).map_err(|error| error.to_string())
}

/// The name of a package without scope or extras.
#[must_use]
pub fn short_name(package: &PackageName) -> &str {
    package.short_name()
}
