//! Readers that cut, stall and resume.

use std::io::{Read, Result};
use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use test_harness::rpc::notification;

use super::messages::post;
use crate::events::{EventStream, Opened};
use crate::order::{Position, View};
use crate::random::Random;
use crate::round::{CALM, ROUGH, ROUGH_CODES, Round};
use crate::wire::Ask;

/// A reader over several connections: each resumes where the last one was cut.
struct Reader {
    server_id: &'static str,
    view: View,
    position: Position,
    /// How many events are read before each cut. The last connection is read to its end.
    cuts: Vec<u64>,
    /// The pause in the middle of a connection.
    stall: Duration,
}

/// Follows an instance or all of them, and checks every event.
pub(super) fn follow(round: &Arc<Round>, random: &mut Random) {
    let server_id = if random.one_in(2) { *random.pick(&CALM) } else { *random.pick(&ROUGH) };
    let view = random.weighted(&[(5, View::Messages), (3, View::Journal), (2, View::Many)]);
    let cuts: Vec<u64> = (0..random.size(0..5)).map(|_| random.number(1..200)).collect();
    let stall = Duration::from_millis(random.number(0..400));
    round.note(format!("follow {server_id} as {view:?}, cut after {cuts:?}"));
    let reader = Reader { server_id, view, position: Position::new(view), cuts, stall };
    let task = Arc::clone(round);
    round.tasks.start(round.fresh(), format!("a reader of {server_id} as {view:?}"), move || {
        if let Err(error) = reader.run(&task)
            && !task.is_over()
        {
            task.failed("a stream", &error);
        }
    });
}

impl Reader {
    fn run(mut self, round: &Round) -> Result<()> {
        for cut in self.cuts.clone() {
            if self.read(round, cut)? {
                return Ok(());
            }
        }
        self.read(round, u64::MAX).map(drop)
    }

    fn request(&self) -> Ask {
        let target = match self.view {
            View::Messages => format!("/v1/acp/{}", self.server_id),
            View::Journal => format!("/v1/acp/{}?view=journal", self.server_id),
            View::Many => "/v1/acp?view=journal".to_owned(),
        };
        Ask::new("GET", target)
            .header("Accept", "text/event-stream")
            .header("Last-Event-ID", self.position.cursor())
    }

    /// Reads one connection. True when there is nothing more to read.
    fn read(&mut self, round: &Round, count: u64) -> Result<bool> {
        let mut events = match EventStream::open(&self.request(), round.port)? {
            Opened::Stream(events) => events,
            Opened::Refused(answer) => {
                round.check("a stream", answer, &[204], &["unknown_server", "instance_closing"]);
                return Ok(true);
            }
        };
        // A stream of all instances does not end with any of them.
        if self.view == View::Many {
            round.hold(events.connection().try_clone()?);
        }
        self.position.resume();
        for index in 0..count {
            if index == count / 2 {
                std::thread::sleep(self.stall);
            }
            let Some(event) = events.next()? else {
                if let Err(rule) = self.position.end()
                    && !round.is_stopping()
                {
                    self.broken(round, &rule);
                }
                return Ok(true);
            };
            match self.position.receive(&event) {
                Err(rule) => {
                    self.broken(round, &rule);
                    return Ok(true);
                }
                Ok(Some((instance, number))) => {
                    let instance = instance.unwrap_or_else(|| self.server_id.to_owned());
                    round.check_content((Some(instance), number), &event);
                }
                Ok(None) => {}
            }
        }
        Ok(false)
    }

    fn broken(&self, round: &Round, rule: &str) {
        round.violated(format!("a reader of {} as {:?}: {rule}", self.server_id, self.view));
    }
}

/// A reader that reads nothing, or only a few bytes at long intervals, until the end of the round.
pub(super) fn stall(round: &Arc<Round>, random: &mut Random) {
    let target = match random.number(0..3) {
        0 => "/v1/acp".to_owned(),
        1 => format!("/v1/acp/{}", random.pick(&ROUGH)),
        _ => format!("/v1/acp/{}", random.pick(&CALM)),
    };
    round.note(format!("a stalled reader of {target}"));
    let ask = Ask::new("GET", target).header("Accept", "text/event-stream");
    let Ok(mut connection) = ask.write(round.port) else { return };
    if random.one_in(2) {
        let _ = connection.read(&mut [0; 100]);
    }
    round.hold(connection);
}

/// Many readers, each of which stalls in the middle of another large message.
pub(super) fn crowd(round: &Arc<Round>, random: &mut Random) {
    let server_id = *random.pick(&ROUGH);
    let (count, bytes) = (random.number(2..16), random.number(500_000..4_000_000));
    round.note(format!("{count} readers of {server_id} stall in messages of {bytes} bytes"));
    let target =
        if random.one_in(4) { "/v1/acp".to_owned() } else { format!("/v1/acp/{server_id}?replay=none") };
    for _ in 0..count {
        let ask = Ask::new("GET", target.as_str()).header("Accept", "text/event-stream");
        let Ok(mut connection) = ask.write(round.port) else { return };
        // The stream's head has arrived, so the reader receives the next message.
        let _ = connection.read(&mut [0; 400]);
        round.hold(connection);
        let message = notification("emit", json!({"method": "crowd", "count": 1, "bytes": bytes}));
        if round.ask(&post(server_id, message), &[202], ROUGH_CODES).is_none() {
            return;
        }
    }
}
