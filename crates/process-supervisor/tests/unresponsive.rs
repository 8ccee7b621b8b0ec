//! A supervisor that does not answer. This test program has only one test, because the test makes the whole process a
//! subreaper.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should panic")]

use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use process_supervisor::{Exit, LaunchSpec, TreeEvent};

/// A supervisor that reports that it has started an agent, and ignores all commands. The agent is in its own session.
const SCRIPT: &str = "#!/bin/sh
setsid sleep 300 <&- >/dev/null 2>&1 &
printf 'started %s\\n' $! >&0
exec sleep 300
";

#[tokio::test]
async fn a_supervisor_that_does_not_answer_is_killed_and_its_orphans_are_ended() {
    process_supervisor::adopt_orphans().unwrap();
    let program = std::env::temp_dir().join(format!("unresponsive-{}", std::process::id()));
    std::fs::write(&program, SCRIPT).unwrap();
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
    process_supervisor::set_supervisor_program(&program);

    let mut launched = process_supervisor::launch(&LaunchSpec::default()).await.unwrap();
    std::fs::remove_file(&program).unwrap();
    assert_eq!(process_supervisor::remaining(launched.supervisor), [launched.pid]);
    let event = launched.events.next_after_kill(&launched.control).await;
    assert_eq!(event, TreeEvent::Exited(Exit::Unknown));
    assert_eq!(launched.events.next_after_kill(&launched.control).await, TreeEvent::Gone);
    assert!(!Path::new(&format!("/proc/{}", launched.pid)).exists(), "not even a zombie is left");
}
