use super::*;
use crate::model::{CostFunction, Table};
use crate::rng::{Rng, mix};
use fangs_testing::Shape;
use std::collections::BTreeSet;

fn graph(domains: Vec<u32>, edges: &[(u32, u32)]) -> Problem {
    let functions = edges
        .iter()
        .map(|&(a, b)| {
            let size = (domains[a as usize] * domains[b as usize]) as usize;
            CostFunction { scope: [a, b].into(), table: Table::dense(vec![0; size]) }
        })
        .collect();
    let unary = domains.iter().map(|&d| vec![0; d as usize]).collect();
    Problem { domains, unary, functions, constant: 0, top: crate::model::FORBIDDEN }
}

fn grid(side: u32, domain: u32) -> Problem {
    let mut edges = Vec::new();
    for v in 0..side * side {
        if v % side + 1 < side {
            edges.push((v, v + 1));
        }
        if v + side < side * side {
            edges.push((v, v + side));
        }
    }
    graph(vec![domain; (side * side) as usize], &edges)
}

fn random(rng: &mut Rng, n: usize) -> Problem {
    Shape { variables: n, domains: &[1, 2, 3, 4, 5, 6, 7], functions: n * n / 5, ..Shape::PLAIN }.problem(rng)
}

/// Returns the neighbours of each variable.
fn sets(graph: &Graph) -> Vec<BTreeSet<u32>> {
    (0..graph.len()).map(|v| graph.neighbours(v).iter().copied().collect()).collect()
}

/// Returns width, joint entries and largest message of a sequence, computed with sets.
fn literal(problem: &Problem, sequence: &[u32]) -> (u32, f64, f64) {
    let mut sets = sets(&Graph::new(problem, &Stop::new()).expect("not stopped"));
    let (mut width, mut joint, mut largest) = (0, 0.0, 1f64);
    for &v in sequence {
        let ring = std::mem::take(&mut sets[v as usize]);
        let entries: f64 = ring.iter().map(|&u| f64::from(problem.domains[u as usize])).product();
        width = width.max(ring.len() as u32);
        joint += entries * f64::from(problem.domains[v as usize]);
        largest = largest.max(entries);
        for &a in &ring {
            sets[a as usize].extend(ring.iter().filter(|&&b| b != a));
            let _ = sets[a as usize].remove(&v);
        }
    }
    (width, joint, largest)
}

#[test]
fn counts_agree_with_a_literal_elimination() {
    let mut rng = Rng::new(5);
    for round in 0..300 {
        let problem = random(&mut rng, 1 + round % 14);
        for (_, method) in Method::ALL {
            let order = Order::greedy(&problem, method, rng.draw(), &Stop::new());
            let (width, joint, largest) = literal(&problem, &order.sequence);
            assert_eq!((order.width, order.joint_entries, order.largest), (width, joint, largest), "{method:?}");
            let given = Order::given(&problem, &order.sequence, &Stop::new()).expect("a permutation");
            assert_eq!((given.width, given.joint_entries), (width, joint));
        }
    }
}

/// The incremental scores choose the same variables as scores counted from scratch.
#[test]
fn min_fill_always_takes_the_least_fill() {
    let mut rng = Rng::new(6);
    for _ in 0..200 {
        let problem = random(&mut rng, 11);
        for weighted in [false, true] {
            let method = if weighted { Method::WeightedMinFill } else { Method::MinFill };
            let graph = Graph::new(&problem, &Stop::new()).expect("not stopped");
            let rule = Rule::Greedy { method, seed: 3, late: &[], most: f64::INFINITY };
            let (run, _) = eliminate(&graph, &problem.domains, rule, f64::INFINITY, EFFORT, &Stop::new());
            let cost = run.expect("no limit").joint_entries;
            // repeat a literal min-fill with equal ties
            let weight = |v: u32| if weighted { u64::from(problem.domains[v as usize]) } else { 1 };
            let mut sets = sets(&graph);
            let mut left: Vec<u32> = (0..11).collect();
            let mut sequence = Vec::new();
            while !left.is_empty() {
                let fill = |v: u32| -> u64 {
                    let ring = &sets[v as usize];
                    let pairs = ring.iter().flat_map(|&a| ring.iter().map(move |&b| (a, b)));
                    pairs
                        .filter(|&(a, b)| a < b && !sets[a as usize].contains(&b))
                        .map(|(a, b)| weight(a) * weight(b))
                        .sum()
                };
                let v = *left.iter().min_by_key(|&&v| (fill(v), mix(3, u64::from(v)), v)).expect("not empty");
                left.retain(|&u| u != v);
                sequence.push(v);
                let ring = std::mem::take(&mut sets[v as usize]);
                for &a in &ring {
                    sets[a as usize].extend(ring.iter().filter(|&&b| b != a));
                    let _ = sets[a as usize].remove(&v);
                }
            }
            assert_eq!(cost, literal(&problem, &sequence).1);
        }
    }
}

#[test]
fn trees_have_width_one_and_cycles_two() {
    let path: Vec<(u32, u32)> = (0..9).map(|v| (v, v + 1)).collect();
    let mut cycle = path.clone();
    cycle.push((0, 9));
    for (_, method) in Method::ALL {
        let width = |edges: &[(u32, u32)]| best_order(&graph(vec![3; 10], edges), &[method], 1, 2, &Stop::new()).width;
        assert_eq!(width(&path), 1);
        assert_eq!(width(&cycle), 2);
        assert_eq!(width(&[]), 0);
    }
}

/// The induced width of a grid is about its shorter side; greedy fill ends with wider cliques.
#[test]
fn sweeps_keep_a_thin_front() {
    let problem = grid(10, 5);
    let sweep = best_order(&problem, &[Method::Sweep], 1, 8, &Stop::new());
    let fill = best_order(&problem, &[Method::MinFill], 1, 8, &Stop::new());
    assert!(sweep.width <= 11 && sweep.joint_entries < fill.joint_entries, "{} {}", sweep.width, fill.width);
    assert_eq!(sweep.method, Some(Method::Sweep));
}

#[test]
fn restarts_never_lose_and_never_depend_on_threads() {
    let problem = grid(8, 4);
    let methods = [Method::MinFill, Method::WeightedMinFill];
    let once = best_order(&problem, &methods, 7, 0, &Stop::new());
    let more = best_order(&problem, &methods, 7, 20, &Stop::new());
    assert!(more.joint_entries <= once.joint_entries);
    let single = rayon::ThreadPoolBuilder::new().num_threads(1).build().expect("one thread");
    let alone = single.install(|| best_order(&problem, &methods, 7, 20, &Stop::new()));
    assert_eq!(more, alone);
    let several = best_orders(&problem, &methods, 7, 20, 3, &Stop::new());
    assert_eq!(several[0], more);
    assert!(several.windows(2).all(|pair| pair[0].joint_entries <= pair[1].joint_entries));
}

#[test]
fn a_stopped_run_still_returns_a_permutation() {
    let stop = Stop::new();
    stop.set(crate::stop::Cause::Signal);
    let order = best_order(&grid(20, 2), &[Method::MinFill], 1, 5, &stop);
    let mut sorted = order.sequence.clone();
    sorted.sort_unstable();
    assert_eq!(sorted, (0..400).collect::<Vec<u32>>());
    assert!(order.joint_entries.is_infinite());
}

#[test]
fn bad_orders_are_refused() {
    let problem = grid(2, 2);
    let stop = Stop::new();
    for bad in [&[0u32, 1, 2][..], &[0, 1, 2, 2], &[0, 1, 2, 9]] {
        assert!(matches!(Order::given(&problem, bad, &stop), Err(Error::Usage(_))));
    }
    assert_eq!(Order::parse_sequence("3 1\n# all\n0 2 # last\n").expect("indices"), [3, 1, 0, 2]);
    assert!(matches!(Order::parse_sequence("1 x"), Err(Error::Usage(_))));
    assert!(best_order(&graph(vec![], &[]), &[Method::MinFill], 1, 1, &stop).sequence.is_empty());
}

#[test]
fn large_grids_are_followed_to_the_end_and_dense_cores_are_not() {
    let stop = Stop::new();
    for method in [Method::MinFill, Method::MinDegree] {
        let order = Order::greedy(&grid(100, 2), method, 1, &stop);
        assert!(order.joint_entries.is_finite());
        assert!((100..250).contains(&order.width), "{}", order.width);
    }
    let mut rng = Rng::new(9);
    let edges: Vec<(u32, u32)> = (1..20_000).flat_map(|v| [(rng.below(v) as u32, v as u32); 1]).collect();
    let mut dense = edges.clone();
    dense.extend((0..60_000).map(|_| {
        let a = rng.below(19_999) as u32;
        (a, a + 1 + rng.below(u64::from(19_999 - a)) as u32)
    }));
    assert_eq!(Order::greedy(&graph(vec![2; 20_000], &edges), Method::MinFill, 1, &stop).width, 1);
    let order = Order::greedy(&graph(vec![2; 20_000], &dense), Method::MinFill, 1, &stop);
    assert!(order.joint_entries.is_infinite());
    let mut sorted = order.sequence;
    sorted.sort_unstable();
    assert!(sorted.iter().enumerate().all(|(place, &v)| place == v as usize));
}

/// Slices do not change a search, and if exact elimination is out of reach only greedy rules count.
#[test]
fn slices_find_what_a_whole_search_finds() {
    let stop = Stop::new();
    let mut rng = Rng::new(8);
    let greedy = [Method::MinFill, Method::WeightedMinFill];
    let search = |problem: &Problem, slice: u64| {
        let mut search = OrderSearch::promising(problem, &greedy, 3, 8, 2, &stop);
        let mut slices = 0;
        while search.advance(slice, &stop) {
            slices += 1;
        }
        (search.steps() > 0, slices, search.into_orders())
    };
    for _ in 0..20 {
        let problem = random(&mut rng, 25);
        let (whole, slices) = (search(&problem, u64::MAX), search(&problem, 1));
        assert!(whole.0 && slices.0 && slices.1 > whole.1, "{} {}", slices.1, whole.1);
        assert_eq!(whole.2, slices.2);
        assert_eq!(whole.2[0], promising_order(&problem, &greedy, 3, 8, &stop));
    }
    let (_, _, near) = search(&grid(12, 2), u64::MAX);
    assert_eq!(near, best_orders(&grid(12, 2), &Method::ALL.map(|(_, method)| method), 3, 2, 2, &stop));
    let (_, _, far) = search(&grid(50, 2), u64::MAX);
    assert!(far.iter().all(|order| order.method.is_some_and(|method| greedy.contains(&method))), "{far:?}");
}
