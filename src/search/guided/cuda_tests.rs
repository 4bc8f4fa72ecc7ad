//! Flights on a device against the CPU's: the same states, energies and picks after every round. Without a GPU these tests say so
//! and pass, unless `FANGS_REQUIRE_GPU` is set.

use super::*;
use crate::device::{Cuda, Source};
use crate::generate::generate;
use crate::heuristics::{self, FromFile, Inputs};
use crate::model::{Network, Problem};
use crate::reduce::Reducer;
use crate::search::cuda::tests::device;
use crate::search::testing::{price, random_dense};

/// Looks at everything that a device knows.
#[derive(Debug)]
struct Everything;

impl ValueHeuristic for Everything {
    fn name(&self) -> &str {
        "everything"
    }

    fn needs(&self) -> Needs {
        let columns = [Needs::VALUE, Needs::COST, Needs::DELTA, Needs::CURRENT, Needs::INCUMBENT, Needs::AGE];
        let scalars = [
            Needs::ROUND,
            Needs::SINCE,
            Needs::REDUCED,
            Needs::LEAST,
            Needs::CURRENT_COST,
            Needs::CURRENT_CONFLICTS,
            Needs::DEGREE,
        ];
        Needs::of(columns) | Needs::of(scalars) | Needs::FREQUENCY | Needs::CONFLICTS | Needs::UNARY | Needs::DOMAIN
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
                    + in.round;\n\
                const double costs = (in.cost - in.least) + fabs(in.delta) + in.unary;\n\
                const double sum = small + fmin(costs, 1e6) + floor(in.frequency * 1000.0);\n\
                return (u32)sum * 7919u % 1000u;\n\
            }\n\
            };\n";
        Some(Source { name: "everything.cuh".into(), text: text.into(), constants: vec![], kernels: vec![] })
    }
}

/// A field with bounds of values, which nobody proved.
fn field(problem: &Arc<Problem>, population: usize) -> Field {
    let mut rng = Rng::new(9);
    let mut field = Field::new(problem, price(problem), Some(population), &mut rng);
    field.portable = true;
    // flights of 24 passes at most
    field.sweep_work = ROUND_WORK / (STATES as u64 * 24);
    field.reduced = Some(problem.domains.iter().map(|&d| (0..d).map(|_| rng.below(90) as i64).collect()).collect());
    field
}

/// Rounds side by side.
fn compare(cuda: &Arc<Cuda>, name: &str, field: &Field, heuristic: &Arc<dyn ValueHeuristic>, rounds: usize) {
    let guided = |device| Guided::new(heuristic.clone(), false, device, Rng::new(3));
    let mut drivers = [guided(None), guided(Some(cuda.clone()))];
    let mut pools = [Pool::default(), Pool::default()];
    let heuristic = heuristic.name();
    for round in 0..rounds {
        let what = format!("{name}, {heuristic}, round {round}");
        if round == rounds / 2 {
            drivers.iter_mut().for_each(|driver| driver.rebase(field, &|values| values.to_vec()));
        }
        let mut efforts = Vec::new();
        for (driver, pool) in drivers.iter_mut().zip(&mut pools) {
            let mut effort = driver.round(field, pool, &Stop::new());
            assert_eq!((&effort.lost, &effort.note), (&None, &None), "{what}");
            effort.picks.bytes = 0;
            efforts.push(effort);
        }
        let told =
            |effort: &Effort| (effort.moves, effort.ratings, effort.work, effort.picks, effort.nonsense.is_some());
        assert_eq!(told(&efforts[0]), told(&efforts[1]), "{what}");
        let [ours, theirs] = &drivers;
        assert_eq!((&ours.stalled, &ours.schedule), (&theirs.stalled, &theirs.schedule), "{what}");
        for slot in 0..ours.stalled.len() {
            let state = |driver: &Guided| (driver.flock.energy(slot), driver.flock.values(slot));
            assert_eq!(state(ours), state(theirs), "{what}, state {slot}");
        }
        let [a, b] = [0, 1].map(|side| pools[side].elites().iter().map(|elite| (elite.hash, elite.energy)).collect());
        let (a, b): (Vec<_>, Vec<_>) = (a, b);
        assert_eq!(a, b, "{what}");
    }
}

/// Heuristics in files: tables by variable and by value, groups, aggregates of aggregates, weights that are no number.
const FILES: [&str; 5] = [
    include_str!("../../../heuristics/boltzmann.toml"),
    "active = \"current_conflicts > 0 or since > 3\"\nallowed = \"age > 3 or delta < 0\"\n\
     rating = \"delta + 0.1 * frequency\"\nweight = \"rating == best(rating)\"\n",
    "rating = \"cost - wish\"\nweight = \"exp((min(rating) - rating) / (max(rating) - min(rating) + temperature))\"\n\
     [tables]\nwish = \"wish.csv\"\n",
    "rating = \"cost + priority * unary\"\n\
     weight = \"if(group == odd, 1 / (1 + rating), rating == min(if(rating > min(rating), rating, inf)))\"\n\
     [tables]\npriority = \"priority.csv\"\n[groups]\nodd = [1, 3, 5]\neven = [0, 2, 4]\n",
    "rating = \"cost\"\nweight = \"if(value == 1 and round > 6, 0 / 0, log(2 + reduced))\"\n",
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
        Arc::new(FromFile::read(&folder.path().join(name), network).unwrap_or_else(|error| panic!("{error}")))
    };
    FILES.iter().enumerate().map(read).collect()
}

/// A kind of networks, its parameters, and states.
type Kind = (&'static str, &'static [(&'static str, &'static str)], usize);

#[test]
fn flights_equal_those_of_the_cpu() {
    let Some(cuda) = device() else { return };
    let mut known: Vec<Arc<dyn ValueHeuristic>> = heuristics::all();
    known.retain(|heuristic| heuristic.cuda().is_some());
    assert!(known.len() >= 3);
    known.push(Arc::new(Everything));
    let kinds: [Kind; 4] = [
        ("random", &[("n", "30"), ("d", "13"), ("p2", "0.3")], 21),
        ("coloring", &[("n", "80"), ("p", "0.1"), ("k", "6")], 33),
        // states that do not fit shared memory
        ("coloring", &[("n", "700"), ("p", "0.01"), ("k", "4")], 5),
        ("potts", &[("side", "6"), ("d", "40")], 3),
    ];
    for (kind, parameters, population) in kinds {
        let network = generate(kind, parameters, 3).expect("it can be made");
        let reducer = Reducer::new(&network, false, &Stop::new()).expect("nobody stops");
        let mut field = field(&Arc::new(reducer.problem()), population);
        field.origin = Some(Arc::new(reducer));
        for heuristic in known.iter().cloned().chain(from_files(&network)) {
            compare(&cuda, kind, &field, &heuristic, 4);
        }
    }
    // small ones for long: states begin anew
    let mut rng = Rng::new(4);
    for case in 0..12 {
        let field = field(&Arc::new(random_dense(&mut rng)), [1, 3, 70][case % 3]);
        if field.variables() > 0 {
            compare(&cuda, &format!("case {case}"), &field, &known[case % known.len()], 60);
        }
    }
}

#[test]
fn streams_are_mixes_of_their_seeds() {
    for seed in [0, 1, 1 << 63, 0x1234_5678_9ABC_DEF0] {
        assert_eq!(Rng::new(seed).words(), std::array::from_fn(|word| mix(seed, word as u64)));
    }
}
