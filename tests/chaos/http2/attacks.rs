//! Sequences of frames that attack the server.

use super::{
    ACK, CONTINUATION, DATA, END_HEADERS, END_STREAM, HEADERS, INITIAL_WINDOW_SIZE, PING, PRIORITY,
    RST_STREAM, SETTINGS, WINDOW_UPDATE, frame, literal, request, setting,
};
use crate::random::Random;

const CANCEL: [u8; 4] = 8_u32.to_be_bytes();

/// The frames of an attack, which are sent after the preface.
pub(crate) struct Attack {
    pub(crate) name: &'static str,
    /// Makes the frames; the number says how many.
    pub(crate) make: fn(&mut Random, u32) -> Vec<u8>,
    /// False if the frames may end in the middle of one.
    pub(crate) well_framed: bool,
}

const fn well_framed(name: &'static str, make: fn(&mut Random, u32) -> Vec<u8>) -> Attack {
    Attack { name, make, well_framed: true }
}

/// All attacks.
pub(crate) const ATTACKS: &[Attack] = &[
    well_framed("random frames", random_frames),
    Attack { name: "a conversation with wrong bytes", make: mutated, well_framed: false },
    well_framed("settings", |_, count| repeat(count, |_| frame(SETTINGS, 0, 0, &setting(3, 100)))),
    well_framed("acknowledged settings", |_, count| repeat(count, |_| frame(SETTINGS, ACK, 0, &[]))),
    well_framed("pings", |random, count| repeat(count, |_| frame(PING, 0, 0, &random.bytes(8)))),
    well_framed("rapid resets of streams", |_, count| rapid_reset(count, "GET", "/v1/acp/calm-0")),
    well_framed("rapid resets of requests", |_, count| rapid_reset(count, "GET", "/v1/agents")),
    well_framed("rapid resets of uploads", |_, count| rapid_reset(count, "PUT", "/v1/fs/file?path=half")),
    well_framed("resets of streams that never were", |_, count| {
        repeat(count, |index| frame(RST_STREAM, 0, 2 * index + 1, &CANCEL))
    }),
    well_framed("priorities", |random, count| {
        repeat(count, |index| frame(PRIORITY, 0, 2 * index + 1, &random.bytes(5)))
    }),
    well_framed("continuations", continuations),
    well_framed("empty continuations", |_, count| {
        let start = frame(HEADERS, END_STREAM, 1, &request("GET", "/v1/health"));
        [start, repeat(count, |_| frame(CONTINUATION, 0, 1, &[]))].concat()
    }),
    well_framed("empty data", |_, count| {
        let start = frame(HEADERS, END_HEADERS, 1, &request("POST", "/v1/acp/calm-0"));
        [start, repeat(count, |_| frame(DATA, 0, 1, &[]))].concat()
    }),
    well_framed("padding", |_, count| {
        const PADDED: u8 = 8;
        let start = frame(HEADERS, END_HEADERS, 1, &request("POST", "/v1/acp/calm-0"));
        let padding = [&[255][..], &[0; 255]].concat();
        [start, repeat(count, |_| frame(DATA, PADDED, 1, &padding))].concat()
    }),
    well_framed("a window that overflows", |_, count| {
        repeat(count, |_| frame(WINDOW_UPDATE, 0, 0, &0x7fff_ffff_u32.to_be_bytes()))
    }),
    well_framed("small windows", |_, count| {
        repeat(count, |_| frame(WINDOW_UPDATE, 0, 0, &1_u32.to_be_bytes()))
    }),
    well_framed("windows that close and open", closing_windows),
    well_framed("streams that nobody reads", unread_streams),
    well_framed("heads that grow when they are unpacked", compressed_heads),
    well_framed("bodies that nobody asked for", |_, count| {
        let body = vec![b' '; 16_000];
        repeat(count.min(300), |index| {
            let stream = 2 * index + 1;
            [
                frame(HEADERS, END_HEADERS, stream, &request("POST", "/v1/health")),
                frame(DATA, 0, stream, &body),
            ]
            .concat()
        })
    }),
];

fn repeat(count: u32, make: impl FnMut(u32) -> Vec<u8>) -> Vec<u8> {
    (0..count).flat_map(make).collect()
}

fn random_frames(random: &mut Random, count: u32) -> Vec<u8> {
    repeat(count.min(200), |_| {
        let kind = u8::try_from(random.number(0..12)).unwrap();
        let flags = *random.pick(&[0, 1, 4, 5, 8, 13, 0x20, 0xff]);
        let stream = *random.pick(&[0, 1, 1, 2, 3, 5, 7, 0x7fff_ffff]);
        let size = random.size(0..60);
        let payload = match random.number(0..3) {
            0 => request("GET", "/v1/health"),
            1 => vec![0; *random.pick(&[0, 4, 5, 6, 8, 17])],
            _ => random.bytes(size),
        };
        frame(kind, flags, stream, &payload)
    })
}

/// Requests and bodies of a proper client, with a few bytes replaced, removed or repeated.
fn mutated(random: &mut Random, count: u32) -> Vec<u8> {
    let mut bytes = repeat(count.min(40), |index| {
        let stream = 2 * index + 1;
        let block = request("POST", "/v1/acp/calm-0");
        let body = format!(r#"{{"jsonrpc":"2.0","method":"mutated-{index}"}}"#);
        let head = frame(HEADERS, END_HEADERS, stream, &block);
        [head, frame(DATA, END_STREAM, stream, body.as_bytes())].concat()
    });
    for _ in 0..random.size(1..8) {
        let at = random.size(0..bytes.len());
        match random.number(0..3) {
            0 => bytes[at] = random.bytes(1)[0],
            1 => drop(bytes.remove(at)),
            _ => bytes.insert(at, bytes[at]),
        }
    }
    bytes
}

fn rapid_reset(count: u32, method: &str, path: &str) -> Vec<u8> {
    let block = request(method, path);
    repeat(count, |index| {
        let stream = 2 * index + 1;
        [frame(HEADERS, END_HEADERS, stream, &block), frame(RST_STREAM, 0, stream, &CANCEL)].concat()
    })
}

fn continuations(_: &mut Random, count: u32) -> Vec<u8> {
    let start = frame(HEADERS, END_STREAM, 1, &request("GET", "/v1/health"));
    let more = literal("x-filler", &"x".repeat(1000));
    [start, repeat(count, |_| frame(CONTINUATION, 0, 1, &more))].concat()
}

/// Streams of events whose windows the client takes away and gives back.
fn closing_windows(random: &mut Random, count: u32) -> Vec<u8> {
    let open = repeat(50, |index| {
        let block = request("GET", "/v1/acp/calm-0");
        frame(HEADERS, END_HEADERS | END_STREAM, 2 * index + 1, &block)
    });
    let sizes = repeat(count, |_| {
        let size = *random.pick(&[0, 1, 100, 65_535, 0x7fff_ffff]);
        frame(SETTINGS, 0, 0, &setting(INITIAL_WINDOW_SIZE, size))
    });
    [open, sizes].concat()
}

/// More streams of events than a connection may have, none of which the client has a window for.
fn unread_streams(_: &mut Random, count: u32) -> Vec<u8> {
    let closed = frame(SETTINGS, 0, 0, &setting(INITIAL_WINDOW_SIZE, 0));
    let block = request("GET", "/v1/acp/calm-1");
    let open =
        repeat(count.min(300), |index| frame(HEADERS, END_HEADERS | END_STREAM, 2 * index + 1, &block));
    [closed, open].concat()
}

/// One field of 4,000 bytes that is added to the compression table and then repeated by its number, one byte each.
fn compressed_heads(_: &mut Random, count: u32) -> Vec<u8> {
    const ADDED: u8 = 0x40;
    const FIRST_IN_TABLE: u8 = 0x80 | 62;
    repeat(count.min(40), |index| {
        let mut block = request("GET", "/v1/health");
        let mut field = literal("x-filler", &"x".repeat(4000));
        field[0] = ADDED;
        block.extend_from_slice(&field);
        block.extend(std::iter::repeat_n(FIRST_IN_TABLE, 8000));
        frame(HEADERS, END_HEADERS | END_STREAM, 2 * index + 1, &block)
    })
}
