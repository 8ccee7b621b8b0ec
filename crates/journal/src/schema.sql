PRAGMA journal_mode = WAL;
PRAGMA synchronous = NORMAL;
PRAGMA cache_size = -256;
PRAGMA wal_autocheckpoint = 256;
PRAGMA journal_size_limit = 1048576;
PRAGMA foreign_keys = ON;

CREATE TABLE IF NOT EXISTS schema_version (
    version INTEGER NOT NULL
);
INSERT INTO schema_version SELECT 1 WHERE NOT EXISTS (SELECT * FROM schema_version);

CREATE TABLE IF NOT EXISTS streams (
    id INTEGER PRIMARY KEY,
    name TEXT NOT NULL,
    first_sequence INTEGER NOT NULL,
    label BLOB NOT NULL,
    is_closed INTEGER NOT NULL,
    first_order INTEGER NOT NULL,
    last_order INTEGER NOT NULL,
    oldest_sequence INTEGER NOT NULL,
    last_sequence INTEGER NOT NULL,
    last_is_numbered INTEGER NOT NULL,
    first_at_ms INTEGER NOT NULL,
    last_at_ms INTEGER NOT NULL,
    bytes INTEGER NOT NULL,
    UNIQUE (name, first_sequence)
);

CREATE TABLE IF NOT EXISTS segments (
    stream INTEGER NOT NULL REFERENCES streams (id) ON DELETE CASCADE,
    number INTEGER NOT NULL,
    bytes INTEGER NOT NULL,
    entries_at INTEGER NOT NULL,
    previous_order INTEGER NOT NULL,
    previous_sequence INTEGER NOT NULL,
    previous_is_numbered INTEGER NOT NULL,
    first_order INTEGER NOT NULL,
    last_order INTEGER NOT NULL,
    last_sequence INTEGER NOT NULL,
    last_is_numbered INTEGER NOT NULL,
    first_at_ms INTEGER NOT NULL,
    last_at_ms INTEGER NOT NULL,
    PRIMARY KEY (stream, number)
) WITHOUT ROWID;
