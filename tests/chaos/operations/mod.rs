//! The operations of a round. Each operation draws its parameters at random, and checks the answers.

mod configuration;
pub(crate) mod files;
mod hostile;
pub(crate) mod instances;
pub(crate) mod messages;
mod multiplexed;
mod processes;
mod readers;

use std::sync::Arc;

use crate::random::Random;
use crate::round::Round;

type Operation = fn(&Arc<Round>, &mut Random);

/// All operations, each with its weight.
const OPERATIONS: &[(u64, Operation)] = &[
    (8, instances::open),
    (5, instances::close),
    (3, instances::conversation),
    (8, messages::waiting),
    (8, messages::without_waiting),
    (5, messages::repeated),
    (6, messages::watched),
    (4, messages::answers),
    (10, messages::misbehaviour),
    (3, processes::forks),
    (5, processes::signals),
    (10, readers::follow),
    (3, readers::stall),
    (3, readers::crowd),
    (4, hostile::bad_messages),
    (2, hostile::oversized),
    (4, hostile::half),
    (3, multiplexed::requests),
    (3, multiplexed::frames),
    (6, files::write),
    (6, files::read),
    (4, files::change),
    (3, files::archives),
    (2, files::cut),
    (5, configuration::entries),
];

/// Executes a random operation.
pub(crate) fn one(round: &Arc<Round>, random: &mut Random) {
    random.weighted(OPERATIONS)(round, random);
}
