//! A deterministic ACP agent for tests and for the first five minutes.
