//! Acknowledged entries are stored: with many concurrent writers, and after the server is killed.

use serde_json::{Value, json};

use crate::entries::{mcp, put};
use test_harness::files::Server;

const WRITERS: usize = 200;

async fn put_all_at_once(server: &Server) {
    let answers = (0..WRITERS).map(|number| async move {
        let body = json!({"type": "local", "command": format!("command-{number}")}).to_string();
        put(server, &mcp("/app", &format!("name-{number}")), body).await.status
    });
    let statuses = futures_util::future::join_all(answers).await;
    assert_eq!(statuses, vec![204; WRITERS]);
}

async fn all_entries(server: &Server) -> Value {
    server.get("/v1/config/mcp/entries?directory=/app").await.json()["entries"].clone()
}

fn expected() -> Value {
    (0..WRITERS)
        .map(|number| {
            (format!("name-{number}"), json!({"type": "local", "command": format!("command-{number}")}))
        })
        .collect::<serde_json::Map<_, _>>()
        .into()
}

#[tokio::test]
async fn two_hundred_concurrent_writes_are_all_stored_even_after_a_kill_and_a_restart() {
    let mut server = Server::start();
    put_all_at_once(&server).await;
    assert_eq!(all_entries(&server).await, expected());
    server.kill_and_restart();
    assert_eq!(all_entries(&server).await, expected());
    // The store can still be written.
    assert_eq!(server.delete(&mcp("/app", "name-0")).await.status, 204);
    assert_eq!(all_entries(&server).await.as_object().unwrap().len(), WRITERS - 1);
}

#[tokio::test]
async fn a_kill_during_writes_loses_no_acknowledged_entry() {
    let mut server = Server::start();
    let (sender, mut acknowledged) = tokio::sync::mpsc::unbounded_channel();
    let (client, address) = (server.client.clone(), server.address.clone());
    let writing = tokio::spawn(async move {
        for number in 0.. {
            let name = format!("name-{number}");
            let request = client
                .put(format!("http://{address}{}", mcp("/app", &name)))
                .header("content-type", "application/json")
                .body(r#"{"type":"local","command":"x"}"#);
            match request.send().await {
                Ok(answer) if answer.status() == 204 => sender.send(name).unwrap(),
                // The server is gone.
                _ => return,
            }
        }
    });
    let mut names = Vec::new();
    while names.len() < 25 {
        names.push(acknowledged.recv().await.unwrap());
    }
    server.kill_and_restart();
    writing.await.unwrap();
    while let Some(name) = acknowledged.recv().await {
        names.push(name);
    }
    let found = all_entries(&server).await;
    for name in names {
        assert!(found.get(&name).is_some(), "{name} was acknowledged but is missing");
    }
}
