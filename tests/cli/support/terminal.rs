//! Runs a command on a pseudo-terminal, reads what it shows, and presses keys.

use std::fs::File;
use std::io::{Read, Write};
use std::process::{Child, Stdio};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use rustix::fs::{Mode, OFlags};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};

use super::Place;
use test_harness::eventually;

const TIMEOUT: Duration = Duration::from_secs(60);

/// A terminal with a command on it.
pub(crate) struct Terminal {
    child: Child,
    keyboard: File,
    screen: Arc<Mutex<Vec<u8>>>,
    /// Reads the output to its end.
    reader: JoinHandle<()>,
}

impl Terminal {
    /// Starts a command on a new terminal, which is also its controlling terminal.
    pub(crate) fn start(place: &Place, arguments: &[&str]) -> Self {
        Self::start_with_output(place, arguments, None)
    }

    /// Like [`Terminal::start`], with standard output redirected.
    pub(crate) fn start_with_output(place: &Place, arguments: &[&str], output: Option<File>) -> Self {
        let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC).unwrap();
        grantpt(&master).unwrap();
        unlockpt(&master).unwrap();
        let name = ptsname(&master, Vec::new()).unwrap();
        let side = || {
            let flags = OFlags::RDWR | OFlags::NOCTTY | OFlags::CLOEXEC;
            Stdio::from(rustix::fs::open(name.as_c_str(), flags, Mode::empty()).unwrap())
        };
        let mut command = place.command_under(&["setsid", "--ctty"], arguments);
        command.stdin(side()).stderr(side());
        command.stdout(output.map_or_else(side, Stdio::from));
        let child = command.spawn().unwrap();
        // Close this process's copies of the terminal's far side. When the command has exited, no copy is left, and the
        // reader gets the end of the output.
        drop(command);
        let keyboard = File::from(master);
        let mut display = keyboard.try_clone().unwrap();
        let screen = Arc::new(Mutex::new(Vec::new()));
        let shown = Arc::clone(&screen);
        let reader = std::thread::spawn(move || {
            let mut bytes = [0; 4096];
            while let Ok(count @ 1..) = display.read(&mut bytes) {
                shown.lock().unwrap().extend_from_slice(&bytes[..count]);
            }
        });
        Self { child, keyboard, screen, reader }
    }

    /// All output so far, with Unix line endings.
    pub(crate) fn screen(&self) -> String {
        String::from_utf8_lossy(&self.screen.lock().unwrap()).replace("\r\n", "\n")
    }

    /// Waits until this text is shown.
    #[track_caller]
    pub(crate) fn wait_for(&self, words: &str) {
        let deadline = Instant::now() + TIMEOUT;
        while !self.screen().contains(words) {
            assert!(Instant::now() < deadline, "`{words}` was not shown: {}", self.screen());
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    pub(crate) fn press(&mut self, keys: &str) {
        self.keyboard.write_all(keys.as_bytes()).unwrap();
    }

    pub(crate) fn press_ctrl_c(&mut self) {
        self.press("\x03");
    }

    /// Waits until the command exits; returns its exit code and all output.
    #[track_caller]
    pub(crate) fn end(mut self) -> (Option<i32>, String) {
        let status = eventually(&format!("the command ends; it shows {}", self.screen()), || {
            self.child.try_wait().unwrap()
        });
        // The last output may not have arrived yet. The reader finishes when all processes have closed the terminal.
        eventually("all that was shown is read", || self.reader.is_finished().then_some(()));
        (status.code(), self.screen())
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
