//! This very binary, to be executed again.
//!
//! `/proc/self/exe` still works after the file was replaced by an upgrade, so it is what is used wherever there is a
//! `/proc`. A root that holds nothing but the binary has none; there the path that the kernel executed has to do.

use std::ffi::{CStr, OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

const LINK: &str = "/proc/self/exe";

static PROGRAM: OnceLock<PathBuf> = OnceLock::new();

/// Makes [`crate::launch`] execute `program` as its supervisor instead of this binary. For tests, whose `main` is not
/// their own. Must be called before the first launch.
pub fn set_supervisor_program(program: impl Into<PathBuf>) {
    let _ = PROGRAM.set(program.into());
}

/// The path to execute this binary by. In another process only the path without `/proc` means the same; a supervisor
/// is this binary too, so what it executes by this path is this binary as well.
#[must_use]
pub fn own_program() -> &'static Path {
    PROGRAM.get_or_init(|| if Path::new(LINK).exists() { LINK.into() } else { executed_path() })
}

/// The path that was executed, made absolute while the directory it was relative to is still the current one.
fn executed_path() -> PathBuf {
    let path = kernels_word().or_else(|| std::env::args_os().next()).unwrap_or_default();
    std::path::absolute(&path).unwrap_or_else(|_| path.into())
}

fn kernels_word() -> Option<OsString> {
    use libc::{AT_EXECFN, getauxval};
    // SAFETY: the kernel leaves a terminated string on this process's stack for as long as it lives, or no pointer.
    #[allow(unsafe_code)]
    let path = unsafe {
        let pointer = getauxval(AT_EXECFN) as *const std::ffi::c_char;
        if pointer.is_null() { None } else { Some(CStr::from_ptr(pointer)) }
    };
    path.map(|path| OsStr::from_bytes(path.to_bytes()).to_owned())
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test that cannot go on should panic")]
mod tests {
    use super::*;

    #[test]
    fn both_paths_lead_to_this_binary() {
        let executed = executed_path();
        assert!(executed.is_absolute());
        assert_eq!(executed.canonicalize().unwrap(), own_program().canonicalize().unwrap());
    }
}
