//! Distributed problems: the published files where their folder is present, and generated ones. The values were
//! computed by an implementation in another language (numpy tables along depth-first and min-fill orders).

use fangs::dcop::{Traffic, run_agents, run_levels};
use fangs::elimination::{Limits, Plan};
use fangs::formats::{self, ReadOptions, Source};
use fangs::generate::generate;
use fangs::model::{Network, Problem};
use fangs::order::{Method, PseudoTree, TreeSize, Visit, best_order};
use fangs::reduce::Reducer;
use fangs::stop::Stop;
use fangs::{Error, check};
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
        let problem = Arc::new(reducer.problem());
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

    /// The optimum by DPOP along a tree, in both modes, in the file's own numbers; none where there is no solution.
    fn optimum(&self, tree: &PseudoTree) -> Result<Option<(f64, Vec<u32>)>, Error> {
        let stop = Stop::new();
        let plan = Plan::new(&self.problem, &tree.order, &Limits::new(4 << 30));
        assert!(plan.exact);
        let levels = run_levels(&self.problem, plan.clone(), None, &stop)?;
        let agents = run_agents(&self.problem, &plan, None, &stop)?;
        assert_eq!((levels.lower, &levels.assignment), (agents.lower, &agents.assignment));
        if levels.lower >= self.network.top() {
            return Ok(None);
        }
        let values = self.reducer.lift(&levels.assignment);
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
        // as many messages as there are edges, whatever the tree
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
