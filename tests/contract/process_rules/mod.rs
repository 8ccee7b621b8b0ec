//! One process per id. Its whole tree is ended and reaped, whatever ends first.

mod exit;
mod idle;
mod orphans;

/// These need process namespaces of their own, so they run in `make test-builds`.
mod privileged {
    mod init;
}
