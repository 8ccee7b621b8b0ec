//! The path of this binary, which is needed to execute the binary again.
//!
//! `/proc/self/exe` still works after an upgrade has replaced the file, so it is used wherever `/proc` is mounted. A
//! root file system with nothing but the binary has no `/proc`; there, the path that the kernel executed is used.

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

/// The path with which this process can execute its own binary. `/proc/self/exe` means a different file in a process
/// that runs another program; a supervisor runs this same binary, so there it still names this binary.
#[must_use]
pub fn own_program() -> &'static Path {
    PROGRAM.get_or_init(|| if Path::new(LINK).exists() { LINK.into() } else { executed_path() })
}

/// The path that was executed. It is made absolute while the directory that it is relative to is still the current one.
fn executed_path() -> PathBuf {
    let path = kernels_word().or_else(|| std::env::args_os().next()).unwrap_or_default();
    std::path::absolute(&path).unwrap_or_else(|_| path.into())
}

fn kernels_word() -> Option<OsString> {
    use libc::{AT_EXECFN, getauxval};
    // SAFETY: the result is null or points to a NUL-terminated string that the kernel placed on this process's stack
    // and that lives as long as the process.
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
