//! Archives with arbitrary names and types, as an attacker would write them.

use std::io::Write;

/// Builds a tar archive.
#[derive(Debug, Default)]
pub struct Tar(Vec<u8>);

impl Tar {
    pub fn file(self, name: &str, content: &[u8]) -> Self {
        self.entry(name, b'0', "", content)
    }

    pub fn directory(self, name: &str) -> Self {
        self.entry(name, b'5', "", b"")
    }

    pub fn symlink(self, name: &str, target: &str) -> Self {
        self.entry(name, b'2', target, b"")
    }

    pub fn hard_link(self, name: &str, target: &str) -> Self {
        self.entry(name, b'1', target, b"")
    }

    /// Adds any kind of entry, in the ustar format.
    pub fn entry(mut self, name: &str, kind: u8, link: &str, content: &[u8]) -> Self {
        let mut header = [0; 512];
        let mut put = |at: usize, bytes: &[u8]| header[at..at + bytes.len()].copy_from_slice(bytes);
        put(0, name.as_bytes());
        // Without the execute bits, only root could enter the directory.
        put(100, if kind == b'5' { b"0000755\0" } else { b"0000644\0" });
        put(108, b"0000000\0");
        put(116, b"0000000\0");
        put(124, format!("{:011o}\0", content.len()).as_bytes());
        put(136, b"00000000000\0");
        put(148, b"        ");
        put(156, &[kind]);
        put(157, link.as_bytes());
        put(257, b"ustar\x0000");
        let sum: u32 = header.iter().map(|byte| u32::from(*byte)).sum();
        header[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
        self.0.extend_from_slice(&header);
        self.0.extend_from_slice(content);
        self.0.resize(self.0.len().next_multiple_of(512), 0);
        self
    }

    /// The complete archive with its end marker.
    pub fn bytes(mut self) -> Vec<u8> {
        self.0.resize(self.0.len() + 1024, 0);
        self.0
    }
}

pub fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

pub fn zstd(bytes: &[u8]) -> Vec<u8> {
    zstd::encode_all(bytes, 1).unwrap()
}
