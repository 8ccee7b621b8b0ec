//! A tiny process between the server and one agent that owns the agent's whole process tree.
