//! Both sides, tested with a fake engine.

mod fake;

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use acp_instances::{
    Answer, CreateSpec, Error, EventKind, From, Instances, JournalCursor, Message, MessageCursor,
    MessageKind, Page, Receipt, Selection, SendRequest, ServerId, Shutdown, Subscribe, SubscribeAll, Update,
};
use bytes::{Bytes, BytesMut};
use event_log::{Gap, Log, MemoryAccount, OrderCounter, RecordInfo, Reservation, Retention, Run};

use self::fake::{Fake, unsupported};
use crate::RemoteInstances;
use crate::command::unavailable;

const REQUEST: &[u8] = br#"{"jsonrpc":"2.0","id":1,"method":"x"}"#;

/// Both sides, with the far side's task.
fn connected(fake: &Arc<Fake>) -> (RemoteInstances, tokio::task::JoinHandle<()>) {
    let (near, far) = RemoteInstances::pair(1 << 20);
    let engine: Arc<dyn Instances> = Arc::<Fake>::clone(fake);
    (near, tokio::spawn(far.serve(engine)))
}

fn id() -> ServerId {
    ServerId::parse("one").unwrap()
}

fn request(near: &RemoteInstances) -> SendRequest {
    let mut memory = Reservation::empty(near.memory());
    near.reserve(&mut memory, REQUEST.len()).unwrap();
    SendRequest::new(id(), Message::parse(BytesMut::from(REQUEST), memory).unwrap())
}

const fn from_oldest() -> Subscribe {
    Subscribe { from: From::Messages(MessageCursor::Oldest), only_answers_to: None }
}

async fn soon(what: &str, is_so: impl Fn() -> bool) {
    let wait = async {
        while !is_so() {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(10), wait).await.unwrap_or_else(|_| panic!("{what}"));
}

/// Three records, numbered and not, at the end of a larger chunk.
fn run() -> Run {
    let account = MemoryAccount::new(0);
    let retention = Retention { max_bytes: 1 << 20, max_records: 100 };
    let mut log = Log::new(1000, Arc::new(OrderCounter::starting_at(77)), account, retention);
    let mut batch = log.batch(100, 5);
    let info = EventKind::Message(MessageKind::Notification).info();
    batch.push(info, b"first");
    batch.push(info, b"second");
    batch.push(EventKind::Answered.info(), b"third");
    batch.push(RecordInfo { mark: 9, ..info }, b"");
    batch.push(EventKind::Exit.info(), &[7; 5000]);
    log.append(batch, 12345, |_| {}).unwrap().part(2..5)
}

#[tokio::test]
async fn a_message_and_its_answer_cross_as_copies() {
    let fake = Fake::new();
    let (near, _far) = connected(&fake);
    let request = request(&near);
    let sent_from = request.message.bytes().as_ptr();
    let Receipt { position, assigned_id, outcome } = near.send(request).await.unwrap();
    assert_eq!((position, assigned_id.unwrap().as_json()), (Some(17), "5"));
    let (received, settle) = fake.take_sent();
    assert_eq!(received.message.bytes(), REQUEST);
    assert_ne!(received.message.bytes().as_ptr(), sent_from);
    assert_eq!((near.memory().used(), fake.memory().used()), (0, REQUEST.len() + 1));
    let answer = Bytes::from(vec![b'a'; 100]);
    settle.send(Ok(Answer::Response(answer.clone()))).unwrap();
    let Answer::Response(arrived) = outcome.await.unwrap() else { panic!("an answer") };
    assert_eq!(arrived, answer);
    assert_ne!(arrived.as_ptr(), answer.as_ptr());
}

#[tokio::test]
async fn dropping_an_outcome_drops_the_engines_outcome() {
    let fake = Fake::new();
    let (near, _far) = connected(&fake);
    let (gone, kept) = (near.send(request(&near)).await.unwrap(), near.send(request(&near)).await.unwrap());
    let (mut first, second) = (fake.take_sent().1, fake.take_sent().1);
    assert!(!first.is_closed());
    drop(gone);
    tokio::time::timeout(Duration::from_secs(10), first.closed()).await.expect("the engine learns of it");
    assert!(!second.is_closed());
    second.send(Err(Error::InstanceClosed)).unwrap();
    assert_eq!(kept.outcome.await, Err(Error::InstanceClosed));
}

#[tokio::test]
async fn a_subscription_delivers_events_with_the_same_numbers_and_bytes() {
    let fake = Fake::new();
    let (near, _far) = connected(&fake);
    let run = run();
    let gap = Gap { after_sequence: 1, next_sequence: 2, after_order: 3, next_order: 4 };
    let retained = Update::Retained { server_id: id(), sequence: 6, request: Bytes::from_static(REQUEST) };
    *fake.news.lock().unwrap() = vec![
        vec![Update::Gap { server_id: None, gap }, retained],
        vec![Update::Events { server_id: id(), run: run.clone() }],
    ];
    let mut subscription = near.subscribe(&id(), from_oldest()).await.unwrap().unwrap();
    assert_eq!(subscription.began_at(), 41);
    let first = subscription.next().await.unwrap().unwrap();
    assert!(matches!(first[0], Update::Gap { server_id: None, gap: arrived } if arrived == gap));
    assert!(matches!(&first[1], Update::Retained { sequence: 6, request, .. } if request == REQUEST));
    let second = subscription.next().await.unwrap().unwrap();
    let [Update::Events { server_id, run: arrived }] = &second[..] else { panic!("events") };
    assert_eq!(*server_id, id());
    assert!(arrived.records().eq(run.records()));
    assert_ne!(arrived.first().bytes.as_ptr(), run.first().bytes.as_ptr());
    assert!(near.memory().used() >= arrived.bytes());
    assert!(subscription.next().await.is_none());
    assert!(subscription.next().await.is_none());
}

#[tokio::test]
async fn a_subscription_is_asked_for_an_item_only_when_its_reader_has_room() {
    let fake = Fake::new();
    let (near, _far) = connected(&fake);
    *fake.news.lock().unwrap() = vec![vec![Update::Events { server_id: id(), run: run() }]; 10];
    let all = SubscribeAll { selection: Selection::All, with_sent: true, from: JournalCursor::Oldest };
    let mut subscription = near.subscribe_all(all).await.unwrap();
    soon("one item is on its way", || fake.pulls.load(Ordering::SeqCst) == 1).await;
    tokio::time::sleep(Duration::from_millis(20)).await;
    assert_eq!(fake.pulls.load(Ordering::SeqCst), 1);
    subscription.next().await.unwrap().unwrap();
    soon("the next one follows", || fake.pulls.load(Ordering::SeqCst) == 2).await;
}

#[tokio::test]
async fn dropping_a_subscription_drops_the_engines_subscription() {
    let fake = Fake::new();
    let (near, _far) = connected(&fake);
    // The first subscription waits until its reader takes an item, the second one waits for updates.
    *fake.news.lock().unwrap() = vec![vec![Update::Events { server_id: id(), run: run() }]; 10];
    let unread = near.subscribe(&id(), from_oldest()).await.unwrap().unwrap();
    soon("one item is on its way", || fake.pulls.load(Ordering::SeqCst) == 1).await;
    fake.news.lock().unwrap().clear();
    fake.is_endless.store(true, Ordering::SeqCst);
    let idle = near.subscribe(&id(), from_oldest()).await.unwrap().unwrap();
    soon("the engine waits for news", || fake.pulls.load(Ordering::SeqCst) == 2).await;
    assert_eq!(fake.readers(), 2);
    drop(unread);
    soon("the one that is not read ends", || fake.readers() == 1).await;
    drop(idle);
    soon("the one that waits ends", || fake.readers() == 0).await;
}

#[tokio::test]
async fn errors_are_passed_on_unchanged() {
    let (near, _far) = connected(&Fake::new());
    assert_eq!(near.get(&id()).await.unwrap_err(), unsupported());
    let large = BytesMut::from(&*format!(r#"{{"jsonrpc":"2.0","method":"{}"}}"#, "x".repeat(2 << 20)));
    let message = Message::parse(large, Reservation::empty(near.memory())).unwrap();
    assert_eq!(near.send(SendRequest::new(id(), message)).await.unwrap_err(), Error::OutOfMemory);
    let mut memory = Reservation::empty(near.memory());
    assert_eq!(near.reserve(&mut memory, 2 << 20), Err(Error::OutOfMemory));
}

#[tokio::test]
async fn everything_is_unavailable_once_the_far_side_is_gone() {
    let fake = Fake::new();
    let (near, far) = connected(&fake);
    *fake.news.lock().unwrap() = vec![vec![Update::Events { server_id: id(), run: run() }]; 10];
    let waiting = near.send(request(&near)).await.unwrap();
    let mut subscription = near.subscribe(&id(), from_oldest()).await.unwrap().unwrap();
    far.abort();
    assert!(far.await.unwrap_err().is_cancelled());

    assert_eq!(waiting.outcome.await, Err(unavailable()));
    let mut last = subscription.next().await;
    while matches!(last, Some(Ok(_))) {
        last = subscription.next().await;
    }
    assert_eq!(last.unwrap().unwrap_err(), unavailable());
    assert!(subscription.next().await.is_none());

    let id = id();
    let spec = CreateSpec { server_id: id.clone(), agent: None, caller: acp_instances::Caller::default() };
    let all = SubscribeAll { selection: Selection::All, with_sent: true, from: JournalCursor::Oldest };
    let failures = [
        near.create(spec).await.err(),
        near.get(&id).await.err(),
        near.list(Page::default()).await.err(),
        near.send(request(&near)).await.err(),
        near.subscribe(&id, from_oldest()).await.err(),
        near.subscribe_all(all).await.err(),
        near.watch(JournalCursor::Oldest).await.err(),
        near.agent_requests(&id).await.err(),
        near.first_exchange(&id).await.err(),
        near.close(&id).await.err(),
        near.shutdown(Shutdown::End).await.err(),
    ];
    assert_eq!(failures, std::array::from_fn(|_| Some(unavailable())));
    assert_eq!(near.memory().used(), 0);
}
