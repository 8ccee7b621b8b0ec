//! Alternative parsers that the fuzz targets in `fuzz/` compare with the public one. Built only for fuzzing.

use crate::envelope::{Envelope, EnvelopeError, NotificationTemplate};

/// Reads a message without the fast scanner.
///
/// # Errors
/// See [`Envelope::parse`].
pub fn parse_slowly(text: &str) -> Result<Envelope, EnvelopeError> {
    Envelope::parse_slowly(text)
}

/// Reads the lines of one agent, as an instance does.
#[derive(Debug, Default)]
pub struct Template(NotificationTemplate);

impl Template {
    /// Reads one line: by comparison with the template if that is sufficient, else by parsing it in full.
    ///
    /// # Errors
    /// See [`Envelope::parse`].
    pub fn read(&mut self, line: &[u8]) -> Result<Envelope, EnvelopeError> {
        if self.0.covers(line) { Ok(Envelope::Notification) } else { self.0.parse(line) }
    }
}
