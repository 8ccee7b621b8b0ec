//! The counters of the file endpoints.

use metrics::{Counter, Exposition};

/// The bytes that the file endpoints have transferred, by operation.
#[derive(Debug, Default)]
pub(super) struct FileMetrics {
    pub(super) read: Counter,
    pub(super) written: Counter,
    pub(super) packed: Counter,
    pub(super) unpacked: Counter,
}

impl FileMetrics {
    pub(super) fn expose(&self, text: &mut Exposition) {
        text.counter(
            "sandbox_agent_file_bytes_total",
            "Bytes of files read and written, and of archives packed and unpacked, as transferred.",
        )
        .value(&[("operation", "read")], self.read.get())
        .value(&[("operation", "write")], self.written.get())
        .value(&[("operation", "pack")], self.packed.get())
        .value(&[("operation", "unpack")], self.unpacked.get());
    }
}
