//! The engine in a program of its own: starts an agent, sends it a request, and reads its log.
//!
//! `cargo run -p acp-instances --example embed`
//!
//! The agent is a shell loop that answers every line with the same response. Any ACP agent takes its place.

use std::sync::Arc;

use acp_instances::{
    Answer, BoxFuture, Caller, From, Instances, Launcher, Limits, LocalInstances, Message, MessageCursor,
    Prepared, SendRequest, ServerId, Shutdown, StartFailure, Subscribe, Update, events,
};
use event_log::Reservation;
use process_supervisor::LaunchSpec;

const AGENT: &str =
    r#"while read -r line; do echo '{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":1}}'; done"#;

/// Starts the same command whatever the agent is called.
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
    // The supervisor of every agent is this same program. This must come before threads and a runtime.
    process_supervisor::become_supervisor_if_asked();
    tokio::runtime::Runtime::new()?.block_on(run())
}

async fn run() -> Result<(), Box<dyn std::error::Error>> {
    let instances: Arc<dyn Instances> =
        Arc::new(LocalInstances::new(Limits::default(), Arc::new(OneCommand)));
    let id = ServerId::parse("demo")?;

    // Memory is reserved before a message is read.
    let text = r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":1}}"#;
    let mut memory = Reservation::empty(instances.memory());
    instances.reserve(&mut memory, text.len() + 1)?;
    let message = Message::parse(text.into(), memory)?;

    // Naming an agent starts the instance.
    let request = SendRequest { agent: Some("shell".into()), ..SendRequest::new(id.clone(), message) };
    let receipt = instances.send(request).await?;
    if let Answer::Response(bytes) = receipt.outcome.await? {
        println!("answer: {}", String::from_utf8_lossy(&bytes));
    }

    // The log has what the agent said, also for readers that come later.
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
