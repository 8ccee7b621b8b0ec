//! The measurements, one file per subject. Each returns its rows of the table.

mod archive;
mod busy;
mod files;
mod growth;
mod idle;
mod large;
mod lines;
mod many;
mod mirror;
mod reconnect;
mod requests;
mod sdk;
mod start;
mod streams;

use std::pin::Pin;

use crate::Result;
use crate::context::Context;
use crate::report::Row;

pub(crate) use requests::load;

type Rows<'a> = Pin<Box<dyn Future<Output = Result<Vec<Row>>> + 'a>>;

/// One subject, by the name that selects it on the command line.
pub(crate) struct Measurement {
    pub(crate) name: &'static str,
    pub(crate) measure: for<'a> fn(&'a Context) -> Rows<'a>,
}

/// All measurements, in the order of the table.
pub(crate) const ALL: [Measurement; 14] = [
    Measurement { name: "requests", measure: |context| Box::pin(requests::measure(context)) },
    Measurement { name: "sdk", measure: |context| Box::pin(sdk::measure(context)) },
    Measurement { name: "busy", measure: |context| Box::pin(busy::measure(context)) },
    Measurement { name: "mirror", measure: |context| Box::pin(mirror::measure(context)) },
    Measurement { name: "streams", measure: |context| Box::pin(streams::measure(context)) },
    Measurement { name: "lines", measure: |context| Box::pin(lines::measure(context)) },
    Measurement { name: "reconnect", measure: |context| Box::pin(reconnect::measure(context)) },
    Measurement { name: "large", measure: |context| Box::pin(large::measure(context)) },
    Measurement { name: "idle", measure: |context| Box::pin(idle::measure(context)) },
    Measurement { name: "start", measure: |context| Box::pin(start::measure(context)) },
    Measurement { name: "many", measure: |context| Box::pin(many::measure(context)) },
    Measurement { name: "files", measure: |context| Box::pin(files::measure(context)) },
    Measurement { name: "archive", measure: |context| Box::pin(archive::measure(context)) },
    Measurement { name: "growth", measure: |context| Box::pin(growth::measure(context)) },
];
