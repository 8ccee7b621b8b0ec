//! Simulated plans and tool calls.

use agent_client_protocol::v1::schema::{
    Diff, Plan, PlanEntry, PlanEntryPriority, PlanEntryStatus, SessionUpdate, ToolCall, ToolCallContent,
    ToolCallId, ToolCallLocation, ToolCallStatus, ToolCallUpdate, ToolCallUpdateFields, ToolKind,
};
use serde_json::json;

use crate::turn::{DONE, Outcome, Stop, Turn};

/// Sends a `tool_call_update`.
pub(super) async fn change(turn: &Turn, id: &ToolCallId, fields: ToolCallUpdateFields) -> Result<(), Stop> {
    turn.update(SessionUpdate::ToolCallUpdate(ToolCallUpdate::new(id.clone(), fields))).await
}

/// Sends a `tool_call_update` that changes only the status.
pub(super) async fn change_status(turn: &Turn, id: &ToolCallId, status: ToolCallStatus) -> Result<(), Stop> {
    change(turn, id, ToolCallUpdateFields::new().status(status)).await
}

/// `plan`
pub(super) async fn plan(turn: &Turn, _: &str) -> Outcome {
    let steps = [
        ("Look around", PlanEntryPriority::High),
        ("Do the work", PlanEntryPriority::Medium),
        ("Tidy up", PlanEntryPriority::Low),
    ];
    // Two updates per step: it begins, then it is done.
    for state in 0..=steps.len() * 2 {
        let entries = steps.iter().enumerate().map(|(index, (content, priority))| {
            let status = match state {
                state if state > index * 2 + 1 => PlanEntryStatus::Completed,
                state if state == index * 2 + 1 => PlanEntryStatus::InProgress,
                _ => PlanEntryStatus::Pending,
            };
            PlanEntry::new(*content, priority.clone(), status)
        });
        turn.update(SessionUpdate::Plan(Plan::new(entries.collect()))).await?;
    }
    turn.say("The plan is done.").await?;
    Ok(DONE)
}

/// `tool`
pub(super) async fn tool(turn: &Turn, _: &str) -> Outcome {
    let call = ToolCall::new(turn.next_tool_call(), "Count the lines of README.md")
        .name("count_lines".to_owned())
        .kind(ToolKind::Read)
        .status(ToolCallStatus::Pending)
        .locations(vec![ToolCallLocation::new("/mock/README.md").line(1)])
        .raw_input(json!({"path": "/mock/README.md"}));
    let id = call.tool_call_id.clone();
    turn.update(SessionUpdate::ToolCall(call)).await?;
    change_status(turn, &id, ToolCallStatus::InProgress).await?;
    let done = ToolCallUpdateFields::new()
        .status(ToolCallStatus::Completed)
        .content(vec![ToolCallContent::from("42 lines")])
        .raw_output(json!({"lines": 42}));
    change(turn, &id, done).await?;
    turn.say("README.md has 42 lines.").await?;
    Ok(DONE)
}

/// `diff`
pub(super) async fn diff(turn: &Turn, _: &str) -> Outcome {
    let change_to =
        Diff::new("/mock/greeting.txt", "hello\nwhole world\n").old_text("hello\nworld\n".to_owned());
    let call = ToolCall::new(turn.next_tool_call(), "Edit greeting.txt")
        .kind(ToolKind::Edit)
        .status(ToolCallStatus::InProgress)
        .content(vec![ToolCallContent::from(change_to)])
        .locations(vec![ToolCallLocation::new("/mock/greeting.txt").line(2)]);
    let id = call.tool_call_id.clone();
    turn.update(SessionUpdate::ToolCall(call)).await?;
    change_status(turn, &id, ToolCallStatus::Completed).await?;
    turn.say("greeting.txt is changed.").await?;
    Ok(DONE)
}
