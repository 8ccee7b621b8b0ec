//! `/v1/acp` and `/v1/acp/{server_id}`: requests, answers, streams and refusals.

mod answers;
mod delete;
mod get_events;
mod get_replay;
mod http_versions;
mod idempotency;
mod invariant;
mod isolation;
mod journal;
mod list;
mod many;
mod post_checks;
mod post_limits;
mod post_messages;
mod post_starting;
mod post_waiting;
