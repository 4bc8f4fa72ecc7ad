use super::*;
use crate::elimination::testing::shuffled;
use crate::generate::generate;
use crate::model::FORBIDDEN;
use crate::order::Order;
use crate::rng::Rng;
use fangs_testing::band as wide;
use fangs_testing::problems::{assignments, random};

const ROOMY: u64 = 1 << 30;

/// Most entries of a message, for searches that limit them.
const SHORT: u64 = 3;

const STYLES: [Style; 3] = [Style::Light, Style::Heavy, Style::Cut { message_entries: SHORT }];

fn begin(problem: &Arc<Problem>, ub: Option<Cost>, order: &Order, memory: u64, style: Style) -> Option<Branch> {
    Branch::new(Begin { problem, ub, order, memory, journal: false, network: None }, style, &Stop::new())
}

fn optimum(problem: &Problem) -> Cost {
    assignments(problem).map(|assignment| problem.cost(&assignment)).min().expect("there is an assignment")
}

/// Runs a search to its end in slices of `work`; its bound must neither fall nor pass `optimum`.
fn finish(branch: &mut Branch, work: u64, optimum: Cost) -> Option<Vec<u32>> {
    let (stop, mut solution) = (Stop::new(), None);
    let mut before = branch.lower_bound();
    loop {
        let progress = branch.advance(work, &stop);
        let bound = branch.lower_bound();
        assert!(bound >= before && bound <= optimum, "{before} {bound} {optimum}");
        before = bound;
        solution = branch.take_solution().or(solution);
        if progress == Progress::Done {
            assert!(branch.is_done());
            return solution;
        }
    }
}

#[test]
fn searches_prove_the_optimum_whatever_is_known() {
    let mut rng = Rng::new(41);
    let (mut solved, mut none, mut nodes, mut cut) = (0, 0, 0, 0);
    for case in 0..3000 {
        let problem = Arc::new(if case % 20 == 0 { wide(&mut rng, 8, 3, 6) } else { random(&mut rng, 4) });
        let optimum = optimum(&problem);
        let order = shuffled(&problem, &mut rng);
        let known = [None, Some(optimum - 2), Some(optimum), Some(optimum + 1), Some(optimum + 40)];
        for ub in known.map(|ub| ub.map(|ub| ub.min(FORBIDDEN))) {
            let limit = ub.unwrap_or(problem.top).min(problem.top);
            for style in STYLES {
                let mut branch = begin(&problem, ub, &order, ROOMY, style).expect("small costs");
                (branch.leaf, branch.mini) = (4.0, 8.0);
                let solution = finish(&mut branch, 1 + rng.below(200), optimum.min(limit));
                assert_eq!(branch.lower_bound(), optimum.min(limit), "case {case} {style:?} {ub:?}");
                nodes += branch.nodes();
                assert!(branch.pruned() <= branch.nodes() && branch.sent().runs <= branch.nodes(), "case {case}");
                if style == STYLES[2] {
                    assert!(branch.sent().largest <= SHORT, "case {case} {:?}", branch.sent());
                    cut += branch.cut().count();
                }
                if optimum < limit {
                    solved += 1;
                    assert_eq!(solution.map(|values| problem.cost(&values)), Some(optimum), "case {case}");
                } else {
                    none += 1;
                    assert_eq!(solution, None, "case {case}");
                }
            }
        }
    }
    assert!(solved > 5000 && none > 5000 && nodes > 20_000 && cut > 1000, "{solved} {none} {nodes} {cut}");
}

#[test]
fn the_first_batch_comes_to_a_solution() {
    let network = generate("grid", &[("side", "15"), ("d", "6"), ("p2", "0")], 1).expect("a kind");
    let problem = Arc::new(
        Reducer::new(&network, false, &Stop::new()).expect("no limit").problem(&Stop::new()).expect("no stop is set"),
    );
    let order = shuffled(&problem, &mut Rng::new(47));
    let mut branch = begin(&problem, None, &order, ROOMY, Style::Light).expect("small costs");
    while branch.nodes() == 0 {
        let _ = branch.advance(1, &Stop::new());
    }
    // the usual dives of a batch are too short to reach a leaf
    let (nodes, batch) = (branch.nodes(), BATCH as u64);
    assert!(
        branch.take_solution().is_some() && branch.work_done() > 2 * batch * tuning().branch.least_dive,
        "{nodes} nodes"
    );
}

#[test]
fn a_search_may_begin_again_on_the_way() {
    let mut rng = Rng::new(45);
    let mut again = 0;
    for _ in 0..600 {
        let problem = Arc::new(wide(&mut rng, 8, 3, 6));
        let (optimum, order) = (optimum(&problem), shuffled(&problem, &mut rng));
        let limit = optimum.min(problem.top);
        for style in STYLES {
            let mut branch = begin(&problem, None, &order, ROOMY, style).expect("small costs");
            (branch.leaf, branch.mini) = (4.0, 8.0);
            let mut solution = None;
            for _ in 0..1 + rng.below(4) {
                let _ = branch.advance(1, &Stop::new());
                solution = branch.take_solution().or(solution);
            }
            let (bound, open) = (branch.lower_bound(), branch.open.len());
            branch.begin_again();
            assert_eq!((branch.lower_bound(), branch.open.len()), (bound, open.min(1)));
            again += u32::from(open > 1);
            solution = finish(&mut branch, 1 + rng.below(200), limit).or(solution);
            assert_eq!(branch.lower_bound(), limit);
            assert_eq!(solution.map(|values| problem.cost(&values)), (optimum < problem.top).then_some(optimum));
        }
    }
    assert!(again > 100, "{again} had several nodes open");
}

#[test]
fn an_upper_bound_may_improve_on_the_way() {
    let mut rng = Rng::new(42);
    for case in 0..1000 {
        let problem = Arc::new(random(&mut rng, 4));
        let optimum = optimum(&problem);
        let order = shuffled(&problem, &mut rng);
        for style in STYLES {
            let mut branch = begin(&problem, None, &order, ROOMY, style).expect("small costs");
            (branch.leaf, branch.mini) = (4.0, 8.0);
            let mut best = problem.top.min(FORBIDDEN);
            for step in 0.. {
                let progress = branch.advance(1, &Stop::new());
                if let Some(values) = branch.take_solution() {
                    best = best.min(problem.cost(&values));
                }
                assert!(branch.lower_bound() <= optimum.min(problem.top), "case {case}");
                if progress == Progress::Done {
                    break;
                }
                if step == 1 && optimum + 1 < best {
                    best = optimum + 1;
                    branch.tighten(best);
                }
            }
            assert_eq!(branch.lower_bound(), optimum.min(problem.top), "case {case}");
            assert_eq!(best, optimum.min(problem.top).min(FORBIDDEN), "case {case}");
        }
    }
}

/// The open part of the tree only shrinks, so the work left has an estimate once it has shrunk.
#[test]
fn a_search_tells_what_is_left_of_it() {
    let mut rng = Rng::new(49);
    let (mut told, mut untold) = (0, 0);
    for _ in 0..100 {
        let problem = Arc::new(wide(&mut rng, 12, 4, 7));
        let order = shuffled(&problem, &mut rng);
        // heavy nodes come one at a time
        let mut branch = begin(&problem, None, &order, ROOMY, Style::Heavy).expect("small costs").leaves(2.0);
        assert_eq!(branch.work_left(), u64::MAX);
        let mut open = 1.0;
        while branch.advance(1, &Stop::new()) == Progress::More {
            let now: f64 = branch.open.iter().map(|node| node.part).sum();
            assert!(0.0 < now && now <= open + 1e-9, "{now} {open}");
            open = now;
            let left = branch.work_left();
            assert!(left > 0);
            told += u32::from(left < u64::MAX);
            untold += u32::from(left == u64::MAX);
        }
        assert_eq!(branch.work_left(), 0);
    }
    assert!(told > 100 && untold > 20, "{told} {untold}");
}

/// Threads share the nodes of a batch; they must not change the results or their order.
#[test]
fn threads_do_not_change_a_search() {
    let mut rng = Rng::new(43);
    let pool = |threads| rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("threads");
    let (one, two) = (pool(1), pool(2));
    for case in 0..60 {
        let problem = Arc::new(if case % 2 == 0 { wide(&mut rng, 12, 4, 7) } else { random(&mut rng, 7) });
        let order = shuffled(&problem, &mut rng);
        for style in STYLES {
            let record = || {
                let mut branch = begin(&problem, None, &order, ROOMY, style).expect("small costs");
                (branch.leaf, branch.mini) = (4.0, 8.0);
                let mut record = Vec::new();
                loop {
                    let progress = branch.advance(1, &Stop::new());
                    let (bound, work, nodes) = (branch.lower_bound(), branch.work_done(), branch.nodes());
                    record.push((bound, work, nodes, branch.open.len(), branch.take_solution()));
                    if progress == Progress::Done {
                        return record;
                    }
                }
            };
            assert_eq!(one.install(record), two.install(record));
        }
    }
}

#[test]
fn a_set_flag_ends_a_search_early_and_loses_nothing() {
    let mut rng = Rng::new(44);
    let problem = Arc::new(random(&mut rng, 4));
    let order = shuffled(&problem, &mut rng);
    let stop = Stop::new();
    let mut branch = begin(&problem, None, &order, ROOMY, Style::Light).expect("small costs");
    let bound = branch.lower_bound();
    stop.set(crate::stop::Cause::Signal);
    assert_eq!(branch.advance(u64::MAX, &stop), Progress::More);
    assert_eq!(branch.lower_bound(), bound);
    let optimum = optimum(&problem).min(problem.top);
    let _ = finish(&mut branch, u64::MAX, optimum);
    assert_eq!(branch.lower_bound(), optimum);
}

/// A search declines if it has no room, or if costs are too large to be added.
#[test]
fn searches_that_do_not_fit_are_declined() {
    let mut problem = random(&mut Rng::new(45), 4);
    let order = shuffled(&problem, &mut Rng::new(46));
    assert!(begin(&Arc::new(problem.clone()), None, &order, 100, Style::Light).is_none());
    problem.top = FORBIDDEN;
    problem.unary[0][0] = 1 << 50;
    assert!(begin(&Arc::new(problem), None, &order, ROOMY, Style::Light).is_none());
}

#[test]
fn traces_know_all_work_and_lead_to_each_other() {
    let mut rng = Rng::new(47);
    let mut several = 0;
    for _ in 0..300 {
        let problem = Arc::new(random(&mut rng, 4));
        let order = shuffled(&problem, &mut rng);
        let style = [Style::Light, Style::Heavy][rng.index(2)];
        let begin = Begin { problem: &problem, ub: None, order: &order, memory: ROOMY, journal: true, network: None };
        let mut branch = Branch::new(begin, style, &Stop::new()).expect("small costs").leaves(2.0);
        let trace = branch.trace.clone().expect("searches keep them");
        loop {
            let progress = branch.advance(1, &Stop::new());
            // a certificate states the work: that at the root counts even before the first branching
            assert_eq!(trace.work(), branch.work_done());
            let (list, deepest) = trace.list(Cost::MAX);
            // the list contains all nodes that still have to be split, and the trace the size of the mini-buckets of
            // the rest
            let (needed, _) = trace.list(branch.lower_bound());
            assert!(needed.len() <= list.len() && (style == Style::Heavy || needed == list && trace.mini() == 0));
            assert!(deepest as usize <= list.len());
            assert!(list.iter().enumerate().skip(1).all(|(place, &(_, before, _))| (before as usize) < place));
            several += usize::from(list.len() > 3);
            if progress == Progress::Done {
                break;
            }
        }
    }
    assert!(several > 20, "{several}");
}
