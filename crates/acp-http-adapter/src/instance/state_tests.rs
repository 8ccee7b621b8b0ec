use std::sync::atomic::AtomicU64;

use http::HeaderMap;
use process_supervisor::Exit;
use tokio::sync::Semaphore;

use super::*;
use crate::idempotency::KeyText;
use crate::log::Framer;

struct Bench {
    state: State,
    budget: Arc<MemoryBudget>,
    room: Arc<Semaphore>,
}

impl Bench {
    fn new(limits: &Limits) -> Self {
        let budget = MemoryBudget::new(limits.memory_budget);
        let log = EventLog::new(100, Arc::new(AtomicU64::new(1)), Arc::clone(&budget), limits);
        let mut state = State::new(log, Arc::clone(&budget), limits);
        state.started(1).deliver();
        Self { state, budget, room: Arc::new(Semaphore::new(1000)) }
    }

    fn send_with(&mut self, json: &str, delivery: Delivery, key: Option<&str>) -> Result<Admission, Problem> {
        let headers: HeaderMap =
            key.map(|key| ("idempotency-key".parse().unwrap(), key.parse().unwrap())).into_iter().collect();
        let incoming = Incoming {
            line: Bytes::from(format!("{json}\n")),
            envelope: Envelope::parse(json.as_bytes()).unwrap(),
            delivery,
            key: KeyText::of(&headers).unwrap().map(|key| key.of_message(json.as_bytes())),
            memory: Reservation::empty(&self.budget),
        };
        let room = Arc::clone(&self.room);
        self.state.admit(incoming, || room.try_acquire_many_owned(1).ok())
    }

    fn send(&mut self, json: &str) -> Result<Admission, Problem> {
        self.send_with(json, Delivery::Waited, None)
    }

    fn hear(&mut self, messages: &[&str]) {
        let mut framer = Framer::default();
        let (mut slots, mut calls) = (Vec::new(), Vec::new());
        for (index, message) in messages.iter().enumerate() {
            let number = self.state.log.next_sequence + index as u64;
            slots.push(framer.push(EventKind::Message, Some(number), message.as_bytes()));
            calls.push((index, Envelope::parse(message.as_bytes()).unwrap()));
        }
        self.state.hear(Heard { frames: framer.finish(), slots, calls }).deliver();
    }

    fn kinds(&self) -> Vec<EventKind> {
        self.state.log.events.from(0).map(|entry| entry.kind).collect()
    }

    fn end(&mut self) {
        self.state.end(EndCause::Exited(Exit::Code(3)), "bye".into(), Then::StayListed).deliver();
    }
}

fn request(id: u32) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"m"}}"#)
}

fn response(id: u32) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{}}}}"#)
}

fn waiter(admission: Admission) -> Waiter {
    match admission {
        Admission::Waiting(_, waiter) => waiter,
        other => panic!("expected a wait, got {other:?}"),
    }
}

fn code(result: Result<Admission, Problem>) -> Code {
    result.map(|admission| format!("{admission:?}")).unwrap_err().code()
}

#[test]
fn an_answer_reaches_its_caller_and_frees_the_id() {
    let mut bench = Bench::new(&Limits::default());
    let mut waiting = waiter(bench.send(&request(1)).unwrap());
    assert_eq!(code(bench.send(&request(1))), Code::DuplicateRequestId);
    bench.hear(&[&response(1)]);
    assert!(matches!(waiting.try_recv(), Ok(Outcome::Answer(bytes)) if bytes == response(1)));
    waiter(bench.send(&request(1)).unwrap());
}

#[test]
fn an_id_stays_taken_when_its_caller_has_gone() {
    let mut bench = Bench::new(&Limits::default());
    drop(bench.send(&request(1)).unwrap());
    assert_eq!(code(bench.send(&request(1))), Code::DuplicateRequestId);
}

#[test]
fn a_request_with_a_null_id_waits_for_nothing() {
    let mut bench = Bench::new(&Limits::default());
    let null = r#"{"jsonrpc":"2.0","id":null,"method":"m"}"#;
    assert!(matches!(bench.send(null), Ok(Admission::Accepted)));
    assert!(matches!(bench.send(null), Ok(Admission::Accepted)));
    assert_eq!(bench.state.queue.len(), 2);
}

#[test]
fn the_first_answer_to_the_agent_wins_and_is_announced() {
    let mut bench = Bench::new(&Limits::default());
    bench.hear(&[&request(7)]);
    assert!(matches!(bench.send(&response(7)), Ok(Admission::Accepted)));
    assert_eq!(code(bench.send(&response(7))), Code::AlreadyAnswered);
    assert!(matches!(bench.send(&response(8)), Ok(Admission::Accepted)));
    assert_eq!(bench.state.queue.len(), 2);
    assert_eq!(bench.kinds(), [EventKind::Message, EventKind::Answered]);
    let told = bench.state.log.events.from(1).next().unwrap().data;
    assert_eq!(told, br#"{"id":7,"event":100}"#);
}

#[test]
fn a_full_queue_keeps_an_answer_open_for_the_next_try() {
    let mut bench = Bench::new(&Limits::default());
    bench.hear(&[&request(7)]);
    bench.room = Arc::new(Semaphore::new(0));
    assert!(matches!(bench.send(&response(7)), Ok(Admission::NoRoom(_))));
    bench.room = Arc::new(Semaphore::new(1));
    assert!(matches!(bench.send(&response(7)), Ok(Admission::Accepted)));
}

#[test]
fn an_unanswered_request_outlives_the_log_within_the_budget() {
    let mut bench = Bench::new(&Limits { replay_events: 2, ..Limits::default() });
    bench.hear(&[&request(7)]);
    for number in 0..5 {
        bench.hear(&[&response(number)]);
    }
    let missed: Vec<u64> = bench.state.awaited.missed(0).map(|(event, _)| event).collect();
    assert_eq!(missed, [100]);
    let used = bench.budget.used();
    bench.send(&response(7)).unwrap();
    assert_eq!(bench.state.awaited.missed(0).count(), 0);
    drop(bench.state);
    assert!(used > 0);
    assert_eq!(bench.budget.used(), 0);
}

#[test]
fn the_end_fails_every_waiting_request_and_says_so_on_the_stream_for_those_nobody_waits_for() {
    let mut bench = Bench::new(&Limits::default());
    let mut waiting = waiter(bench.send(&request(1)).unwrap());
    bench.send_with(&request(2), Delivery::OnStream, None).unwrap();
    bench.hear(&[&request(9)]);
    bench.end();
    match waiting.try_recv() {
        Ok(Outcome::Failed(problem)) => assert_eq!(problem.code(), Code::AgentExited),
        other => panic!("{other:?}"),
    }
    assert_eq!(bench.kinds(), [EventKind::Message, EventKind::Failed, EventKind::Exit]);
    assert!(bench.state.awaited.is_empty());
    assert_eq!(code(bench.send(&request(3))), Code::AgentExited);
}

#[test]
fn a_repeat_under_the_same_key_is_not_forwarded_and_gets_the_same_outcome() {
    let mut bench = Bench::new(&Limits::default());
    let send = |bench: &mut Bench| bench.send_with(&request(1), Delivery::Waited, Some("k"));
    let mut first = waiter(send(&mut bench).unwrap());
    let mut second = waiter(send(&mut bench).unwrap());
    assert_eq!(bench.state.queue.len(), 1);
    bench.hear(&[&response(1)]);
    for waiting in [&mut first, &mut second] {
        assert!(matches!(waiting.try_recv(), Ok(Outcome::Answer(_))));
    }
    assert!(matches!(send(&mut bench), Ok(Admission::Settled(Outcome::Answer(_)))));
    bench.end();
    assert!(matches!(send(&mut bench), Ok(Admission::Settled(Outcome::Answer(_)))));
    let other = bench.send_with(&request(2), Delivery::Waited, Some("k"));
    assert_eq!(code(other), Code::IdempotencyKeyReused);
}

#[test]
fn a_refused_message_may_be_sent_again_under_its_key() {
    let mut bench = Bench::new(&Limits { max_pending: 1, ..Limits::default() });
    let _held = bench.send(&request(1)).unwrap();
    let send = |bench: &mut Bench| bench.send_with(&request(2), Delivery::Waited, Some("k"));
    assert_eq!(code(send(&mut bench)), Code::TooManyPending);
    bench.hear(&[&response(1)]);
    assert!(matches!(send(&mut bench), Ok(Admission::Waiting(..))));
}

#[test]
fn lines_that_cannot_be_written_fail_their_requests_and_all_that_follow() {
    let mut bench = Bench::new(&Limits::default());
    let mut waiting = waiter(bench.send(&request(1)).unwrap());
    bench.state.input_failed(Vec::new(), "broken pipe").deliver();
    assert!(
        matches!(waiting.try_recv(), Ok(Outcome::Failed(problem)) if problem.code() == Code::WriteFailed)
    );
    assert_eq!(code(bench.send(&request(2))), Code::WriteFailed);
    assert!(!bench.state.pending.is_taken(&RequestId::parse("1").unwrap()));
}

#[test]
fn messages_to_a_starting_agent_wait_for_it_in_order() {
    let mut bench = Bench::new(&Limits::default());
    bench.end();
    bench.state.restart();
    let note = r#"{"jsonrpc":"2.0","method":"n"}"#;
    let Ok(Admission::Starting(mut up)) = bench.send(note) else { panic!("should wait for the start") };
    let mut waiting = waiter(bench.send(&request(1)).unwrap());
    assert_eq!(bench.state.queue.len(), 2);
    bench.state.started(2).deliver();
    assert!(matches!(up.try_recv(), Ok(Outcome::Answer(_))));
    assert!(waiting.try_recv().is_err());
}
