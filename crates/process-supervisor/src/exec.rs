//! Executes a program file directly, without the standard library's fallback to a shell.
//!
//! The standard library executes programs with `execvp`, which runs a file with the shell if the kernel
//! cannot execute it. That is right for a script whose first line names no interpreter. But a program for
//! another processor would end with a syntax error from the shell; executed directly, it fails with the
//! kernel's own error.

use std::ffi::{CString, OsStr, c_char};
use std::io::{self, Read};
use std::os::unix::ffi::OsStrExt;

use crate::LaunchSpec;

/// A program file with the arguments and the environment to execute it with.
pub(crate) struct Executable {
    program: CString,
    /// Pointers into `_texts`, followed by a null pointer.
    arguments: Vec<*const c_char>,
    environment: Vec<*const c_char>,
    _texts: Vec<CString>,
}

// SAFETY: the pointers refer to strings that this value owns and that nothing changes.
#[allow(unsafe_code)]
unsafe impl Send for Executable {}
// SAFETY: see `Send`.
#[allow(unsafe_code)]
unsafe impl Sync for Executable {}

impl Executable {
    /// Prepares a program. `None` if the specification names a script, or a name to be looked up in `PATH`.
    pub(crate) fn of(spec: &LaunchSpec) -> Option<Self> {
        let is_path = spec.program.as_bytes().contains(&b'/');
        if !is_path || !is_compiled(&spec.program) {
            return None;
        }
        let program = CString::new(spec.program.as_bytes()).ok()?;
        let mut arguments = vec![program.clone()];
        for argument in &spec.arguments {
            arguments.push(CString::new(argument.as_bytes()).ok()?);
        }
        let mut environment = Vec::new();
        for (name, value) in &spec.environment {
            environment.push(CString::new([name.as_bytes(), b"=", value.as_bytes()].concat()).ok()?);
        }
        let pointers = |texts: &[CString]| {
            texts.iter().map(|text| text.as_ptr()).chain([std::ptr::null()]).collect::<Vec<_>>()
        };
        let (argument_pointers, environment_pointers) = (pointers(&arguments), pointers(&environment));
        arguments.append(&mut environment);
        Some(Self {
            program,
            arguments: argument_pointers,
            environment: environment_pointers,
            _texts: arguments,
        })
    }

    /// Replaces this process by the program. Returns only if that fails.
    pub(crate) fn execute(&self) -> io::Error {
        // SAFETY: both lists end with a null pointer, and everything they point to lives as long as this value.
        #[allow(unsafe_code)]
        unsafe {
            libc::execve(self.program.as_ptr(), self.arguments.as_ptr(), self.environment.as_ptr());
        }
        io::Error::last_os_error()
    }
}

/// True if the file begins like a compiled program.
fn is_compiled(program: &OsStr) -> bool {
    let mut start = [0; 4];
    let read = std::fs::File::open(program).and_then(|mut file| file.read_exact(&mut start));
    read.is_ok() && &start == b"\x7fELF"
}
