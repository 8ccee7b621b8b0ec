//! Writing the head of an answer, as hyper would.

use std::cell::RefCell;
use std::io::Write;
use std::time::{Duration, Instant, SystemTime};

use http::{HeaderMap, StatusCode};

/// The first line.
pub(crate) fn write_status(output: &mut Vec<u8>, status: StatusCode) {
    let reason = status.canonical_reason().unwrap_or("<none>");
    // Writing to memory does not fail.
    let _ = write!(output, "HTTP/1.1 {} {reason}\r\n", status.as_str());
}

/// Headers as they stand.
pub(crate) fn write_headers(output: &mut Vec<u8>, headers: &HeaderMap) {
    for (name, value) in headers {
        output.extend_from_slice(name.as_str().as_bytes());
        output.extend_from_slice(b": ");
        output.extend_from_slice(value.as_bytes());
        output.extend_from_slice(b"\r\n");
    }
}

/// What every answer has, to the empty line.
pub(crate) fn write_end(output: &mut Vec<u8>, body_length: usize, is_last: bool, now: Instant) {
    if is_last {
        output.extend_from_slice(b"connection: close\r\n");
    }
    output.extend_from_slice(b"content-length: ");
    write_number(output, body_length);
    output.extend_from_slice(b"\r\ndate: ");
    write_date(output, now);
    output.extend_from_slice(b"\r\n\r\n");
}

/// By hand, since every answer needs one and formatting is made for more than that.
fn write_number(output: &mut Vec<u8>, mut number: usize) {
    let mut digits = [b'0'; 20];
    let mut start = digits.len();
    loop {
        start -= 1;
        // A digit always fits.
        digits[start] = b'0' + (number % 10) as u8;
        number /= 10;
        if number == 0 {
            break;
        }
    }
    output.extend_from_slice(&digits[start..]);
}

/// The present second, written once.
struct Second {
    text: [u8; 29],
    ends: Instant,
}

fn write_date(output: &mut Vec<u8>, now: Instant) {
    thread_local! {
        static SECOND: RefCell<Option<Second>> = const { RefCell::new(None) };
    }
    SECOND.with_borrow_mut(|second| match second {
        Some(second) if now < second.ends => output.extend_from_slice(&second.text),
        _ => output.extend_from_slice(&second.insert(Second::at(now)).text),
    });
}

impl Second {
    fn at(now: Instant) -> Self {
        let time = SystemTime::now();
        let since = time.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        let rest = Duration::from_secs(1).saturating_sub(Duration::from_nanos(since.subsec_nanos().into()));
        let mut text = [b' '; 29];
        // Its length is always the same.
        let _ = write!(&mut text[..], "{}", httpdate::HttpDate::from(time));
        Self { text, ends: now + rest }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_written_whole() {
        for number in [0, 7, 10, 4096, usize::MAX] {
            let mut output = Vec::new();
            write_number(&mut output, number);
            assert_eq!(String::from_utf8(output).unwrap(), number.to_string());
        }
    }

    #[test]
    fn the_date_is_that_of_the_second() {
        let (now, before) = (Instant::now(), SystemTime::now());
        let second = Second::at(now);
        let text = std::str::from_utf8(&second.text).unwrap();
        let date = httpdate::parse_http_date(text).unwrap();
        assert!(date <= SystemTime::now() && before < date + Duration::from_secs(2), "{text}");
        assert!(second.ends > now && second.ends <= now + Duration::from_secs(1));
    }

    #[test]
    fn a_head_ends_with_its_length_and_date() {
        let mut output = Vec::new();
        write_status(&mut output, StatusCode::ACCEPTED);
        write_headers(&mut output, &HeaderMap::from_iter([(http::header::VARY, "Origin".parse().unwrap())]));
        write_end(&mut output, 12, true, Instant::now());
        let text = String::from_utf8(output).unwrap();
        let (head, date) = text.split_once("date: ").unwrap();
        assert_eq!(
            head,
            "HTTP/1.1 202 Accepted\r\nvary: Origin\r\nconnection: close\r\ncontent-length: 12\r\n"
        );
        assert!(date.ends_with("GMT\r\n\r\n"), "{date}");
    }
}
