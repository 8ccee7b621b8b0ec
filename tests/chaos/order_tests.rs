use super::*;

fn event(name: &str, id: &str, data: &str) -> Event {
    let id = (!id.is_empty()).then(|| id.to_owned());
    Event { name: name.to_owned(), id, data: data.as_bytes().to_vec(), comment: String::new() }
}

fn message(id: u64) -> Event {
    event("message", &id.to_string(), r#"{"jsonrpc":"2.0","method":"m"}"#)
}

fn request(id: u64) -> Event {
    event("message", &id.to_string(), r#"{"jsonrpc":"2.0","id":1,"method":"m"}"#)
}

fn gap(after: u64, next: u64) -> Event {
    event("gap", "", &format!(r#"{{"after":{after},"next":{next}}}"#))
}

fn line(id: u64, index: u64) -> Event {
    let data = format!(r#"{{"jsonrpc":"2.0","method":"burst-7","params":{{"index":{index},"filler":"x"}}}}"#);
    event("message", &id.to_string(), &data)
}

/// Whether a reader may receive these events on one connection.
fn is_allowed(view: View, events: &[Event]) -> bool {
    let mut position = Position::new(view);
    events.iter().all(|event| position.receive(event).is_ok())
}

#[test]
fn messages_are_consecutive_or_a_gap_says_what_is_missing() {
    let allowed = |events: &[Event]| is_allowed(View::Messages, events);
    assert!(allowed(&[message(7), message(8), event("answered", "", "{}"), event("exit", "9", "{}")]));
    assert!(!allowed(&[message(7), message(9)]), "a loss");
    assert!(!allowed(&[message(7), message(7)]), "a duplicate");
    assert!(!allowed(&[message(7), message(6)]), "a step back");
    assert!(allowed(&[message(7), gap(7, 20), message(20)]));
    assert!(!allowed(&[message(7), gap(7, 20), message(21)]), "a loss after the gap");
    assert!(!allowed(&[message(7), gap(6, 20)]), "a gap from somewhere else");
    assert!(allowed(&[message(7), event("exit", "8", "{}"), message(9)]), "the process was started again");
}

#[test]
fn a_stream_ends_with_an_exit_and_that_of_all_instances_never() {
    let may_end = |view, events: &[Event]| {
        let mut position = Position::new(view);
        events.iter().for_each(|event| drop(position.receive(event).unwrap()));
        position.end().is_ok()
    };
    assert!(may_end(View::Messages, &[message(7), event("exit", "8", "{}")]));
    assert!(!may_end(View::Messages, &[message(7)]));
    assert!(!may_end(View::Messages, &[event("exit", "8", "{}"), message(9)]));
    assert!(!may_end(View::Many, &[event("exit", "j8", "{}")]));
}

#[test]
fn only_unanswered_requests_come_out_of_order_and_only_after_a_gap_or_at_the_start() {
    let allowed = |events: &[Event]| is_allowed(View::Messages, events);
    assert!(allowed(&[message(7), gap(7, 20), request(9), request(12), message(20)]));
    assert!(!allowed(&[message(7), gap(7, 20), message(9)]), "not a request");
    assert!(!allowed(&[message(7), gap(7, 20), request(9), request(9)]), "twice");
    assert!(!allowed(&[message(7), gap(7, 20), message(20), request(12)]), "too late");
    assert!(allowed(&[request(3), request(5), message(20), message(21)]));
    assert!(!allowed(&[request(5), message(4)]), "a step back");
}

#[test]
fn a_reader_that_resumes_receives_the_next_event_or_a_gap() {
    let after_cut = |events: &[Event]| {
        let mut position = Position::new(View::Messages);
        position.receive(&message(7)).unwrap();
        position.resume();
        assert_eq!(position.cursor(), "7");
        events.iter().all(|event| position.receive(event).is_ok())
    };
    assert!(after_cut(&[message(8)]));
    assert!(after_cut(&[gap(7, 11), message(11)]));
    assert!(!after_cut(&[message(7)]));
    assert!(!after_cut(&[request(5)]));
    assert!(!after_cut(&[message(9)]));
}

#[test]
fn consecutive_lines_of_an_agent_arrive_consecutively() {
    let allowed = |events: &[Event]| is_allowed(View::Messages, events);
    assert!(allowed(&[line(7, 3), line(8, 4), message(9), line(10, 5)]));
    assert!(!allowed(&[line(7, 3), line(8, 5)]), "a line got no number");
    assert!(!allowed(&[line(7, 3), line(8, 3)]), "a line got two numbers");
    assert!(allowed(&[line(7, 3), event("unparsed", "", "{}"), line(8, 5)]));
    assert!(allowed(&[line(7, 3), gap(7, 20), line(20, 9)]));
}

#[test]
fn a_journal_grows_and_its_sequence_numbers_have_no_holes() {
    let event = |id: &str, comment: &str| Event { comment: comment.to_owned(), ..event("message", id, "{}") };
    let allowed = |events: &[Event]| is_allowed(View::Journal, events);
    assert!(allowed(&[event("j4", "at 1 event 7"), event("j6", "at 1"), event("j9", "at 1 event 8")]));
    assert!(!allowed(&[event("j4", "at 1 event 7"), event("j4", "at 1 event 8")]));
    assert!(!allowed(&[event("j4", "at 1 event 7"), event("j6", "at 1 event 9")]));
    assert!(allowed(&[event("j4", "at 1 event 7"), gap(4, 6), event("j6", "at 1 event 9")]));
}

#[test]
fn events_of_many_instances_are_checked_one_by_one() {
    let of = |id: &str, instance: &str, number: u64| {
        event("message", id, &format!(r#"{{"serverId":"{instance}","event":{number},"atMs":1,"data":{{}}}}"#))
    };
    let opened = |id: &str| event("opened", id, r#"{"serverId":"a","agent":"x"}"#);
    let allowed = |events: &[Event]| is_allowed(View::Many, events);
    assert!(allowed(&[of("j1", "a", 5), of("j2", "b", 50), of("j3", "a", 6)]));
    assert!(!allowed(&[of("j1", "a", 5), of("j2", "b", 50), of("j3", "a", 7)]));
    assert!(!allowed(&[of("j2", "a", 5), of("j1", "b", 50)]));
    assert!(allowed(&[of("j1", "a", 5), opened("j2"), of("j3", "a", 70)]));
}
