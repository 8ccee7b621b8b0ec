//! One process per id, its whole tree ended and reaped, whatever ends first.

mod exit;
mod idle;
mod init;
mod orphans;
