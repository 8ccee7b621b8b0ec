//! Asking for permission.

use agent_client_protocol::v1::schema::{
    PermissionOption, PermissionOptionKind, RequestPermissionOutcome, RequestPermissionRequest,
    SessionUpdate, ToolCall, ToolCallStatus, ToolCallUpdate, ToolCallUpdateFields, ToolKind,
};
use serde_json::json;

use crate::turn::{DONE, Outcome, Stop, Turn};

/// The four options, one of each kind: id, name, kind, and whether the tool call may go on.
const OPTIONS: [(&str, &str, PermissionOptionKind, bool); 4] = [
    ("allow-once", "Allow once", PermissionOptionKind::AllowOnce, true),
    ("allow-always", "Always allow", PermissionOptionKind::AllowAlways, true),
    ("reject-once", "Reject once", PermissionOptionKind::RejectOnce, false),
    ("reject-always", "Always reject", PermissionOptionKind::RejectAlways, false),
];

/// `permission`
pub(super) async fn one(turn: &Turn, _: &str) -> Outcome {
    let answer = ask(turn, &announce(turn, 1).await?).await?;
    turn.say(format!("Permission {answer}.")).await?;
    Ok(DONE)
}

/// Shows the tool call that will need a permission.
async fn announce(turn: &Turn, index: u64) -> Result<ToolCall, Stop> {
    let call = ToolCall::new(turn.next_tool_call(), format!("Edit file {index}"))
        .kind(ToolKind::Edit)
        .status(ToolCallStatus::Pending)
        .raw_input(json!({"path": format!("/mock/file-{index}.txt")}));
    turn.update(SessionUpdate::ToolCall(call.clone())).await?;
    Ok(call)
}

/// Asks, finishes the tool call accordingly, and puts the answer in words.
async fn ask(turn: &Turn, call: &ToolCall) -> Result<String, Stop> {
    let options =
        OPTIONS.iter().map(|(id, name, kind, _)| PermissionOption::new(*id, *name, *kind)).collect();
    let request =
        RequestPermissionRequest::new(turn.session.id(), ToolCallUpdate::from(call.clone()), options);
    let finish = async |status| {
        let fields = ToolCallUpdateFields::new().status(status);
        turn.update(SessionUpdate::ToolCallUpdate(ToolCallUpdate::new(call.tool_call_id.clone(), fields)))
            .await
    };
    let outcome = match turn.ask(request).await? {
        Ok(response) => response.outcome,
        Err(error) => {
            finish(ToolCallStatus::Failed).await?;
            return Ok(format!("not given, the client answered with an error: {error}"));
        }
    };
    let RequestPermissionOutcome::Selected(selected) = outcome else {
        finish(ToolCallStatus::Failed).await?;
        return Err(Stop::Cancelled);
    };
    match OPTIONS.iter().find(|option| option.0 == &*selected.option_id.0) {
        Some((id, _, _, true)) => {
            finish(ToolCallStatus::Completed).await?;
            Ok(format!("granted with {id}"))
        }
        Some((id, _, _, false)) => {
            finish(ToolCallStatus::Failed).await?;
            Ok(format!("refused with {id}"))
        }
        None => {
            finish(ToolCallStatus::Failed).await?;
            Ok(format!("refused: {} was not an option", selected.option_id.0))
        }
    }
}
