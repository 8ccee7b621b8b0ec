//! Under faults nothing hangs, nothing is lost silently, and memory has a bound.

mod agents;
mod clients;
mod floods;
mod memory;
mod noise;
