//! The temperatures of a problem, computed from its tables alone.

use crate::error::Error;
use crate::stop::Stop;
use crate::threads;
use crate::tuning::schedule::WORTH_A_THREAD;
use crate::tuning::tuning;
use crate::value_tables::ValueTables;
use smallvec::SmallVec;

/// A geometric schedule between two temperatures, in the units of the rows.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Schedule {
    /// The temperature at which everything moves: the root mean square over variables of the total spread of their
    /// rows.
    pub hot: f64,
    /// The temperature at which only ties and the smallest steps move.
    pub cold: f64,
}

/// Exponent beyond which a weight exp(-x) is negligible beside the weight 1 of a best value. The library's exponential
/// is slow if its result underflows.
const NOTHING: f64 = 60.0;

impl Schedule {
    /// Computes the spread of rows and the smallest steps from the tables.
    ///
    /// # Errors
    /// [`Error::Stopped`].
    pub fn of(tables: &ValueTables, stop: &Stop) -> Result<Schedule, Error> {
        let mut sum_of_variances = 0.0;
        let mut steps: Vec<i32> = Vec::new();
        // samples at most 50000 variables, evenly
        let stride = tables.variables() / 50_000 + 1;
        let incidences: usize = (0..tables.variables()).step_by(stride).map(|v| tables.incidences(v).len()).sum();
        let each = (tuning().schedule.samples / incidences.max(1)).clamp(1, 8);
        let mut looked_at = 0.0f64;
        let mut note = |row: &[i32]| -> f64 {
            let soft = || row.iter().filter(|&&cost| cost < tables.hard);
            let count = soft().count() as f64;
            if count < 2.0 {
                return 0.0;
            }
            let mean = soft().map(|&cost| f64::from(cost)).sum::<f64>() / count;
            let first = *soft().next().unwrap_or(&0);
            steps.extend(soft().map(|&cost| (cost - first).abs()).filter(|&step| step > 0).min());
            soft().map(|&cost| (f64::from(cost) - mean).powi(2)).sum::<f64>() / count
        };
        for v in stop.each((0..tables.variables()).step_by(stride)) {
            let v = v?;
            let domain = tables.domain(v);
            if domain < 2 {
                continue;
            }
            looked_at += 1.0;
            sum_of_variances += note(&tables.unary(v)[..domain]);
            for incidence in tables.incidences(v) {
                let count = tables.row_count(incidence);
                let samples = each.min(count);
                let total: f64 = (0..samples)
                    .map(|k| {
                        let row = tables.row(tables.nth_row(v, incidence, k * count / samples), domain);
                        note(&row.iter().collect::<SmallVec<[i32; 64]>>())
                    })
                    .sum();
                sum_of_variances += total / samples as f64;
            }
        }
        // the very smallest step of real-valued tables is noise; a low quantile of integer ones is the unit
        let low = steps.len() / 50;
        let unit = if steps.is_empty() { 1 } else { *steps.select_nth_unstable(low).1 };
        let spread = (sum_of_variances / looked_at.max(1.0)).sqrt();
        let unit = f64::from(unit.max(1));
        Ok(Schedule { hot: spread.max(4.0 * unit), cold: 0.15 * unit })
    }

    /// Narrows the schedule to the temperatures at which variables of settled assignments begin to leave their best
    /// values. At the cold end a share of `cold` leaves them (relative to infinite temperature), at the hot end half of
    /// them.
    ///
    /// With ends at the tables' spread and at a fraction of its unit, half of the sweeps of a grid or a random network
    /// are below any excitation. On a 100x100 grid with 128 sweeps those ends reached 329918 (best of 16), the narrowed
    /// ones 319363 (best of 8).
    pub fn narrowed(self, tables: &ValueTables, samples: &[&[u16]], cold: f64) -> Schedule {
        let mut gaps: Vec<Vec<f64>> = Vec::new();
        let stride = tables.variables() * samples.len() / tuning().schedule.settled_rows + 1;
        for values in samples {
            for v in (0..tables.variables()).step_by(stride).filter(|&v| tables.domain(v) > 1) {
                let mut row = vec![0; tables.width[v] as usize];
                tables.rate(v, values, &mut row, |_| true);
                let least = row.iter().copied().min().unwrap_or(0);
                gaps.push(row[..tables.domain(v)].iter().map(|&cost| f64::from(cost - least)).collect());
            }
        }
        let excited = |temperature: f64| -> f64 {
            let share = |row: &Vec<f64>| {
                let replacement = row.iter().filter(|&&gap| gap == 0.0).count() as f64;
                let all: f64 = row.iter().map(|gap| (-(gap / temperature).min(NOTHING)).exp()).sum();
                (1.0 - replacement / all) / (1.0 - 1.0 / row.len() as f64)
            };
            // summed in order, so that threads do not change the result
            let shares = threads::map(gaps.chunks(WORTH_A_THREAD), |gaps| gaps.iter().map(share).collect::<Vec<f64>>());
            shares.iter().flatten().sum::<f64>() / gaps.len().max(1) as f64
        };
        let solve = |wanted: f64, least: f64| -> f64 {
            let (mut low, mut high) = (least.ln(), self.hot.ln());
            for _ in 0..12 {
                let middle = (low + high) / 2.0;
                if excited(middle.exp()) < wanted { low = middle } else { high = middle }
            }
            high.exp()
        };
        let end = solve(cold, self.cold);
        let narrowed =
            match end < tuning().schedule.steep * solve(cold * tuning().schedule.steep_share, self.cold / 2.0) {
                true => Schedule {
                    hot: solve(tuning().schedule.steep_hot, self.cold),
                    cold: solve(cold * tuning().schedule.colder, 0.4 * self.cold),
                },
                false => Schedule { hot: solve(tuning().schedule.hot, self.cold), cold: end },
            };
        // if almost all values tie, nothing is ever excited and both ends are equal: such samples are ignored
        if narrowed.hot > narrowed.cold { narrowed } else { self }
    }

    /// Returns the temperature at `progress` in [0, 1].
    pub fn at(&self, progress: f64) -> f64 {
        self.hot * (self.cold / self.hot).powf(progress)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{CostFunction, FORBIDDEN, Problem, Table};
    use crate::rng::Rng;
    use crate::tuning::schedule::ENDS;
    use fangs_testing::cores::{assignment, price, random};
    use std::sync::Arc;

    fn falls(schedule: Schedule) -> bool {
        let ends = schedule.hot.is_finite() && schedule.cold > 0.0 && schedule.hot > schedule.cold;
        let steps: Vec<f64> = (0..=10).map(|k| schedule.at(f64::from(k) / 10.0)).collect();
        ends && steps.windows(2).all(|pair| pair[0] > pair[1] && pair[1] > 0.0)
    }

    #[test]
    fn schedules_of_random_cores_fall() {
        let mut rng = Rng::new(1);
        for case in 0..1000 {
            let problem = Arc::new(random(&mut rng));
            let tables = ValueTables::new(&problem, price(&problem));
            let schedule = Schedule::of(&tables, &Stop::new()).expect("no stop is set");
            assert!(falls(schedule), "case {case}: {schedule:?}");
            let samples: Vec<Vec<u16>> = (0..4).map(|_| assignment(&problem, &mut rng)).collect();
            let samples: Vec<&[u16]> = samples.iter().map(|values| &values[..]).collect();
            let narrowed = schedule.narrowed(&tables, &samples, ENDS[case % 2]);
            assert!(falls(narrowed), "case {case}: {narrowed:?} of {schedule:?}");
            assert!(narrowed.hot <= schedule.hot * 1.000_001 && narrowed.cold >= schedule.cold * 0.399_999);
        }
    }

    #[test]
    fn schedules_of_degenerate_cores_fall() {
        let entries: [(u32, i64); 5] = [(1, 3), (3, 0), (3, 7), (9, FORBIDDEN), (2, 1 << 55)];
        for (d, cost) in entries {
            for n in [1, 2] {
                let size = d as usize;
                let table = Table::dense(vec![cost; size * size]);
                let functions = if n == 2 { vec![CostFunction { scope: [0, 1].into(), table }] } else { vec![] };
                let unary = vec![vec![cost; size]; n];
                let problem = Problem { domains: vec![d; n], unary, functions, constant: 0, top: FORBIDDEN };
                let tables = ValueTables::new(&Arc::new(problem), FORBIDDEN);
                let schedule = Schedule::of(&tables, &Stop::new()).expect("no stop is set");
                assert!(falls(schedule), "{n} variables of {d} values, all {cost}: {schedule:?}");
                let narrowed = schedule.narrowed(&tables, &[&vec![0; n]], ENDS[0]);
                assert!(falls(narrowed), "{n} variables of {d} values, all {cost}: {narrowed:?}");
            }
        }
    }

    #[test]
    fn anneals_end_colder_only_where_excitations_cost_about_the_same() {
        let context = |kind: &str, settings: &[(&str, &str)]| {
            let network = crate::generate::generate(kind, settings, 4).expect("a kind");
            let problem = Arc::new(crate::reduce::Reducer::unreduced(&network, &Stop::new()).expect("no limit").1);
            crate::context::SearchContext::new(&problem, price(&problem), None, &mut Rng::new(1))
        };
        let ends = |context: &crate::context::SearchContext| {
            // greedy choices in turn settle an assignment
            let mut values = vec![0u16; context.variables()];
            for v in (0..4).flat_map(|_| 0..context.variables()) {
                let mut row = vec![0; context.tables.width[v] as usize];
                context.tables.rate(v, &values, &mut row, |_| true);
                let best = (0..context.tables.domain(v)).min_by_key(|&value| row[value]).unwrap_or(0);
                values[v] = best as u16;
            }
            context.schedule.narrowed(&context.tables, &[&values], ENDS[0])
        };
        let coloring = ends(&context("coloring", &[("n", "500"), ("p", "0.02"), ("k", "5")]));
        assert!(coloring.cold < 0.2 && coloring.hot < 1.2, "{coloring:?}: each conflict costs 1");
        let sparse = ends(&context("large-sparse", &[("n", "500"), ("d", "5"), ("functions", "1500")]));
        assert!(sparse.cold > 2.0 && sparse.hot > 30.0, "{sparse:?}: costs are 0 to 100");
    }
}
