//! Under faults nothing hangs, nothing is lost silently, and memory has a bound.

mod clients;
mod floods;
mod memory;
mod noise;
