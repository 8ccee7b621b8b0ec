//! Test support: an environment for commands, a terminal to run them on, and a connection that can be cut.

mod command;
mod cutter;
mod terminal;

pub(crate) use command::Place;
pub(crate) use cutter::Cutter;
pub(crate) use terminal::Terminal;
