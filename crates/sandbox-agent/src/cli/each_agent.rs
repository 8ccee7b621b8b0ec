//! One step for each of several agents. A failure does not stop the others.

use super::error::CliError;

/// The results of the agents that succeeded, and the error of the others.
pub(super) struct Done<T> {
    pub(super) results: Vec<(String, T)>,
    pub(super) outcome: Result<(), CliError>,
}

/// Runs a step for each agent. `action` completes the sentence "2 of 3 agents could not be ...". The error of a single
/// agent is returned as it is; those of several are printed when they happen.
pub(super) async fn run<T>(
    agents: &[String],
    action: &'static str,
    mut step: impl AsyncFnMut(&str) -> Result<T, CliError>,
) -> Done<T> {
    let (mut results, mut failed) = (Vec::new(), 0);
    for agent in agents {
        match step(agent).await {
            Ok(result) => results.push((agent.clone(), result)),
            Err(error) if agents.len() == 1 => return Done { results, outcome: Err(error) },
            Err(error) => {
                failed += 1;
                eprintln!("{agent}: {error}");
            }
        }
    }
    let total = agents.len();
    let outcome = if failed == 0 { Ok(()) } else { Err(CliError::AgentsFailed { failed, total, action }) };
    Done { results, outcome }
}
