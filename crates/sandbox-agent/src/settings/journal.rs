//! The settings of the journal, in which the server keeps its events.

use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::{Args, ValueEnum};
use serde::Deserialize;

use super::file::ConfigFile;
use super::units::{ByteSize, TimeSpan};

/// What a write to the journal survives.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum JournalSync {
    /// Every crash; a power failure loses at most the last second.
    #[default]
    Second,
    /// Power failures too; every message waits for the disk.
    Full,
}

/// The flags of the journal.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Journal")]
pub(crate) struct JournalArguments {
    /// Directory where events are kept over restarts, or `off` [default: `journal` in the data directory]
    #[arg(long, env = "SANDBOX_AGENT_JOURNAL", value_name = "DIR|off")]
    pub(crate) journal: Option<PathBuf>,
    /// Maximum size of the journal [default: 1GiB]
    #[arg(long, env = "SANDBOX_AGENT_JOURNAL_BYTES", value_name = "SIZE")]
    pub(crate) journal_bytes: Option<ByteSize>,
    /// Maximum size of one instance's part of the journal [default: 256MiB]
    #[arg(long, env = "SANDBOX_AGENT_JOURNAL_INSTANCE_BYTES", value_name = "SIZE")]
    pub(crate) journal_instance_bytes: Option<ByteSize>,
    /// How long events are kept [default: 7d]
    #[arg(long, env = "SANDBOX_AGENT_JOURNAL_AGE", value_name = "TIME")]
    pub(crate) journal_age: Option<TimeSpan>,
    /// When events reach the disk: every second, or before they take effect [default: second]
    #[arg(long, env = "SANDBOX_AGENT_JOURNAL_SYNC")]
    pub(crate) journal_sync: Option<JournalSync>,
}

/// The resolved settings of the journal.
#[derive(Debug)]
pub(crate) struct JournalSettings {
    pub(crate) options: journal::Options,
    /// True if the directory was named. Then the server does not start without it.
    pub(crate) is_required: bool,
}

impl JournalSettings {
    /// Resolves the settings; `None` for a server without a journal.
    pub(super) fn resolve(given: &JournalArguments, file: &ConfigFile, data_dir: &Path) -> Option<Self> {
        let named = given.journal.clone().or(file.journal.clone());
        if named.as_deref() == Some(Path::new("off")) {
            return None;
        }
        let is_required = named.is_some();
        let mut options = journal::Options::new(named.unwrap_or_else(|| data_dir.join("journal")));
        let size = |given: Option<ByteSize>, file: Option<ByteSize>, default: u64| {
            given.or(file).map_or(default, |size| size.get() as u64)
        };
        options.max_bytes = size(given.journal_bytes, file.journal_bytes, options.max_bytes);
        options.max_bytes_per_stream = size(
            given.journal_instance_bytes,
            file.journal_instance_bytes,
            options.max_bytes_per_stream.min(options.max_bytes),
        );
        options.segment_bytes = journal::Options::usual_segment_bytes(options.max_bytes_per_stream);
        options.max_age = given.journal_age.or(file.journal_age).map_or(options.max_age, TimeSpan::get);
        if options.max_age.is_zero() {
            options.max_age = Duration::MAX;
        }
        options.sync = match given.journal_sync.or(file.journal_sync).unwrap_or_default() {
            JournalSync::Second => journal::SyncMode::EverySecond,
            JournalSync::Full => journal::SyncMode::Full,
        };
        Some(Self { options, is_required })
    }
}
