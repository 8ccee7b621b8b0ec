//! The engine (the library that runs agents) embedded in another program: starts an agent, sends it a
//! request, and reads its log.
//!
//! `cargo run -p acp-instances --example embed`
//!
//! The agent is a shell loop that answers every line with the same response. Any ACP agent can be used in its
//! place.

use std::sync::Arc;

use acp_instances::{
    Answer, BoxFuture, Caller, From, Instances, Launcher, Limits, LocalInstances, Message, MessageCursor,
    Prepared, SendRequest, ServerId, Shutdown, StartFailure, Subscribe, Update, events,
};
use event_log::Reservation;
use process_supervisor::LaunchSpec;

const AGENT: &str =
    r#"while read -r line; do echo '{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":1}}'; done"#;

/// A launcher that starts the same command for every agent name.
struct OneCommand;

impl Launcher for OneCommand {
    fn resolve<'a>(&'a self, agent: &'a str, _: &'a Caller) -> BoxFuture<'a, Result<String, StartFailure>> {
        Box::pin(async move { Ok(agent.to_owned()) })
    }

    fn prepare<'a>(&'a self, _agent: &'a str) -> BoxFuture<'a, Result<Prepared, StartFailure>> {
        let spec = LaunchSpec {
            program: "sh".into(),
            arguments: vec!["-c".into(), AGENT.into()],
            environment: std::env::vars_os().collect(),
            directory: None,
        };
        Box::pin(async { Ok(Prepared::without_lease(spec)) })
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    // The supervisor of each agent is this same executable, started again. Check for that before any thread
    // or runtime exists.
    process_supervisor::become_supervisor_if_asked();
    tokio::runtime::Runtime::new()?.block_on(run())
}

async fn run() -> Result<(), Box<dyn std::error::Error>> {
    let instances: Arc<dyn Instances> =
        Arc::new(LocalInstances::new(Limits::default(), Arc::new(OneCommand)));
    let id = ServerId::parse("demo")?;

    // Reserve memory before the message is parsed.
    let text = r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":1}}"#;
    let mut memory = Reservation::empty(instances.memory());
    instances.reserve(&mut memory, text.len() + 1)?;
    let message = Message::parse(text.into(), memory)?;

    // The first request to an unknown instance starts it; it has to name the agent.
    let request = SendRequest { agent: Some("shell".into()), ..SendRequest::new(id.clone(), message) };
    let receipt = instances.send(request).await?;
    if let Answer::Response(bytes) = receipt.outcome.await? {
        println!("answer: {}", String::from_utf8_lossy(&bytes));
    }

    // The log keeps what the agent sent, so readers that subscribe later receive it too.
    let subscribe = Subscribe { from: From::Messages(MessageCursor::Oldest), only_answers_to: None };
    if let Some(mut subscription) = instances.subscribe(&id, subscribe).await?
        && let Some(updates) = subscription.next().await
    {
        for update in updates? {
            if let Update::Events { run, .. } = update {
                for event in events(&run) {
                    println!("logged: {}", String::from_utf8_lossy(event.bytes()));
                }
            }
        }
    }
    instances.close(&id).await?;
    instances.shutdown(Shutdown::End).await?;
    Ok(())
}
