//! What the tests stand on: a place to run commands in, a terminal to run them on, and a line that can be cut.

mod command;
mod cutter;
mod terminal;

pub(crate) use command::Place;
pub(crate) use cutter::Cutter;
pub(crate) use terminal::Terminal;
