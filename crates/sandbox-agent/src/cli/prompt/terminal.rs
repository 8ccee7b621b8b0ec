//! The controlling terminal, for questions. It can be used even if the standard streams are pipes.

use std::fs::File;
use std::io::{BufRead, BufReader, Write};

use tokio::sync::mpsc;

use crate::cli::style::Colour;

/// The controlling terminal of this process.
#[derive(Debug)]
pub(super) struct Terminal {
    device: File,
    lines: Option<mpsc::UnboundedReceiver<String>>,
}

impl Terminal {
    /// `None` if there is no terminal, as in a service or in CI.
    pub(super) fn open() -> Option<Self> {
        let device = File::options().read(true).write(true).open("/dev/tty").ok()?;
        Some(Self { device, lines: None })
    }

    /// Whether text on the terminal may have colours.
    pub(super) fn colour(&self) -> Colour {
        Colour::of(&self.device)
    }

    /// Shows a new question. Lines that were typed before it are discarded.
    pub(super) fn show(&mut self, text: &str) {
        let lines = self.lines.get_or_insert_with(|| read_lines(&self.device));
        while lines.try_recv().is_ok() {}
        self.show_again(text);
    }

    /// Shows a question again after an invalid answer. Lines that were typed since are kept.
    pub(super) fn show_again(&mut self, text: &str) {
        // If the terminal is gone, `line` returns `None`.
        let _ = self.device.write_all(text.as_bytes()).and_then(|()| self.device.flush());
    }

    /// The next line; `None` when the terminal is gone or the user typed Ctrl-D.
    pub(super) async fn line(&mut self) -> Option<String> {
        match &mut self.lines {
            Some(lines) => lines.recv().await,
            None => None,
        }
    }
}

/// Reads lines in a separate thread, which ends with the process, because a read from a terminal cannot be cancelled.
fn read_lines(device: &File) -> mpsc::UnboundedReceiver<String> {
    let (sender, receiver) = mpsc::unbounded_channel();
    if let Ok(device) = device.try_clone() {
        std::thread::spawn(move || {
            for line in BufReader::new(device).lines() {
                let Ok(line) = line else { return };
                if sender.send(line).is_err() {
                    return;
                }
            }
        });
    }
    receiver
}
