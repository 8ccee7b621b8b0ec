//! The report: a table, a page and plots.

mod page;
mod plot;
mod samples;
mod statistics;
mod table;

pub(crate) use page::write as write_page;
pub(crate) use plot::{Plot, Unit};
pub(crate) use samples::Samples;
pub(crate) use statistics::{Spread, percentile};
pub(crate) use table::{Goal, Row};
