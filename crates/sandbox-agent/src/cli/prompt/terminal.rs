//! The terminal behind the standard streams, for questions: there also when those are pipes.

use std::fs::File;
use std::io::{BufRead, BufReader, Write};

use tokio::sync::mpsc;

/// The terminal that this process belongs to.
#[derive(Debug)]
pub(super) struct Terminal {
    device: File,
    lines: Option<mpsc::UnboundedReceiver<String>>,
}

impl Terminal {
    /// None where there is none, such as in a service or a pipeline of a build machine.
    pub(super) fn open() -> Option<Self> {
        let device = File::options().read(true).write(true).open("/dev/tty").ok()?;
        Some(Self { device, lines: None })
    }

    /// Shows a new question. What was typed before it is not an answer to it.
    pub(super) fn show(&mut self, text: &str) {
        let lines = self.lines.get_or_insert_with(|| listen(&self.device));
        while lines.try_recv().is_ok() {}
        self.show_again(text);
    }

    /// Shows a question again whose answer was not understood; another one may be typed already.
    pub(super) fn show_again(&mut self, text: &str) {
        // A terminal that is gone answers nothing either, which `line` tells.
        let _ = self.device.write_all(text.as_bytes()).and_then(|()| self.device.flush());
    }

    /// The next line; none when the terminal is gone or its user typed Ctrl-D.
    pub(super) async fn line(&mut self) -> Option<String> {
        match &mut self.lines {
            Some(lines) => lines.recv().await,
            None => None,
        }
    }
}

/// Reads lines in a thread of its own, which ends with the process: nothing else can be waited for beside a terminal.
fn listen(device: &File) -> mpsc::UnboundedReceiver<String> {
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
