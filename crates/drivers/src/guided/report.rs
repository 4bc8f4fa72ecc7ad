//! Reports about a heuristic that behaves invalidly, or does nothing.

use super::backend::TrajectoryResult;
use super::round_context::RoundContext;
use super::{Guided, idle, opening_trajectory};
use crate::constants::guided::OPENING_STATES;
use crate::rng::Rng;
use crate::stop::Stop;

impl Guided {
    /// Returns a message if the heuristic behaved invalidly or did nothing, once.
    pub(super) fn report(
        &mut self,
        round: &RoundContext<'_>,
        results: &[TrajectoryResult],
        stop: &Stop,
    ) -> Option<String> {
        self.acted |= results.iter().any(|result| result.picks.drawn + result.picks.proposed > 0);
        if self.reported {
            return None;
        }
        let context = round.context;
        let shown = vec![0; context.variables()];
        let view = context.view(&shown);
        let name = self.heuristic.name();
        let told = results.iter().find_map(|result| {
            let strange = result.strange.map(|v| {
                let variable = view.origin(v);
                format!("heuristic {name}: the weight of a value of variable {variable} is no number; it weighs 0")
            });
            let weightless = result.weightless.map(|(v, held)| {
                let (variable, value) = (view.origin(v), view.origin_value(v, held.into()));
                format!("heuristic {name}: all values of variable {variable} weigh 0; it keeps value {value}")
            });
            let senseless = result.senseless.map(|(v, value)| {
                format!(
                    "heuristic {name}: it proposes value {value} for variable {v} of the core, which has no such \
                     value; passed over"
                )
            });
            strange.or(weightless).or(senseless)
        });
        let known = self.heuristic.nonsense().map(|what| format!("heuristic {what}; it weighs 0"));
        let new = known.or(told).or_else(|| {
            let start = |slot| Self::start(&*self.heuristic, context, &mut Rng::new(slot));
            let starts = || (0..OPENING_STATES as u64).map(start).collect();
            let idle = || idle::explain(round, &*self.heuristic, starts(), opening_trajectory(context), stop);
            if self.acted { None } else { idle() }
        });
        self.reported = new.is_some();
        new
    }
}
