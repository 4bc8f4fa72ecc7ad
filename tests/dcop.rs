//! Distributed problems: published files, if their folder is present, and generated ones. The values were
//! computed by an implementation in another language (numpy tables along depth-first and min-fill orders).

use fangs_base::Error;
use fangs_base::rng::Rng;
use fangs_base::stop::Stop;
use fangs_bounds::bounds::{BoundChoice, Bounder, BounderOptions, Step};
use fangs_bounds::reduce::{ReducedProblem, Reducer};
use fangs_check as check;
use fangs_dcop::{Found, Place, Traffic, run_agents, run_levels};
use fangs_elimination::elimination::{Limits, Plan};
use fangs_elimination::order::{Method, PseudoTree, TreeSize, Visit, best_order};
use fangs_formats::{self as formats, ReadOptions, Source};
use fangs_generate::generate;
use fangs_model::model::{Cost, FORBIDDEN, Network, Problem};
use fangs_search::{Options, Status, solve};
use fangs_testing::Shape;
use std::path::PathBuf;
use std::sync::Arc;

fn folder() -> Option<PathBuf> {
    let folder = std::env::var_os("FANGS_INSTANCES").map_or_else(|| "../shared/instances".into(), PathBuf::from);
    folder.join("MANIFEST.tsv").is_file().then_some(folder)
}

struct Case {
    network: Network,
    reducer: Reducer,
    problem: Arc<Problem>,
    dfs: PseudoTree,
}

impl Case {
    fn new(network: Network) -> Result<Case, Error> {
        let stop = Stop::new();
        let reducer = Reducer::new(&network, false, &stop)?;
        let problem = Arc::new(reducer.problem(&Stop::new()).expect("no stop is set"));
        let dfs = PseudoTree::depth_first(&problem, Visit::MostNeighbours, None, &stop)?;
        Ok(Case { network, reducer, problem, dfs })
    }

    fn published(name: &str) -> Result<Option<Case>, Error> {
        let Some(folder) = folder() else { return Ok(None) };
        let path = folder.join("dcop").join(name);
        Case::new(formats::read(&Source::new(path), None, &ReadOptions::default(), &Stop::new())?).map(Some)
    }

    fn size(&self) -> TreeSize {
        self.dfs.size(&self.problem.domains)
    }

    fn best(&self) -> Result<PseudoTree, Error> {
        let stop = Stop::new();
        let order = best_order(&self.problem, &[Method::MinFill], 1, 64, &stop);
        PseudoTree::of_order(&self.problem, &order, &stop)
    }

    /// Returns the optimum by DPOP along a tree, in both modes, in the file's units; `None` if there is no solution.
    fn optimum(&self, tree: &PseudoTree) -> Result<Option<(f64, Vec<u32>)>, Error> {
        let stop = Stop::new();
        let plan = Plan::new(&self.problem, &tree.order, &Limits::new(4 << 30));
        assert!(plan.exact);
        let levels = run_levels(&self.problem, plan.clone(), None, &stop)?;
        let agents = run_agents(&self.problem, &plan, Place::Host, &stop)?;
        assert_eq!((levels.lower, &levels.assignment), (agents.lower, &agents.assignment));
        if levels.lower >= self.network.top() {
            return Ok(None);
        }
        let values = self.reducer.lift(&levels.assignment, &Stop::new()).expect("no stop is set");
        let found = check::evaluate(&self.network, &values);
        assert_eq!(found.cost, levels.lower);
        Ok(Some((self.network.units().number(found.cost).as_f64(), values)))
    }
}

#[test]
fn published_files_have_their_sizes_and_optima() -> Result<(), Error> {
    // variables, functions, dfs: width, depth, largest and all entries; width of min-fill, optimum
    type Line = (&'static str, usize, usize, usize, u32, u128, u128, usize, Option<f64>);
    let lines: [Line; 4] = [
        ("secp_simple1.yaml.xz", 4, 5, 3, 3, 125, 155, 3, Some(2.3)),
        ("RandomDCOP_10_3_1.xml.xz", 10, 18, 4, 8, 81, 273, 4, Some(490.0)),
        ("graph_coloring_50.yaml.xz", 50, 96, 8, 18, 100_000_000, 226_368_310, 7, Some(1247.0)),
        ("GC_7.xml.xz", 10, 22, 4, 6, 81, 399, 4, None),
    ];
    for (name, variables, functions, width, depth, largest, all, min_fill, optimum) in lines {
        let Some(case) = Case::published(name)? else { return Ok(()) };
        assert_eq!((case.network.variables().len(), case.network.functions().len()), (variables, functions), "{name}");
        let size = case.size();
        assert_eq!((size.roots, size.width, size.depth), (1, width, depth), "{name}");
        assert_eq!((size.largest_util_entries, size.util_entries), (largest, all), "{name}");
        let best = case.best()?;
        assert_eq!(best.size(&case.problem.domains).width, min_fill, "{name}");
        let found = case.optimum(&best)?;
        assert_eq!(found.as_ref().map(|(value, _)| *value), optimum, "{name}");
        if name.starts_with("secp") {
            assert_eq!(found.map(|(_, values)| values), Some(vec![0, 3, 4, 3]));
            assert_eq!(case.network.units().decimals, 1);
        }
    }
    let Some(case) = Case::published("RandomDCOP_20_10_1.xml.xz")? else { return Ok(()) };
    let size = case.size();
    assert_eq!((size.width, size.depth, size.largest_util_entries), (13, 15, 10u128.pow(13)));
    assert_eq!(size.util_entries, 11_122_231_211_110);
    Ok(())
}

#[test]
fn generated_problems_have_their_sizes_and_optima() -> Result<(), Error> {
    // kind, parameters, seed; functions, dfs: width, depth, largest and all entries; width of min-fill, optimum
    type Line =
        (&'static str, &'static [(&'static str, &'static str)], u64, usize, usize, u32, u128, u128, usize, Option<f64>);
    const N: [&[(&str, &str)]; 4] = [
        &[("n", "10"), ("d", "10"), ("p1", "0.3"), ("p2", "0.5")],
        &[("n", "12"), ("d", "10"), ("p1", "0.3"), ("p2", "0.5")],
        &[("n", "14"), ("d", "10"), ("p1", "0.3"), ("p2", "0.5")],
        &[("n", "16"), ("d", "10"), ("p1", "0.3"), ("p2", "0.5")],
    ];
    const HARD: [&[(&str, &str)]; 2] = [
        &[("n", "10"), ("d", "10"), ("p1", "0.3"), ("p2", "0.9")],
        &[("n", "14"), ("d", "10"), ("p1", "0.3"), ("p2", "0.9")],
    ];
    const FREE: [&[(&str, &str)]; 2] =
        [&[("n", "10"), ("d", "10"), ("p2", "0.5")], &[("n", "14"), ("d", "10"), ("p2", "0.5")]];
    let lines: [Line; 16] = [
        ("random", N[0], 1, 13, 3, 5, 1000, 2250, 3, Some(230.0)),
        ("random", N[0], 2, 13, 3, 6, 1000, 4230, 3, Some(242.0)),
        ("random", N[1], 1, 19, 4, 8, 10_000, 33_320, 4, Some(425.0)),
        ("random", N[1], 2, 19, 3, 7, 1000, 3620, 3, Some(412.0)),
        ("random", N[2], 1, 27, 4, 8, 10_000, 44_320, 4, Some(831.0)),
        ("random", N[2], 2, 27, 5, 9, 100_000, 235_210, 4, Some(701.0)),
        ("random", N[3], 1, 36, 7, 11, 10_000_000, 22_313_310, 6, Some(1110.0)),
        ("random", N[3], 2, 36, 8, 12, 100_000_000, 132_133_110, 6, Some(1120.0)),
        ("random", HARD[0], 1, 13, 3, 5, 1000, 2250, 3, None),
        ("random", HARD[0], 2, 13, 3, 6, 1000, 4230, 3, None),
        ("random", HARD[1], 1, 27, 4, 8, 10_000, 44_320, 4, None),
        ("random", HARD[1], 2, 27, 5, 9, 100_000, 235_210, 4, None),
        ("scale-free", FREE[0], 1, 17, 3, 5, 1000, 3510, 3, Some(418.0)),
        ("scale-free", FREE[0], 2, 17, 3, 5, 1000, 2610, 3, Some(376.0)),
        ("scale-free", FREE[1], 1, 25, 3, 6, 1000, 6610, 3, Some(666.0)),
        ("scale-free", FREE[1], 2, 25, 3, 6, 1000, 5710, 3, Some(702.0)),
    ];
    for (kind, parameters, seed, functions, width, depth, largest, all, min_fill, optimum) in lines {
        let case = Case::new(generate(kind, parameters, seed)?)?;
        let what = format!("{kind} {parameters:?} {seed}");
        assert_eq!(case.network.functions().len(), functions, "{what}");
        let size = case.size();
        assert_eq!((size.width, size.depth), (width, depth), "{what}");
        assert_eq!((size.largest_util_entries, size.util_entries), (largest, all), "{what}");
        let best = case.best()?;
        assert_eq!(best.size(&case.problem.domains).width, min_fill, "{what}");
        assert_eq!(case.optimum(&best)?.map(|(value, _)| value), optimum, "{what}");
        // the number of messages equals that of edges, whatever the tree
        let n = case.problem.variables();
        let plan = Plan::new(&case.problem, &case.dfs.order, &Limits::new(1 << 40));
        let traffic = Traffic::new(&plan, &case.dfs, &(0..n as u32).collect::<Vec<_>>());
        assert_eq!((traffic.util_messages, u128::from(traffic.util_entries)), (n as u64 - 1, all), "{what}");
        if largest <= 100_000 {
            assert_eq!(case.optimum(&case.dfs)?.map(|(value, _)| value), optimum, "{what}");
        }
    }
    let case = Case::new(generate("grid", &[("side", "10"), ("d", "5"), ("p2", "0.5")], 1)?)?;
    let size = case.size();
    assert_eq!((size.width, size.depth, size.largest_util_entries), (29, 99, 186_264_514_923_095_703_125));
    assert_eq!(size.util_entries, 512_346_626_663_227_539_055);
    Ok(())
}

/// Returns the number of random problems; `FANGS_RANDOM_DCOPS` sets another number.
fn problems() -> u64 {
    std::env::var("FANGS_RANDOM_DCOPS").ok().and_then(|problems| problems.parse().ok()).unwrap_or(200)
}

/// Returns a random network: up to nine variables, arities up to four, hard or not, dense or sparse, with or without a
/// top.
fn random(rng: &mut Rng) -> Network {
    let variables = 2 + rng.index(8);
    let high = [1, 9, 1000, 1 << 36][rng.index(4)];
    let shape = Shape {
        variables,
        domains: &[1, 2, 2, 3, 4, 5],
        functions: variables + rng.index(variables + 1),
        arities: &[1, 2, 2, 2, 3, 4],
        costs: (0, high),
        forbidden: rng.below(4),
        sparse: (3, 8),
        shared: 2,
        assignments: 1 << 14,
        ..Shape::PLAIN
    };
    let mut builder = shape.network(rng);
    if rng.below(4) == 0 {
        let _ = builder.top(rng.below(4 * high as u64 + 1) as Cost);
    }
    builder.build()
}

/// Returns the optimum by bucket elimination along an order, as in `fangs bound --method be`, and the chosen values.
fn eliminated(case: &Case, tree: &PseudoTree, stop: &Stop) -> Result<(Cost, Option<Vec<u32>>), Error> {
    let mut options = BounderOptions::default();
    (options.choice, options.memory) = (BoundChoice::Be, 1 << 30);
    let mut bounder = Bounder::new(options);
    bounder.follow(vec![tree.order.clone()]);
    let reduced = ReducedProblem::new(Reducer::new(&case.network, false, stop)?, stop)?;
    let mut found = (Cost::MIN, None);
    loop {
        match bounder.step(&reduced, case.network.top(), stop) {
            Step::Done => return Ok(found),
            Step::Result(result) if result.exact => found = (result.lower, result.assignment),
            Step::Result(_) | Step::More => {}
        }
    }
}

#[test]
fn dpop_is_elimination_and_comes_to_what_a_search_proves() -> Result<(), Error> {
    let (mut rng, stop) = (Rng::new(61), Stop::new());
    let pool = |threads| rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("threads");
    let (one, three) = (pool(1), pool(3));
    let (mut solved, mut infeasible, mut eliminations) = (0, 0, 0);
    for number in 0..problems() {
        let case = Case::new(random(&mut rng))?;
        let searched =
            solve(&case.network, &Options::default().with(|options| options.threads = Some(1)), &stop, &mut |_| {})?;
        let optimum = match searched.status {
            Status::Optimal => searched.solution.as_ref().map(|values| check::evaluate(&case.network, values).cost),
            Status::Infeasible => None,
            other => panic!("problem {number}: {other:?}"),
        };
        *if optimum.is_some() { &mut solved } else { &mut infeasible } += 1;
        let owner: Vec<u32> = (0..case.problem.variables() as u32).collect();
        for tree in [&case.dfs, &PseudoTree::best(&case.problem, None, &stop)?, &case.best()?] {
            let run = || -> Result<([Found; 2], Traffic), Error> {
                let plan = Plan::new(&case.problem, &tree.order, &Limits::new(1 << 30));
                let traffic = Traffic::new(&plan, tree, &owner);
                let levels = run_levels(&case.problem, plan.clone(), None, &stop)?;
                Ok(([levels, run_agents(&case.problem, &plan, Place::Host, &stop)?], traffic))
            };
            let (found, traffic) = one.install(run)?;
            let (others, again) = three.install(run)?;
            assert_eq!(traffic, again, "problem {number}");
            let all: Vec<_> = found.iter().chain(&others).map(|found| (found.lower, &found.assignment)).collect();
            assert!(all.windows(2).all(|pair| pair[0] == pair[1]), "problem {number}: {all:?}");
            let (lower, values) = all[0];
            let values = case.reducer.lift(values, &Stop::new()).expect("no stop is set");
            let evaluation = check::evaluate(&case.network, &values);
            match optimum {
                Some(optimum) => assert_eq!((lower, evaluation.cost), (optimum, optimum), "problem {number}"),
                None => assert!(lower >= case.network.top().min(FORBIDDEN) && !evaluation.is_solution()),
            }
            if case.problem.variables() > 0 && !case.reducer.infeasible() {
                let (bound, assignment) = eliminated(&case, tree, &stop)?;
                assert_eq!(bound, lower, "problem {number}");
                let same = assignment
                    .is_none_or(|own| case.reducer.lift(&own, &Stop::new()).expect("no stop is set") == values);
                assert!(same || optimum.is_none(), "problem {number}");
                eliminations += 1;
            }
        }
    }
    assert!(solved > infeasible && infeasible > 0 && eliminations > solved, "{solved} {infeasible} {eliminations}");
    Ok(())
}
