//! The last lines of a stream in bounded memory, for failure reports about a tool's output.

use std::collections::VecDeque;

const MAX_LINES: usize = 40;
const MAX_LINE_BYTES: usize = 400;

/// Keeps the last lines of the pushed bytes.
#[derive(Debug, Default)]
pub(crate) struct Tail {
    lines: VecDeque<String>,
    partial: Vec<u8>,
}

impl Tail {
    pub(crate) fn push(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            // Progress bars redraw with carriage returns, so a carriage return ends a line too.
            if byte == b'\n' || byte == b'\r' {
                self.end_line();
            } else if self.partial.len() < MAX_LINE_BYTES {
                self.partial.push(byte);
            }
        }
    }

    fn end_line(&mut self) {
        let line = String::from_utf8_lossy(&self.partial).trim_end().to_owned();
        self.partial.clear();
        if line.is_empty() {
            return;
        }
        if self.lines.len() == MAX_LINES {
            self.lines.pop_front();
        }
        self.lines.push_back(line);
    }

    pub(crate) fn text(&mut self) -> String {
        self.end_line();
        self.lines.make_contiguous().join("\n")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_last_lines_stay_and_long_ones_are_cut() {
        let mut tail = Tail::default();
        for number in 0..100 {
            tail.push(format!("line {number}\r\n").as_bytes());
        }
        tail.push(&vec![b'x'; 10_000]);
        let text = tail.text();
        assert_eq!(text.lines().count(), MAX_LINES);
        assert!(text.starts_with("line 61"));
        assert_eq!(text.lines().last().unwrap().len(), MAX_LINE_BYTES);
    }
}
