use super::*;
use crate::bounds::constant_bound;
use crate::elimination::tests::{random, run, shuffled};
use crate::elimination::{Limits, Outcome, Progress, Run};
use crate::model::{SparseTable, Table};
use crate::order::Order;
use crate::rng::Rng;
use std::any::Any;
use std::sync::Arc;

const ROOMY: RowLimits = RowLimits { bytes: 1 << 30, work: u64::MAX };

fn by_rows(problem: &Problem, order: &Order, ub: Option<Cost>) -> Plan {
    Plan::by_rows(problem, order, ub, ROOMY, &Stop::new()).expect("keys are narrow")
}

/// Returns a random limit that all, some or no solutions are below.
fn some_ub(rng: &mut Rng, problem: &Problem) -> Option<Cost> {
    let bound = constant_bound(problem);
    [None, Some(bound + rng.below(3) as Cost), Some(bound + rng.below(200) as Cost)][rng.index(3)]
}

fn rows_of(outcome: &Outcome) -> &Accounting {
    let rows: &dyn Any = outcome.messages.rows().expect("by rows");
    rows.downcast_ref::<Listed>().expect("by rows").accounting()
}

#[test]
fn rows_say_what_dense_tables_say() {
    let mut rng = Rng::new(42);
    let (mut listed, mut dropped, mut hopeless) = (0, 0, 0);
    for case in 0..4000 {
        let problem = Arc::new(random(&mut rng, 7));
        let order = shuffled(&problem, &mut rng);
        let ub = some_ub(&mut rng, &problem);
        let plan = Plan::new(&problem, &order, &Limits { ub, ..Limits::new(1 << 30) });
        let (cap, limit) = (plan.costs.cap, plan.costs.limit);
        let dense = run(&problem, plan);
        let rows = run(&problem, by_rows(&problem, &order, ub));
        assert!(dense.exact() && rows.exact());
        assert_eq!(dense.lower_bound(), rows.lower_bound(), "case {case}");
        if rows.lower_bound() >= limit || rows_of(&rows).total() >= cap {
            hopeless += 1;
            assert!(rows.assign(&Stop::new()).is_none() && rows.message(0).is_none());
            continue;
        }
        assert_eq!(dense.assign(&Stop::new()), rows.assign(&Stop::new()), "case {case}");
        for step in 0..dense.plan().steps.len() {
            let bar = rows_of(&rows).dropped[step];
            let [dense, rows] = [&dense, &rows].map(|outcome| outcome.message(step).expect("kept"));
            assert_eq!(dense.len(), rows.len());
            for (dense, rows) in dense.into_iter().zip(rows) {
                assert_eq!(rows, if dense < bar { dense } else { cap }, "case {case}, step {step}");
                if dense < bar { listed += 1 } else { dropped += 1 }
            }
        }
    }
    assert!(listed > 20_000 && dropped > 5_000 && hopeless > 500, "{listed} {dropped} {hopeless}");
}

#[test]
fn ratings_are_those_of_dense_tables_below_the_limit() {
    let mut rng = Rng::new(43);
    let (mut below, mut above) = (0, 0);
    for _ in 0..1500 {
        let problem = Arc::new(random(&mut rng, 4));
        let order = shuffled(&problem, &mut rng);
        let ub = some_ub(&mut rng, &problem);
        let rows = run(&problem, by_rows(&problem, &order, ub));
        let dense = run(&problem, Plan::new(&problem, &order, &Limits { ub, ..Limits::new(1 << 30) }));
        let (Some(sparse), Some(dense)) = (rows.cost_to_go(), dense.cost_to_go()) else { continue };
        // sums of this cost or more exceed the limit, or all finite costs together
        let limit = rows.plan.costs.limit.min(problem.constant + rows.plan.costs.cap);
        for _ in 0..5 {
            let target: Vec<u32> = problem.domains.iter().map(|&d| rng.below(d.into()) as u32).collect();
            let mut f = dense.start();
            for position in (0..dense.positions()).rev() {
                let mut rises = [vec![0; dense.domain(position)], vec![0; dense.domain(position)]];
                dense.rate(position, &target, &mut rises[0]);
                sparse.rate(position, &target, &mut rises[1]);
                for (&dense, &sparse) in rises[0].iter().zip(&rises[1]) {
                    if add(f, dense) < limit {
                        below += 1;
                        assert_eq!(dense, sparse);
                    } else {
                        above += 1;
                        assert!(add(f, sparse) >= limit);
                    }
                }
                f = add(f, rises[0][target[dense.variable(position) as usize] as usize]);
            }
        }
    }
    assert!(below > 5000 && above > 5000, "{below} {above}");
}

#[test]
fn slices_threads_and_widths_make_the_same_rows() {
    let mut rng = Rng::new(44);
    for _ in 0..10 {
        let problem = Arc::new(crate::elimination::tests::wide(&mut rng, 12, 3, 6));
        let order = shuffled(&problem, &mut rng);
        let plan = by_rows(&problem, &order, None);
        let whole = run(&problem, plan.clone());
        let single = rayon::ThreadPoolBuilder::new().num_threads(1).build().expect("one thread");
        let sliced = single.install(|| {
            let mut run = Run::new(problem.clone(), plan.clone());
            while run.advance(1, &Stop::new()) == Progress::More {}
            run.finish().expect("done")
        });
        let mut accounting = Accounting::new(&plan, ROOMY);
        accounting.begin(&problem, &plan, &Stop::new()).expect("no stop is set");
        let mut long = Elimination::<u128>::new(accounting, &plan);
        assert!(long.advance(&problem, &plan, u64::MAX, &Stop::new()));
        assert_eq!(whole.lower_bound(), sliced.lower_bound());
        for step in 0..plan.steps.len() {
            assert_eq!(whole.message(step), sliced.message(step));
            assert_eq!(whole.message(step), long.message(&plan, step));
        }
        assert_eq!(rows_of(&whole).work_done(), long.accounting.work_done());
        assert!(rows_of(&whole).taken().1 > 100);
    }
}

#[test]
fn what_passes_its_limits_still_comes_to_a_bound() {
    let mut rng = Rng::new(45);
    let (mut gave_up, mut raised) = (0, 0);
    for _ in 0..2000 {
        let problem = Arc::new(random(&mut rng, 7));
        let order = shuffled(&problem, &mut rng);
        let ub = some_ub(&mut rng, &problem);
        let exact = run(&problem, by_rows(&problem, &order, ub)).lower_bound();
        let limits = RowLimits { bytes: rng.below(4000), work: rng.below(20_000) };
        let outcome = run(&problem, Plan::by_rows(&problem, &order, ub, limits, &Stop::new()).expect("narrow"));
        if outcome.exact() {
            assert_eq!(outcome.lower_bound(), exact);
            continue;
        }
        gave_up += 1;
        assert!(outcome.lower_bound() <= exact && outcome.lower_bound() >= constant_bound(&problem).min(exact));
        raised += u32::from(outcome.lower_bound() > constant_bound(&problem));
        assert!(
            outcome.assign(&Stop::new()).is_none() && outcome.message(0).is_none() && outcome.cost_to_go().is_none()
        );
        assert!(outcome.value_bounds(&Stop::new()).is_none());
    }
    assert!(gave_up > 300 && raised > 5, "{gave_up} {raised}");
}

/// Functions of forty variables of four values with few feasible tuples do not fit any dense table.
#[test]
fn scopes_beyond_64_bits() {
    let mut rng = Rng::new(46);
    for _ in 0..200 {
        let [from, to] = [0..40u32, 20..60u32];
        let mut tuples = || -> Vec<(Vec<u32>, Cost)> {
            (0..30).map(|_| ((0..40).map(|_| rng.below(4) as u32).collect(), rng.below(50) as Cost)).collect()
        };
        let (first, mut second) = (tuples(), tuples());
        // some pairs agree on the shared variables
        for (k, (values, _)) in second.iter_mut().enumerate() {
            values[..20].copy_from_slice(&first[k % 7].0[20..]);
        }
        let optimum = first
            .iter()
            .flat_map(|(a, x)| second.iter().filter(|(b, _)| a[20..] == b[..20]).map(move |(_, y)| x + y))
            .min()
            .expect("some agree");
        let function = |scope: std::ops::Range<u32>, tuples: &[(Vec<u32>, Cost)]| crate::model::CostFunction {
            scope: scope.collect(),
            table: Table::Sparse(
                SparseTable::new(
                    40,
                    FORBIDDEN,
                    tuples.iter().flat_map(|(values, _)| values.clone()).collect(),
                    tuples.iter().map(|&(_, cost)| cost).collect(),
                )
                .into(),
            ),
        };
        let problem = Arc::new(Problem {
            domains: vec![4; 60],
            unary: vec![vec![0; 4]; 60],
            functions: vec![function(from, &first), function(to, &second)],
            constant: 5,
            top: FORBIDDEN,
        });
        let order = shuffled(&problem, &mut rng);
        // the scope of both functions together has 120 bits
        let outcome = run(&problem, by_rows(&problem, &order, None));
        assert_eq!(outcome.lower_bound(), 5 + optimum);
        let assignment = outcome.assign(&Stop::new()).expect("there are solutions");
        assert_eq!(problem.cost(&assignment), 5 + optimum);
    }
    let domains = vec![4; 65];
    let function = crate::model::CostFunction {
        scope: (0..65).collect(),
        table: Table::Sparse(SparseTable::new(65, FORBIDDEN, vec![0; 65], vec![1]).into()),
    };
    let problem =
        Problem { domains, unary: vec![vec![0; 4]; 65], functions: vec![function], constant: 0, top: FORBIDDEN };
    let order = shuffled(&problem, &mut rng);
    assert!(Plan::by_rows(&problem, &order, None, ROOMY, &Stop::new()).is_none(), "130 bits");
}
