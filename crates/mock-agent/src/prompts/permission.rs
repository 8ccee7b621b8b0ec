//! Permission requests, one or many at once.
//!
//! The agent remembers no decision: "always" applies only to one tool call, so the next prompt asks again.

use agent_client_protocol::v1::schema::{
    PermissionOption, PermissionOptionKind, RequestPermissionOutcome, RequestPermissionRequest,
    SessionUpdate, ToolCall, ToolCallStatus, ToolCallUpdate, ToolKind,
};
use futures_util::future::try_join_all;
use serde_json::json;

use super::{required_number, work};
use crate::turn::{DONE, Outcome, Stop, Turn};

/// The maximum number of requests in one `permissions` or `questions`.
pub(super) const MAX_AT_ONCE: u64 = 1_000;

/// The effect of an option on the tool call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Decision {
    Granted,
    Refused,
}

/// The four options of a permission request, one of each kind.
const OPTIONS: [(&str, &str, PermissionOptionKind, Decision); 4] = [
    ("allow-once", "Allow once", PermissionOptionKind::AllowOnce, Decision::Granted),
    ("allow-always", "Always allow", PermissionOptionKind::AllowAlways, Decision::Granted),
    ("reject-once", "Reject once", PermissionOptionKind::RejectOnce, Decision::Refused),
    ("reject-always", "Always reject", PermissionOptionKind::RejectAlways, Decision::Refused),
];

/// `permission`
pub(super) async fn one(turn: &Turn, _: &str) -> Outcome {
    let call = announce(turn, 1).await?;
    let answer = ask(turn, &call).await?;
    turn.say(format!("Permission {}.", answer.ok_or(Stop::Cancelled)?)).await?;
    Ok(DONE)
}

/// `permissions N`
pub(super) async fn many(turn: &Turn, rest: &str) -> Outcome {
    let count = required_number(rest, 0, MAX_AT_ONCE)?;
    let mut calls = Vec::new();
    for index in 1..=count {
        calls.push(announce(turn, index).await?);
    }
    let answers = try_join_all(calls.iter().map(|call| ask(turn, call))).await?;
    for (index, answer) in answers.into_iter().enumerate() {
        turn.say(format!("Permission {} {}.\n", index + 1, answer.ok_or(Stop::Cancelled)?)).await?;
    }
    turn.say(format!("All {count} permissions are answered.")).await?;
    Ok(DONE)
}

/// Sends the tool call that needs a permission.
async fn announce(turn: &Turn, index: u64) -> Result<ToolCall, Stop> {
    let call = ToolCall::new(turn.next_tool_call(), format!("Edit file {index}"))
        .kind(ToolKind::Edit)
        .status(ToolCallStatus::Pending)
        .raw_input(json!({"path": format!("/mock/file-{index}.txt")}));
    turn.update(SessionUpdate::ToolCall(call.clone())).await?;
    Ok(call)
}

/// Requests the permission, finishes the tool call accordingly, and describes the answer; `None` for `cancelled`.
async fn ask(turn: &Turn, call: &ToolCall) -> Result<Option<String>, Stop> {
    let options =
        OPTIONS.iter().map(|(id, name, kind, _)| PermissionOption::new(*id, *name, *kind)).collect();
    let request =
        RequestPermissionRequest::new(turn.session.id(), ToolCallUpdate::from(call.clone()), options);
    let (decision, words) = match turn.ask(request).await?.map(|response| response.outcome) {
        Ok(RequestPermissionOutcome::Selected(selected)) => {
            let id = &*selected.option_id.0;
            match OPTIONS.iter().find(|option| option.0 == id) {
                Some((_, _, _, Decision::Granted)) => (Decision::Granted, Some(format!("granted with {id}"))),
                Some((_, _, _, Decision::Refused)) => (Decision::Refused, Some(format!("refused with {id}"))),
                None => (Decision::Refused, Some(format!("refused: {id} was not an option"))),
            }
        }
        // The outcome `cancelled`, and any outcomes that ACP may add.
        Ok(_) => (Decision::Refused, None),
        Err(error) => {
            (Decision::Refused, Some(format!("not given: the client answered with an error: {error}")))
        }
    };
    let status = match decision {
        Decision::Granted => ToolCallStatus::Completed,
        Decision::Refused => ToolCallStatus::Failed,
    };
    work::change_status(turn, &call.tool_call_id, status).await?;
    Ok(words)
}
