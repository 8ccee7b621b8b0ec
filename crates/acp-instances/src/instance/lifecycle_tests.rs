use event_log::{Read, Reader};
use tracing::{Event as LogEvent, Subscriber};
use tracing_subscriber::layer::{Context, Layer, SubscriberExt};

use super::*;
use crate::caller::Caller;
use crate::event::{Event, EventKind};
use crate::instance::Identity;
use crate::launcher::{BoxFuture, Launcher};
use crate::limits::Limits;
use crate::local::Shared;
use crate::server_id::ServerId;

struct NoAgents;

impl Launcher for NoAgents {
    fn resolve<'a>(&'a self, agent: &'a str, _: &'a Caller) -> BoxFuture<'a, Result<String, StartFailure>> {
        Box::pin(async { Ok(agent.to_owned()) })
    }

    fn prepare<'a>(&'a self, _agent: &'a str) -> BoxFuture<'a, Result<Prepared, StartFailure>> {
        Box::pin(async { Err(failure()) })
    }
}

fn failure() -> StartFailure {
    StartFailure::new(StartStep::InstallFailed, "no network")
}

/// A log subscriber that closes the instance whenever something is logged, which is a DELETE at the worst
/// possible moment.
struct CloseOnLog(Arc<Instance>);

impl<S: Subscriber> Layer<S> for CloseOnLog {
    fn on_event(&self, _event: &LogEvent<'_>, _context: Context<'_, S>) {
        self.0.begin_close(CloseReason::Requested);
    }
}

fn exits(instance: &Instance) -> usize {
    let state = instance.lock();
    let (logs, mut count) = ([&state.output], 0);
    let mut reader = Reader::at_oldest(&logs);
    while let Read::Run(run) = reader.read(&logs, u64::MAX) {
        count += run.records().filter(|record| Event::new(*record).kind() == EventKind::Exit).count();
    }
    count
}

/// Regression test: while a failed start took two steps, a close in between made two `exit` events and left
/// the instance listed.
#[test]
fn a_close_in_the_middle_of_a_failed_start_ends_the_instance_once() {
    let shared = Shared::new(Limits::default(), Arc::new(NoAgents), None);
    let id = ServerId::parse("x").unwrap();
    let instance = Instance::new(
        Identity { id, agent: "agent".into(), created_by: None, first_sequence: 100, created_at_ms: 0 },
        shared,
    );
    let past = ExitRecord { cause: ExitCause::Exited(Exit::Code(0)), stderr_tail: String::new() };
    instance.lock().end(past, AfterExit::StayListed).deliver();
    instance.lock().restart();

    let subscriber = tracing_subscriber::registry().with(CloseOnLog(Arc::clone(&instance)));
    tracing::subscriber::with_default(subscriber, || instance.fail_start(failure()));
    assert_eq!(exits(&instance), 2);
    assert!(matches!(instance.lock().phase, Phase::Gone(_)));
}
