//! Sends an attack, and finds out how the server handles the connection after it.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpStream};
use std::time::{Duration, Instant};

use super::{
    ACK, END_HEADERS, END_STREAM, GOAWAY, HEADERS, INITIAL_WINDOW_SIZE, PING, PREFACE, SETTINGS, frame,
    request, setting,
};
use crate::wire::{PATIENCE, connect};

/// The content of the ping after an attack.
const LAST_PING: &[u8; 8] = b"chaosend";

/// How the server dealt with an attack.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ending {
    /// The server announced that it closes the connection.
    GoAway,
    /// The server answered the ping after the attack.
    Answered,
    /// The server closed the connection.
    Closed,
}

/// Sends the preface, the frames and a ping. `Err` says what the server failed to do.
///
/// If the frames are not `well_framed`, the ping may be lost in one of them, and the server may wait for the rest
/// of it. Then the connection is half closed, and the server has to close it.
pub(crate) fn attack(port: u16, frames: &[u8], well_framed: bool) -> Result<Ending, String> {
    let mut connection = connect(port).map_err(|error| format!("cannot connect: {error}"))?;
    let mut reader = connection.try_clone().map_err(|error| error.to_string())?;
    let start = [PREFACE, &frame(SETTINGS, 0, 0, &[])].concat();
    let sending = std::thread::spawn({
        let frames = frames.to_vec();
        move || {
            let ping = frame(PING, 0, 0, LAST_PING);
            // Writing fails as soon as the server has closed the connection.
            let sent = [&start, &frames, &ping].iter().try_for_each(|bytes| connection.write_all(bytes));
            if sent.is_ok() && !well_framed {
                let _ = connection.shutdown(Shutdown::Write);
            }
        }
    });
    let ending = read_ending(&mut reader);
    let _ = reader.shutdown(Shutdown::Both);
    sending.join().unwrap();
    ending
}

/// Reads frames until one of them, or the end of the connection, is the server's answer.
fn read_ending(connection: &mut impl Read) -> Result<Ending, String> {
    let deadline = Instant::now() + PATIENCE;
    let (mut received, mut buffer) = (Vec::new(), vec![0; 64 << 10]);
    loop {
        match connection.read(&mut buffer) {
            Ok(0) => return Ok(Ending::Closed),
            Ok(count) => received.extend_from_slice(&buffer[..count]),
            Err(error) if crate::wire::is_hang(&error) => {
                return Err("no answer to the ping, no GOAWAY, and the connection stays open".to_owned());
            }
            Err(_) => return Ok(Ending::Closed),
        }
        while let Some((kind, flags, payload, end)) = first_frame(&received) {
            match (kind, flags & ACK) {
                (GOAWAY, _) => return Ok(Ending::GoAway),
                (PING, ACK) if payload == LAST_PING => return Ok(Ending::Answered),
                _ => {}
            }
            received.drain(..end);
        }
        if Instant::now() > deadline {
            return Err(format!("only other frames for {:?}", Duration::from_secs(PATIENCE.as_secs())));
        }
    }
}

/// The kind, the flags and the payload of the first frame, and where the next one begins.
fn first_frame(bytes: &[u8]) -> Option<(u8, u8, &[u8], usize)> {
    let length =
        usize::from(*bytes.first()?) << 16 | usize::from(*bytes.get(1)?) << 8 | usize::from(*bytes.get(2)?);
    let payload = bytes.get(9..9 + length)?;
    Some((bytes[3], bytes[4], payload, 9 + length))
}

/// Opens as many streams of events as a connection may have, with windows of one byte, and waits until the server has
/// begun to answer all of them.
pub(crate) fn unread(port: u16, path: &str) -> std::io::Result<TcpStream> {
    const STREAMS: u32 = 100;
    let mut connection = connect(port)?;
    let block = request("GET", path);
    let requests: Vec<u8> = (0..STREAMS)
        .flat_map(|index| frame(HEADERS, END_HEADERS | END_STREAM, 2 * index + 1, &block))
        .collect();
    let window = frame(SETTINGS, 0, 0, &setting(INITIAL_WINDOW_SIZE, 1));
    connection.write_all(&[PREFACE, &window, &requests].concat())?;
    let (mut received, mut buffer, mut answered) = (Vec::new(), vec![0; 64 << 10], 0);
    while answered < STREAMS {
        let count = connection.read(&mut buffer)?;
        if count == 0 {
            return Err(std::io::ErrorKind::UnexpectedEof.into());
        }
        received.extend_from_slice(&buffer[..count]);
        while let Some((kind, _, _, end)) = first_frame(&received) {
            answered += u32::from(kind == HEADERS);
            received.drain(..end);
        }
    }
    Ok(connection)
}
