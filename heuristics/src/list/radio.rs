//! Radio links: frequencies with a given distance to that of a partner.

use super::min_conflicts::as_min_conflicts;
use crate::model::Problem;
use crate::{Ejection, Neighbourhood, ValueHeuristic};

/// Min-conflicts with chains: a link takes a frequency, and its partners follow.
#[derive(Clone, Copy, Debug)]
pub struct Radio;

impl ValueHeuristic for Radio {
    fn name(&self) -> &str {
        "radio"
    }

    fn about(&self) -> &str {
        "\
radio links: min-conflicts with chains that keep partners at their distance
Between passes a link takes another frequency; then the link that this disturbs most takes its cheapest one, and so on,
up to four links: partners move together, where one alone would break their distance. For networks whose functions are
all binary. (Where a distance leaves each frequency one partner, the reductions have already merged the two links.)"
    }

    as_min_conflicts!();

    fn fits(&self, problem: &Problem) -> Result<(), String> {
        let pairs = problem.functions.iter().all(|function| function.scope.len() == 2);
        if pairs { Ok(()) } else { Err("a function of the reduced problem has more than two variables".into()) }
    }

    fn neighbourhood(&self) -> Option<&dyn Neighbourhood> {
        Some(&Ejection { breadth: 1, longest: 4 })
    }
}
