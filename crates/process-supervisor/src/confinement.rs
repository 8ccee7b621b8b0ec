//! Prevents agents from sending signals to processes that they did not start.
//!
//! An agent usually runs as the same user as its supervisor and the server, so the kernel lets it stop or kill
//! both. A Landlock domain that scopes signals forbids that without privileges, from Linux 6.12 on. A domain also
//! hides the environment and the memory of processes outside of it. It restricts neither files nor the network.

use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::sync::OnceLock;

use rustix::io::Errno;

/// The processes that a launched program may send signals to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Confinement {
    /// Only its own descendants, if the kernel can enforce that. Unless the program runs with `CAP_SYS_ADMIN`, it
    /// also cannot gain privileges: set-user-ID programs such as sudo run without them.
    #[default]
    Signals,
    /// All processes that the program's user may send signals to.
    Off,
}

static CONFINEMENT: OnceLock<Confinement> = OnceLock::new();

impl Confinement {
    /// Sets the confinement of everything that this process launches. Must be called before the first launch; only
    /// the first call has an effect.
    pub fn set_for_all(self) {
        let _ = CONFINEMENT.set(self);
    }

    /// Whether this kernel can enforce [`Confinement::Signals`].
    #[must_use]
    pub fn is_supported() -> bool {
        Domain::prepare().is_some()
    }

    /// True if the programs that this process launches are confined.
    pub(crate) fn is_enforced() -> bool {
        static IS_ENFORCED: OnceLock<bool> = OnceLock::new();
        *IS_ENFORCED.get_or_init(|| Self::of_this_process() == Self::Signals && Self::is_supported())
    }

    /// The confinement of the programs that this process launches, whether or not the kernel can enforce it.
    pub(crate) fn of_this_process() -> Self {
        CONFINEMENT.get().copied().unwrap_or_default()
    }

    /// The argument with which the server passes the setting to a supervisor.
    pub(crate) const fn argument(self) -> &'static str {
        match self {
            Self::Signals => "signals",
            Self::Off => "off",
        }
    }

    pub(crate) fn of_argument(argument: Option<&std::ffi::OsStr>) -> Self {
        if argument.is_some_and(|text| text == Self::Off.argument()) { Self::Off } else { Self::Signals }
    }

    /// A domain for a program. `None` if the program should not be confined, or the kernel cannot confine it.
    pub(crate) fn domain(self) -> Option<Domain> {
        match self {
            Self::Signals => Domain::prepare(),
            Self::Off => None,
        }
    }
}

/// `LANDLOCK_SCOPE_SIGNAL`.
const SCOPE_SIGNAL: u64 = 1 << 1;

/// `struct landlock_ruleset_attr`.
#[repr(C)]
struct RulesetAttributes {
    handled_access_fs: u64,
    handled_access_net: u64,
    scoped: u64,
}

/// A Landlock domain that a process can enter.
pub(crate) struct Domain(OwnedFd);

impl Domain {
    /// Prepares a domain. `None` if the kernel has no Landlock, or an older version, which does not know this scope.
    fn prepare() -> Option<Self> {
        let attributes =
            RulesetAttributes { handled_access_fs: 0, handled_access_net: 0, scoped: SCOPE_SIGNAL };
        // SAFETY: the kernel reads the attributes, whose size is given. The result is an error or a new descriptor,
        // which then belongs to this value alone. The kernel closes it on exec.
        #[allow(unsafe_code)]
        unsafe {
            let (attributes, flags) = (&raw const attributes, 0_u32);
            let size = size_of::<RulesetAttributes>();
            let descriptor = libc::syscall(libc::SYS_landlock_create_ruleset, attributes, size, flags);
            let descriptor = i32::try_from(descriptor).ok().filter(|descriptor| *descriptor >= 0)?;
            Some(Self(OwnedFd::from_raw_fd(descriptor)))
        }
    }

    /// Moves this thread into the domain, which neither it nor any process that it starts can leave. Makes system
    /// calls only, so it is safe between fork and exec.
    pub(crate) fn enter(&self) -> io::Result<()> {
        match self.restrict() {
            // Without CAP_SYS_ADMIN, the kernel requires `no_new_privs` first, so that a set-user-ID program never
            // runs in a domain that it does not expect.
            Err(error) if error.raw_os_error() == Some(Errno::PERM.raw_os_error()) => {
                rustix::thread::set_no_new_privs(true)?;
                self.restrict()
            }
            result => result,
        }
    }

    fn restrict(&self) -> io::Result<()> {
        let flags = 0_u32;
        // SAFETY: the call takes numbers only, and the descriptor is open.
        #[allow(unsafe_code)]
        let entered = unsafe { libc::syscall(libc::SYS_landlock_restrict_self, self.0.as_raw_fd(), flags) };
        if entered == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The version of Landlock that the kernel reports, 0 if it has none.
    fn version() -> i64 {
        let (flags, size, attributes) = (1_u32, 0_usize, std::ptr::null::<RulesetAttributes>());
        // SAFETY: with this flag the kernel reads no attributes and returns a number.
        #[allow(unsafe_code)]
        let version = unsafe { libc::syscall(libc::SYS_landlock_create_ruleset, attributes, size, flags) };
        version.max(0)
    }

    #[test]
    fn signals_can_be_confined_exactly_if_landlock_has_version_6() {
        assert_eq!(Confinement::is_supported(), version() >= 6);
    }

    #[test]
    fn a_supervisor_understands_its_argument_and_confines_without_one() {
        for confinement in [Confinement::Signals, Confinement::Off] {
            assert_eq!(Confinement::of_argument(Some(confinement.argument().as_ref())), confinement);
        }
        assert_eq!(Confinement::of_argument(None), Confinement::Signals);
    }
}
