//! Passes of network heuristics on a device against the CPU's: the same values, memories, active sets and streams. Without a GPU
//! these tests say so and pass, unless `FANGS_REQUIRE_GPU` is set.

use super::cuda::NetworkOnDevice;
use super::visit::Visit;
use super::*;
use crate::device::Cuda;
use crate::fang::cuda::{Domain, Population as DevicePopulation};
use crate::fang::{Order, Population, State as _};
use crate::generate::generate;
use crate::heuristics::{self, Inputs};
use crate::model::Problem;
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
        let scalars = [Needs::ROUND, Needs::LEAST, Needs::CURRENT_COST, Needs::CURRENT_CONFLICTS, Needs::DEGREE];
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
                + inputs.round;
            let costs = (inputs.cost[value] - inputs.least) + inputs.delta[value].abs() + inputs.unary[value];
            let sum = small + costs.min(1e6) + (inputs.frequency[value] * 1000.0).floor();
            *weight = (sum as u32).wrapping_mul(7919) % 1000;
        }
    }

    fn cuda(&self) -> Option<crate::device::Source> {
        let text = "#include \"network.cuh\"\n\
            struct Heuristic {\n\
            static __device__ bool active(const Inputs &in) {\n\
                return in.current_cost + in.round > 2.0 || in.current_conflicts > 0.0;\n\
            }\n\
            static __device__ u32 weight(const Inputs &in) {\n\
                const double small = in.value * 3.0 + in.current * 5.0 + in.incumbent * 7.0 + fmin(in.age, 50.0)\n\
                    + in.conflicts * 11.0 + in.domain + in.degree + in.group + in.round;\n\
                const double costs = (in.cost - in.least) + fabs(in.delta) + in.unary;\n\
                const double sum = small + fmin(costs, 1e6) + floor(in.frequency * 1000.0);\n\
                return (u32)sum * 7919u % 1000u;\n\
            }\n\
            };\n";
        Some(crate::device::Source {
            name: "everything.cuh".into(),
            text: text.into(),
            constants: vec![],
            kernels: vec![],
        })
    }
}

/// Generations side by side.
fn compare(cuda: &Arc<Cuda>, name: &str, problem: &Arc<Problem>, heuristic: &dyn ValueHeuristic, generations: usize) {
    let mut rng = Rng::new(9);
    let field = Field::new(problem, price(problem), None, &mut rng);
    let random: Vec<Vec<u16>> =
        (0..6).map(|_| (0..field.variables()).map(|v| rng.index(field.rows.domain(v)) as u16).collect()).collect();
    let (best, starts) = random.split_first().expect("there are six");
    let mut core = Prepared::new(&field, 1);
    // costs made at each visit: what states on a device have
    core.layout = None;
    let ground = Ground {
        field: &field,
        places: &core.places,
        layout: None,
        floors: &core.floors,
        needs: heuristic.needs(),
        incumbent: Some(best),
        guide: None,
        asserts: false,
    };
    let begin = |values: &Vec<u16>| {
        let mut state = State::default();
        state.begin(&ground, values.clone());
        state
    };
    let mut states: Vec<State> = starts.iter().map(begin).collect();
    let domain = NetworkOnDevice::new(cuda, &field, heuristic, (&core.floors, Some(best))).expect("it fits");
    let Some(domain) = domain else { return };
    let mut expected = Population::new(states.clone(), rng.clone());
    let mut population = DevicePopulation::new(cuda, domain, &mut states, rng).expect("it compiles");
    let visit = Visit { ground, heuristic };
    let words = |domain: &NetworkOnDevice, state: &State| {
        let mut words = vec![0; domain.words()];
        domain.store(state, &mut words);
        words
    };
    for generation in 0..generations {
        let temperature = field.schedule.at(generation as f64 / generations as f64);
        for state in expected.states_mut() {
            state.active().activate_all();
            state.pass = generation as u32 + 1;
            state.temperature = temperature;
        }
        population.domain_mut().problem.round = generation as u32 + 1;
        population.domain_mut().problem.temperature = temperature;
        population.activate_all().expect("it runs");
        let successors = [1, 2, 1][generation % 3];
        population.expand(successors, Order::Permuted).expect("it runs");
        assert!(expected.expand(&visit, successors, Order::Permuted, &Stop::new()));
        let made = population.states().expect("they come back");
        for (slot, (ours, theirs)) in expected.states_mut().iter_mut().zip(made).enumerate() {
            let (mut ours, mut theirs) = (ours.clone(), theirs);
            let what = format!("{name}, {}, generation {generation}, state {slot}", heuristic.name());
            let [a, b] = [&ours, &theirs].map(|state| words(population.domain(), state));
            assert_eq!(a, b, "{what}");
            assert_eq!(
                (ours.rng().words(), ours.active().count()),
                (theirs.rng().words(), theirs.active().count()),
                "{what}"
            );
        }
    }
}

#[test]
fn passes_equal_those_of_the_cpu() {
    let Some(cuda) = device() else { return };
    let mut list: Vec<Arc<dyn ValueHeuristic>> = heuristics::all();
    list.retain(|heuristic| heuristic.cuda().is_some());
    assert!(list.len() >= 3);
    list.push(Arc::new(Everything));
    let kinds: [(&str, &[(&str, &str)]); 3] = [
        ("random", &[("n", "40"), ("d", "13"), ("p2", "0.3")]),
        ("coloring", &[("n", "200"), ("p", "0.1"), ("k", "8")]),
        ("potts", &[("side", "12"), ("d", "40")]),
    ];
    for (kind, parameters) in kinds {
        let network = generate(kind, parameters, 3).expect("it can be made");
        let problem = Arc::new(Reducer::new(&network, false, &Stop::new()).expect("nobody stops").problem());
        for heuristic in &list {
            compare(&cuda, kind, &problem, &**heuristic, 9);
        }
    }
    let mut rng = Rng::new(4);
    for case in 0..12 {
        let problem = Arc::new(random_dense(&mut rng));
        compare(&cuda, &format!("case {case}"), &problem, &Everything, 4);
    }
}
