//! `/v1/acp` and `/v1/acp/{server_id}`: what goes in, what comes out, and what is refused.

mod post_checks;
mod post_messages;
