//! Another process of the same user may hold the lock of a stored file for as long as it likes.

use std::fs::File;
use std::path::PathBuf;

use serde_json::json;

use crate::entries::{mcp, put};
use test_harness::files::Server;

const ENTRY: &str = r#"{"type":"local","command":"x"}"#;

fn lock_file(server: &Server) -> PathBuf {
    let files = std::fs::read_dir(server.data().join("config")).unwrap();
    files
        .map(|file| file.unwrap().path())
        .find(|path| path.extension().is_some_and(|it| it == "lock"))
        .unwrap()
}

#[tokio::test]
async fn a_write_does_not_wait_for_ever_for_a_lock_and_says_what_is_wrong() {
    let server = Server::start();
    assert_eq!(put(&server, &mcp("/app", "old"), ENTRY.to_owned()).await.status, 204);
    let lock = File::options().write(true).open(lock_file(&server)).unwrap();
    lock.lock().unwrap();
    // More writes than the server has threads for blocking work, most of which wait for their turn.
    let writes = (0..40).map(|number| {
        let client = server.client.clone();
        let url = format!("http://{}{}", server.address, mcp("/app", &format!("new-{number}")));
        tokio::spawn(async move {
            client.put(url).header("content-type", "application/json").body(ENTRY).send().await.unwrap()
        })
    });
    let (refused, _, waiting) = futures_util::future::select_all(writes).await;
    let refused = refused.unwrap();
    assert_eq!(refused.status(), 503);
    assert!(refused.headers().contains_key("retry-after"));
    let problem: serde_json::Value = refused.json().await.unwrap();
    assert_eq!(problem["type"], "urn:sandbox-agent:error:config_locked", "{problem}");
    assert!(problem["detail"].as_str().unwrap().contains("locked"), "{problem}");
    // Reads need no lock, and writes for other directories have locks of their own.
    assert_eq!(server.get(&mcp("/app", "old")).await.json()["command"], "x");
    // The writes that still wait go on as soon as the lock is released.
    lock.unlock().unwrap();
    let mut stored = 0;
    for write in waiting {
        match write.await.unwrap().status().as_u16() {
            204 => stored += 1,
            status => assert_eq!(status, 503),
        }
    }
    assert!(stored > 0);
    assert_eq!(put(&server, &mcp("/app", "new"), ENTRY.to_owned()).await.status, 204);
    assert_eq!(server.get(&mcp("/app", "new")).await.json(), json!({"type": "local", "command": "x"}));
}
