//! One process per server id. Its whole process tree is ended and reaped, whichever process ends first.

mod confinement;
mod exit;
mod hostile;
mod idle;
mod orphans;

/// These tests need process namespaces of their own, so they run in `make test-builds`.
mod privileged {
    mod init;
    mod still_running;
}
