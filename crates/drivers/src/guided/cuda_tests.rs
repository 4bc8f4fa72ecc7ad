//! Trajectories on a device against the CPU's: equal states, energies and counts after every round. Without a GPU they
//! are skipped.

use super::tests::outcome;
use super::*;
use crate::device::{Cuda, Source};
use crate::generate::generate;
use crate::heuristics;
use crate::heuristics::{FromFile, Inputs, Neighbourhood, View};
use crate::kernels;
use crate::model::{Cost, CostFunction, FORBIDDEN, Network, Problem, Table};
use crate::reduce::Reducer;
use fangs_testing::cores::{price, random_dense};
use fangs_testing::gpu;

/// A heuristic that reads all inputs of a device.
#[derive(Debug)]
struct Everything;

impl ValueHeuristic for Everything {
    fn name(&self) -> &str {
        "everything"
    }

    fn needs(&self) -> Needs {
        let columns = [Needs::VALUE, Needs::COST, Needs::DELTA, Needs::CURRENT, Needs::INCUMBENT, Needs::AGE];
        let more = [
            Needs::ROUND,
            Needs::SINCE,
            Needs::REDUCED,
            Needs::LEAST,
            Needs::CURRENT_COST,
            Needs::CURRENT_CONFLICTS,
            Needs::DEGREE,
            Needs::H,
        ];
        Needs::of(columns) | Needs::of(more) | Needs::FREQUENCY | Needs::CONFLICTS | Needs::UNARY | Needs::DOMAIN
    }

    fn active(&self, inputs: &Inputs<'_>) -> bool {
        inputs.current_cost + inputs.round > 2.0 || inputs.current_conflicts > 0.0
    }

    fn weigh(&self, inputs: &Inputs<'_>, weights: &mut [u32]) {
        for (value, weight) in weights.iter_mut().enumerate() {
            let small = inputs.value[value] * 3.0
                + inputs.current[value] * 5.0
                + inputs.incumbent[value] * 7.0
                + inputs.age[value].min(50.0)
                + inputs.conflicts[value] * 11.0
                + inputs.domain
                + inputs.degree
                + inputs.group
                + inputs.since
                + inputs.reduced[value].min(100.0)
                + inputs.h[value].min(100.0)
                + inputs.round;
            let costs = (inputs.cost[value] - inputs.least) + inputs.delta[value].abs() + inputs.unary[value];
            let sum = small + costs.min(1e6) + (inputs.frequency[value] * 1000.0).floor();
            *weight = (sum as u32).wrapping_mul(7919) % 1000;
        }
    }

    fn cuda(&self) -> Option<Source> {
        let text = "#include \"network.cuh\"\n\
            struct Heuristic {\n\
            static __device__ bool active(const Inputs &in) {\n\
                return in.current_cost + in.round > 2.0 || in.current_conflicts > 0.0;\n\
            }\n\
            static __device__ u32 weight(const Inputs &in) {\n\
                const double small = in.value * 3.0 + in.current * 5.0 + in.incumbent * 7.0 + fmin(in.age, 50.0)\n\
                    + in.conflicts * 11.0 + in.domain + in.degree + in.group + in.since + fmin(in.reduced, 100.0)\n\
                    + fmin(in.h, 100.0) + in.round;\n\
                const double costs = (in.cost - in.least) + fabs(in.delta) + in.unary;\n\
                const double sum = small + fmin(costs, 1e6) + floor(in.frequency * 1000.0);\n\
                return (u32)sum * 7919u % 1000u;\n\
            }\n\
            };\n";
        Some(kernels::own("everything.cuh", text))
    }
}

/// Returns a context with bounds of values, which are not proven.
fn context(problem: &Arc<Problem>, population: usize) -> SearchContext {
    let mut rng = Rng::new(9);
    let mut context = SearchContext::new(problem, price(problem), Some(population), &mut rng);
    context.portable = true;
    // trajectories of at most 24 passes
    context.sweep_work = tuning().guided.round_work / (tuning().guided.states as u64 * 24);
    context.learn_reduced(problem.domains.iter().map(|&d| (0..d).map(|_| rng.below(90) as i64).collect()).collect());
    context
}

/// Compares rounds on both sides.
fn compare(
    cuda: &Arc<Cuda>,
    name: &str,
    context: &SearchContext,
    heuristic: &Arc<dyn ValueHeuristic>,
    rounds: usize,
    asserts: bool,
) {
    let guided = |device| Guided::new(heuristic.clone(), asserts, device, Rng::new(3));
    let outcome = outcome(&context.tables.problem);
    let mut drivers = [guided(None), guided(Some(cuda.clone()))];
    let mut pools = [Pool::default(), Pool::default()];
    let heuristic = heuristic.name();
    for number in 0..rounds {
        let what = format!("{name}, {heuristic}, round {number}");
        if number == rounds / 2 {
            drivers.iter_mut().for_each(|driver| {
                driver.rebase(context, &|values| Some(Elite::new(&context.tables, values.to_vec())));
            });
        }
        if number % (rounds / 2) == 1 {
            drivers.iter_mut().for_each(|driver| driver.guide(&outcome));
        }
        let mut efforts = Vec::new();
        for (driver, pool) in drivers.iter_mut().zip(&mut pools) {
            let mut effort = driver.round(context, pool, &Stop::new());
            assert_eq!((&effort.lost, &effort.note, &effort.fault), (&None, &None, &None), "{what}");
            (effort.picks.bytes, effort.picks.compiled) = (0, None);
            efforts.push(effort);
        }
        let told =
            |effort: &Effort| (effort.moves, effort.ratings, effort.work, effort.picks, effort.nonsense.is_some());
        assert_eq!(told(&efforts[0]), told(&efforts[1]), "{what}");
        let [ours, theirs] = &drivers;
        assert_eq!((&ours.stalled, &ours.schedule), (&theirs.stalled, &theirs.schedule), "{what}");
        for slot in 0..ours.stalled.len() {
            let state = |driver: &Guided| (driver.backend.energy(slot), driver.backend.values(slot));
            assert_eq!(state(ours), state(theirs), "{what}, state {slot}");
        }
        let [a, b] = [0, 1].map(|side| pools[side].elites().iter().map(|elite| (elite.hash, elite.energy)).collect());
        let (a, b): (Vec<_>, Vec<_>) = (a, b);
        assert_eq!(a, b, "{what}");
    }
}

/// Heuristics in files: tables by variable and by value, groups, aggregates of aggregates, weights that are no number.
const FILES: [&str; 5] = [
    include_str!("../../../../heuristics/boltzmann.toml"),
    "active = \"current_conflicts > 0 or since > 3\"\nallowed = \"age > 3 or delta < 0\"\n\
     rating = \"delta + 0.1 * frequency\"\nweight = \"rating == best(rating)\"\n",
    "rating = \"cost - wish\"\nweight = \"exp((min(rating) - rating) / (max(rating) - min(rating) + temperature))\"\n\
     [tables]\nwish = \"wish.csv\"\n",
    "rating = \"cost + priority * unary\"\n\
     weight = \"if(group == odd, 1 / (1 + rating), rating == min(if(rating > min(rating), rating, inf)))\"\n\
     [tables]\npriority = \"priority.csv\"\n[groups]\nodd = [1, 3, 5]\neven = [0, 2, 4]\n",
    "rating = \"cost\"\nweight = \"if(value == 1 and round > 6, 0 / 0, log(2 + reduced + h))\"\n",
];

fn from_files(network: &Network) -> Vec<Arc<dyn ValueHeuristic>> {
    let folder = tempfile::tempdir().expect("a folder");
    let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).expect("it can be written");
    let variables = network.variables().iter().enumerate();
    let wish = |(v, variable): (usize, &crate::model::Variable)| -> String {
        (0..variable.domain).map(|value| format!("{v},{value},{}\n", (v as u32 * 7 + value * 3) % 5)).collect()
    };
    write("wish.csv", &variables.clone().map(wish).collect::<String>());
    write("priority.csv", &variables.map(|(v, _)| format!("{v},{}\n", v % 4)).collect::<String>());
    let read = |(place, text): (usize, &&str)| -> Arc<dyn ValueHeuristic> {
        let name = format!("h{place}.toml");
        write(&name, text);
        Arc::new(
            FromFile::read(&folder.path().join(name), network, &Stop::new()).unwrap_or_else(|error| panic!("{error}")),
        )
    };
    FILES.iter().enumerate().map(read).collect()
}

/// Returns all heuristics of the list, each of which runs on a device, and one that reads all inputs.
fn known() -> Vec<Arc<dyn ValueHeuristic>> {
    let mut known = heuristics::all();
    assert!(known.iter().all(|heuristic| heuristic.cuda().is_some()));
    known.push(Arc::new(Everything));
    known
}

/// Tests every heuristic that suits a problem, and those in files, on a kind of network.
fn trajectories(kind: &str, parameters: &[(&str, &str)], population: usize) {
    let Some(cuda) = gpu() else { return };
    let network = generate(kind, parameters, 3).expect("it can be made");
    let reducer = Reducer::new(&network, false, &Stop::new()).expect("no stop is set");
    let problem = Arc::new(reducer.problem(&Stop::new()).expect("no stop is set"));
    let mut context = context(&problem, population);
    context.origin = Some(Arc::new(reducer));
    let mut all = known();
    all.retain(|heuristic| heuristic.fits(&problem).is_ok());
    all.extend(from_files(&network));
    for heuristic in &all {
        compare(&cuda, kind, &context, heuristic, 4, false);
    }
}

#[test]
fn trajectories_equal_those_of_the_cpu() {
    trajectories("random", &[("n", "30"), ("d", "13"), ("p2", "0.3")], 21);
}

#[test]
fn trajectories_on_colorings() {
    trajectories("coloring", &[("n", "80"), ("p", "0.1"), ("k", "6")], 33);
}

#[test]
fn trajectories_of_states_that_do_not_fit_shared_memory() {
    trajectories("coloring", &[("n", "700"), ("p", "0.01"), ("k", "4")], 5);
}

#[test]
fn trajectories_of_groups_of_several_warps() {
    trajectories("potts", &[("side", "6"), ("d", "40")], 3);
}

/// Returns a problem of photographs, some of which exclude others, with functions of two and three variables.
fn photographs(rng: &mut Rng, n: usize) -> Problem {
    let domains: Vec<u32> = (0..n).map(|_| 2 + rng.below(3) as u32).collect();
    let unary =
        domains.iter().map(|&d| (0..d).map(|value| if value == 0 { 1 + rng.below(40) as Cost } else { 0 }).collect());
    let unary = unary.collect();
    let mut functions = Vec::new();
    for k in 0..3 * n {
        let mut scope: Vec<u32> = (0..2 + k % 2).map(|_| rng.index(n) as u32).collect();
        scope.sort_unstable();
        scope.dedup();
        if scope.len() > 1 {
            let entries = scope.iter().map(|&v| domains[v as usize]).product::<u32>();
            let cost = |rng: &mut Rng| if rng.below(4) == 0 { FORBIDDEN } else { 0 };
            functions.push(CostFunction {
                table: Table::dense((0..entries).map(|_| cost(rng)).collect()),
                scope: scope.into(),
            });
        }
    }
    Problem { domains, unary, functions, constant: 0, top: FORBIDDEN }
}

#[test]
fn trajectories_with_groups_on_photographs() {
    let Some(cuda) = gpu() else { return };
    let mut rng = Rng::new(8);
    for (n, population) in [(70, 9), (9, 40)] {
        let context = context(&Arc::new(photographs(&mut rng, n)), population);
        for name in ["satellite", "radio", "swap", "mini-bucket"] {
            let heuristic = heuristics::find(name).expect("it is in the list");
            compare(&cuda, "photographs", &context, &heuristic, 4, n < 20);
        }
    }
}

#[test]
fn states_begin_again_as_on_the_cpu() {
    let Some(cuda) = gpu() else { return };
    let mut rng = Rng::new(4);
    let known = known();
    for case in 0..18 {
        let problem = Arc::new(random_dense(&mut rng));
        let context = context(&problem, [1, 3, 70][case % 3]);
        let heuristic = &known[case % known.len()];
        if context.variables() > 0 && heuristic.fits(&problem).is_ok() {
            compare(&cuda, &format!("case {case}"), &context, heuristic, 60, case % 2 == 0);
        }
    }
}

/// A heuristic that changes a value of a group in passing, or proposes one beyond the domain.
#[derive(Debug)]
struct Careless {
    beyond: bool,
}

impl ValueHeuristic for Careless {
    fn name(&self) -> &str {
        "careless"
    }

    fn weigh(&self, inputs: &Inputs<'_>, weights: &mut [u32]) {
        heuristics::Boltzmann.weigh(inputs, weights);
    }

    fn cuda(&self) -> Option<Source> {
        heuristics::Boltzmann.cuda()
    }

    fn neighbourhood(&self) -> Option<&dyn Neighbourhood> {
        Some(self)
    }
}

impl Neighbourhood for Careless {
    fn propose(&self, _: &View<'_>, _: &mut Rng, group: &mut Vec<(u32, u16)>) {
        group.clear();
    }

    fn cuda(&self) -> Option<Source> {
        let body = match self.beyond {
            true => "view.add(1, 999);",
            false => "view.set(2, (view.value(2) + 1) % view.domain(2));\nview.add(1, view.value(1));",
        };
        let head = "template <class View> static __device__ void propose(View &view, Xoshiro &)";
        let text = format!("#include \"groups.cuh\"\nstruct Groups {{\n{head} {{\n{body}\n}}\n}};\n");
        Some(kernels::own("careless.cuh", text))
    }
}

#[test]
fn assertions_find_what_is_wrong_on_a_device() {
    let Some(cuda) = gpu() else { return };
    let problem = Arc::new(photographs(&mut Rng::new(5), 20));
    let context = context(&problem, 7);
    let told_of = |beyond| {
        let mut guided = Guided::new(Arc::new(Careless { beyond }), true, Some(cuda.clone()), Rng::new(3));
        guided.round(&context, &mut Pool::default(), &Stop::new())
    };
    let told = told_of(true);
    let nonsense = told.nonsense.expect("there is no such value");
    assert!(nonsense.contains("it proposes value 999 for variable 1 of the core"), "{nonsense}");
    assert_eq!((told.fault, told.picks.proposed), (None, 0));
    let fault = told_of(false).fault.expect("values were changed");
    assert!(fault.contains("heuristic careless: after variable 1 was assigned state "), "{fault}");
    assert!(fault.contains(" as kept, ") && fault.ends_with(" recomputed"), "{fault}");
}

#[test]
fn streams_are_mixes_of_their_seeds() {
    for seed in [0, 1, 1 << 63, 0x1234_5678_9ABC_DEF0] {
        assert_eq!(Rng::new(seed).words(), std::array::from_fn(|word| mix(seed, word as u64)));
    }
}
