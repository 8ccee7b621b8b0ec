use event_log::{OrderCounter, Read, Reader, Retention};
use process_supervisor::Exit;
use tokio::sync::Semaphore;

use super::*;
use crate::envelope::MessageKind;
use crate::error::StartStep;
use crate::event::Event;
use crate::summary::FirstExchange;

struct Fixture {
    state: State,
    account: Arc<MemoryAccount>,
    series: Arc<AgentSeries>,
    room: Arc<Semaphore>,
}

/// The options with which a test sends a message.
#[derive(Clone, Copy)]
struct Send<'a> {
    delivery: Delivery,
    key: Option<&'a str>,
    ids: IdPolicy,
    asker: Option<Asker>,
}

const PLAIN: Send<'_> = Send { delivery: Delivery::Wait, key: None, ids: IdPolicy::Keep, asker: None };

impl Fixture {
    fn new(limits: &Limits) -> Self {
        let account = MemoryAccount::new(limits.memory_budget);
        let order = Arc::new(OrderCounter::starting_at(1));
        let retention = Retention { max_bytes: limits.replay_bytes, max_records: limits.replay_events };
        let series = Arc::<AgentSeries>::default();
        let log = || Log::new(100, Arc::clone(&order), Arc::clone(&account), retention);
        let mut state = State::new(log(), log(), Arc::clone(&account), Arc::clone(&series), limits);
        state.started(1).deliver();
        Self { state, account, series, room: Arc::new(Semaphore::new(1000)) }
    }

    fn send_with(&mut self, json: &str, send: Send<'_>) -> Result<Admission, Error> {
        let memory = Reservation::empty(&self.account);
        let incoming = Incoming {
            message: Message::parse(json.into(), memory).unwrap(),
            delivery: send.delivery,
            key: send.key.map(|key| IdempotencyKey::new(key, json.as_bytes()).unwrap()),
            ids: send.ids,
            asker: send.asker,
        };
        let room = Arc::clone(&self.room);
        self.state.admit(incoming, || room.try_acquire_many_owned(1).ok())
    }

    fn send(&mut self, json: &str) -> Result<Admission, Error> {
        self.send_with(json, PLAIN)
    }

    fn receive(&mut self, messages: &[&str]) {
        let (mut records, mut calls) = (Batch::default(), Vec::new());
        for (index, message) in messages.iter().enumerate() {
            let envelope = Envelope::parse(message.as_bytes()).unwrap();
            records.push(EventKind::Message(envelope.kind()).info(), message.as_bytes());
            calls.push((index, envelope));
        }
        self.state.append_output(OutputBatch { records, calls }).deliver();
    }

    /// Reads all events of the output log and maps them with `read`.
    fn events<T>(&self, read: impl Fn(Event<'_>) -> T) -> Vec<T> {
        let (logs, mut all) = ([&self.state.output], Vec::new());
        let mut reader = Reader::at_oldest(&logs);
        while let Read::Run(run) = reader.read(&logs, u64::MAX) {
            all.extend(run.records().map(|record| read(Event::new(record))));
        }
        all
    }

    fn kinds(&self) -> Vec<EventKind> {
        self.events(|event| event.kind())
    }

    fn end(&mut self) {
        let record = ExitRecord { cause: ExitCause::Exited(Exit::Code(3)), stderr_tail: "bye".into() };
        self.state.end(record, AfterExit::StayListed).deliver();
    }
}

fn request(id: u32) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"m"}}"#)
}

fn response(id: u32) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{}}}}"#)
}

fn waiter(admission: Admission) -> oneshot::Receiver<Settled> {
    match admission {
        Admission::Admitted { waiter: Some(waiter), .. } | Admission::Repeated(Some(waiter)) => waiter,
        other => panic!("expected a wait, got {other:?}"),
    }
}

fn answered(waiter: &mut oneshot::Receiver<Settled>) -> Bytes {
    match waiter.try_recv() {
        Ok(Ok(Answer::Response(bytes))) => bytes,
        other => panic!("expected an answer, got {other:?}"),
    }
}

fn is_accepted(admission: &Result<Admission, Error>) -> bool {
    matches!(admission, Ok(Admission::Admitted { waiter: None, .. }))
}

const REQUEST: EventKind = EventKind::Message(MessageKind::Request);

#[test]
fn an_answer_reaches_its_caller_and_frees_the_id() {
    let mut fixture = Fixture::new(&Limits::default());
    let mut waiting = waiter(fixture.send(&request(1)).unwrap());
    assert!(matches!(fixture.send(&request(1)), Err(Error::DuplicateRequestId { .. })));
    fixture.receive(&[&response(1)]);
    assert_eq!(answered(&mut waiting), response(1));
    waiter(fixture.send(&request(1)).unwrap());
}

#[test]
fn an_id_stays_taken_when_its_caller_has_gone() {
    let mut fixture = Fixture::new(&Limits::default());
    drop(fixture.send(&request(1)).unwrap());
    assert!(matches!(fixture.send(&request(1)), Err(Error::DuplicateRequestId { .. })));
}

#[test]
fn a_request_with_a_null_id_waits_for_nothing() {
    let mut fixture = Fixture::new(&Limits::default());
    let null = r#"{"jsonrpc":"2.0","id":null,"method":"m"}"#;
    assert!(is_accepted(&fixture.send(null)));
    assert!(is_accepted(&fixture.send(null)));
    assert_eq!(fixture.state.queue.len(), 2);
}

#[test]
fn the_first_answer_to_the_agent_wins_and_is_reported() {
    let mut fixture = Fixture::new(&Limits::default());
    fixture.receive(&[&request(7)]);
    assert!(is_accepted(&fixture.send(&response(7))));
    assert!(matches!(fixture.send(&response(7)), Err(Error::AlreadyAnswered { .. })));
    assert!(is_accepted(&fixture.send(&response(8))));
    assert_eq!(fixture.state.queue.len(), 2);
    assert_eq!(fixture.kinds(), [REQUEST, EventKind::Answered]);
    let texts = fixture.events(|event| String::from_utf8_lossy(event.bytes()).into_owned());
    assert_eq!(texts[1], r#"{"id":7,"event":100}"#);
}

#[test]
fn an_agent_request_stays_open_if_its_answer_finds_the_queue_full() {
    let mut fixture = Fixture::new(&Limits::default());
    fixture.receive(&[&request(7)]);
    fixture.room = Arc::new(Semaphore::new(0));
    assert!(matches!(fixture.send(&response(7)), Ok(Admission::NoRoom(_))));
    fixture.room = Arc::new(Semaphore::new(1));
    assert!(is_accepted(&fixture.send(&response(7))));
}

#[test]
fn an_unanswered_request_outlives_the_log_within_the_account() {
    let mut fixture = Fixture::new(&Limits { replay_events: 2, ..Limits::default() });
    fixture.receive(&[&request(7)]);
    for number in 0..5 {
        fixture.receive(&[&response(number)]);
    }
    let retained: Vec<u64> =
        fixture.state.agent_requests.retained_between(0, u64::MAX).map(|(event, _)| event).collect();
    assert_eq!(retained, [100]);
    let used = fixture.account.used();
    fixture.send(&response(7)).unwrap();
    assert_eq!(fixture.state.agent_requests.retained_between(0, u64::MAX).count(), 0);
    drop(fixture.state);
    assert!(used > 0);
    assert_eq!(fixture.account.used(), 0);
}

#[test]
fn the_end_of_the_process_fails_every_waiting_request_and_reports_those_without_a_caller() {
    let mut fixture = Fixture::new(&Limits::default());
    let mut waiting = waiter(fixture.send(&request(1)).unwrap());
    fixture.send_with(&request(2), Send { delivery: Delivery::Log, ..PLAIN }).unwrap();
    fixture.receive(&[&request(9)]);
    fixture.end();
    let exited = Error::AgentExited { exit: Exit::Code(3), stderr_tail: "bye".into() };
    assert_eq!(waiting.try_recv().unwrap(), Err(exited.clone()));
    assert_eq!(fixture.kinds(), [REQUEST, EventKind::Failed, EventKind::Exit]);
    let failures = fixture.events(|event| event.failure());
    assert_eq!(failures[1].as_ref().unwrap().error, exited);
    assert_eq!(fixture.state.agent_requests.len(), 0);
    assert_eq!(fixture.send(&request(3)).unwrap_err(), exited);
}

#[test]
fn a_repeat_under_the_same_key_is_not_forwarded_and_gets_the_same_outcome() {
    let mut fixture = Fixture::new(&Limits::default());
    let with_key = Send { key: Some("k"), ..PLAIN };
    let send = |fixture: &mut Fixture| fixture.send_with(&request(1), with_key);
    let mut first = waiter(send(&mut fixture).unwrap());
    let mut second = waiter(send(&mut fixture).unwrap());
    assert_eq!(fixture.state.queue.len(), 1);
    fixture.receive(&[&response(1)]);
    assert_eq!(answered(&mut first), answered(&mut second));
    assert!(matches!(send(&mut fixture), Ok(Admission::Settled(Ok(_)))));
    fixture.end();
    assert!(matches!(send(&mut fixture), Ok(Admission::Settled(Ok(_)))));
    assert_eq!(fixture.send_with(&request(2), with_key).unwrap_err(), Error::KeyReused);
}

#[test]
fn a_refused_message_may_be_sent_again_under_its_key() {
    let mut fixture = Fixture::new(&Limits { max_pending: 1, ..Limits::default() });
    let _held = fixture.send(&request(1)).unwrap();
    let send = |fixture: &mut Fixture| fixture.send_with(&request(2), Send { key: Some("k"), ..PLAIN });
    assert_eq!(send(&mut fixture).unwrap_err(), Error::TooManyClientRequests { open: 1 });
    fixture.receive(&[&response(1)]);
    waiter(send(&mut fixture).unwrap());
}

#[test]
fn a_line_that_cannot_be_written_fails_its_request_and_all_later_messages() {
    let mut fixture = Fixture::new(&Limits::default());
    let mut waiting = waiter(fixture.send(&request(1)).unwrap());
    fixture.state.input_failed(Vec::new(), "broken pipe").deliver();
    let closed = Error::InputClosed { reason: "broken pipe".into() };
    assert_eq!(waiting.try_recv().unwrap(), Err(closed.clone()));
    assert_eq!(fixture.send(&request(2)).unwrap_err(), closed);
    assert!(!fixture.state.client_requests.is_taken(&RequestId::parse("1").unwrap()));
}

#[test]
fn messages_to_a_starting_agent_wait_for_it_in_order() {
    let mut fixture = Fixture::new(&Limits::default());
    fixture.end();
    fixture.state.restart();
    let mut up = waiter(fixture.send(r#"{"jsonrpc":"2.0","method":"n"}"#).unwrap());
    let mut waiting = waiter(fixture.send(&request(1)).unwrap());
    assert_eq!(fixture.state.queue.len(), 2);
    fixture.state.started(2).deliver();
    assert_eq!(up.try_recv().unwrap(), Ok(Answer::Accepted));
    assert!(waiting.try_recv().is_err());
}

#[test]
fn an_instance_that_was_closed_while_its_agent_failed_to_start_ends_once() {
    let mut fixture = Fixture::new(&Limits::default());
    fixture.end();
    fixture.state.restart();
    let closed = ExitRecord { cause: ExitCause::Closed, stderr_tail: String::new() };
    fixture.state.end(closed, AfterExit::Leave).deliver();
    let failure = StartFailure::new(StartStep::InstallFailed, "no network");
    assert!(fixture.state.fail_start(failure).is_none());
    assert_eq!(fixture.kinds(), [EventKind::Exit; 2]);
    assert!(matches!(fixture.state.phase, Phase::Gone(_)));
}

#[test]
fn an_assigned_id_replaces_the_clients_own_and_the_answer_is_marked_for_its_asker() {
    let mut fixture = Fixture::new(&Limits::default());
    let asker = Asker::new();
    let assigned = Send { ids: IdPolicy::Assign, asker: Some(asker), ..PLAIN };
    let admission = fixture.send_with(&request(1), assigned).unwrap();
    let Admission::Admitted { assigned_id: Some(id), waiter: Some(mut waiting), .. } = admission else {
        panic!("{admission:?}");
    };
    // Another connection uses the same id at the same time.
    let _second = waiter(fixture.send_with(&request(1), Send { ids: IdPolicy::Assign, ..PLAIN }).unwrap());
    let sent = String::from_utf8_lossy(&fixture.state.queue[0].bytes).into_owned();
    assert_eq!(sent, request(1).replace("\"id\":1", &format!("\"id\":{}", id.as_json())) + "\n");
    let response = response(1).replace("\"id\":1", &format!("\"id\":{}", id.as_json()));
    fixture.receive(&[&response]);
    assert_eq!(answered(&mut waiting), response);
    assert_eq!(fixture.events(|event| event.asker()), [Some(asker)]);
}

#[test]
fn the_first_exchange_is_the_first_request_that_got_a_result() {
    let mut fixture = Fixture::new(&Limits::default());
    let first = |fixture: &Fixture| fixture.state.first_exchange.describe(&fixture.state.client_requests);
    assert_eq!(first(&fixture), FirstExchange::None { is_open: false });
    let _one = fixture.send(&request(1)).unwrap();
    let _two = fixture.send(&request(2)).unwrap();
    assert_eq!(first(&fixture), FirstExchange::None { is_open: true });
    fixture.receive(&[r#"{"jsonrpc":"2.0","id":1,"error":{"code":-1,"message":"no"}}"#]);
    fixture.receive(&[&response(2)]);
    let expected = FirstExchange::Answered { request: request(2).into(), response: response(2).into() };
    assert_eq!(first(&fixture), expected);
    let _three = fixture.send(&request(3)).unwrap();
    fixture.receive(&[&response(3)]);
    assert_eq!(first(&fixture), expected);
    fixture.end();
    fixture.state.restart();
    assert_eq!(first(&fixture), FirstExchange::None { is_open: false });
}

#[test]
fn requests_are_timed_once_in_each_direction_when_they_are_answered() {
    let mut fixture = Fixture::new(&Limits::default());
    let times = |fixture: &Fixture| {
        let mut text = metrics::Exposition::default();
        text.histogram("client_seconds", "x").histogram(&[], &fixture.series.client_requests);
        text.histogram("agent_seconds", "x").histogram(&[], &fixture.series.agent_requests);
        let count = |text: &str, name: &str| {
            text.lines()
                .find_map(|line| line.strip_prefix(name))
                .map_or(0, |count| count.parse::<u64>().unwrap())
        };
        let text = text.finish();
        (count(&text, "client_seconds_count "), count(&text, "agent_seconds_count "))
    };
    fixture.send(&request(1)).unwrap();
    fixture.receive(&[&request(7)]);
    assert_eq!(times(&fixture), (0, 0), "nothing is answered");
    fixture.receive(&[&response(1), &response(1), &response(2)]);
    assert_eq!(times(&fixture), (1, 0), "an answer to no request is not counted");
    fixture.send(&response(7)).unwrap();
    assert!(fixture.send(&response(7)).is_err());
    assert_eq!(times(&fixture), (1, 1), "the first answer counts");
    fixture.send(&request(3)).unwrap();
    fixture.receive(&[&request(8)]);
    fixture.end();
    assert_eq!(times(&fixture), (1, 1), "the end of the process answers nothing");
}

/// If it stayed listed, a request could start a new process in an instance that is about to leave the registry.
#[test]
fn a_process_that_exits_while_its_instance_is_being_closed_does_not_stay_listed() {
    let mut closing = Fixture::new(&Limits::default());
    closing.state.phase = Phase::Closing;
    let record = ExitRecord { cause: ExitCause::Exited(Exit::Code(0)), stderr_tail: String::new() };
    closing.state.end(record, AfterExit::StayListed).deliver();
    assert!(matches!(closing.state.phase, Phase::Gone(_)));
}
