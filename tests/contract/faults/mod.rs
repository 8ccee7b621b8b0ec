//! With faulty agents and clients, nothing hangs, nothing is lost silently, and memory is bounded.

mod agents;
mod clients;
mod floods;
mod heads;
mod memory;
mod noise;
mod slow_readers;
