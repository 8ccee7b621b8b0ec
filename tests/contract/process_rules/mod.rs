//! One process per id, its whole tree ended and reaped, whatever ends first.

mod exit;
mod idle;
mod orphans;

/// In a process namespace of their own, so these are in `make test-builds`.
mod privileged {
    mod init;
}
