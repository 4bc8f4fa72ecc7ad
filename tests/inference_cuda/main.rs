//! Elimination and join graphs on a CUDA device compared with the CPU: every message, table, bound and assignment is
//! equal bit for bit.
//!
//! The tests are skipped without a device; `FANGS_REQUIRE_GPU=1` makes its absence a failure.

mod cost_shifting;
mod elimination;
mod sparse;

use fangs_base::rng::Rng;
use fangs_base::stop::Stop;
use fangs_device::{Cuda, DeviceError};
use fangs_elimination::elimination::{Gpu, Outcome, Plan, Progress, Run};
use fangs_elimination::order::{Method, Order};
use fangs_model::model::Problem;
use fangs_testing::{Shape, band, needs};
use std::sync::{Arc, OnceLock};

/// The device, opened once.
fn gpu() -> Option<&'static Arc<Gpu>> {
    static OPENED: OnceLock<Result<Arc<Gpu>, DeviceError>> = OnceLock::new();
    needs("FANGS_REQUIRE_GPU", OPENED.get_or_init(|| Cuda::open(0).map(Gpu::new)).as_ref())
}

/// Returns a random problem: domains of one to `most` values, arities of 2 to 5, dense and sparse.
fn random(rng: &mut Rng, n: usize, most: u32, functions: usize) -> Problem {
    Shape {
        variables: n,
        domains: &(1..=most).collect::<Vec<_>>(),
        functions,
        arities: &[2, 2, 2, 3, 3, 4, 5],
        costs: (0, [0, 2, 49, 999, (1 << 45) - 1][rng.index(5)]),
        forbidden: rng.below(3),
        sparse: (4, usize::MAX),
        ..Shape::PLAIN
    }
    .problem(rng)
}

fn order(problem: &Problem, rng: &mut Rng) -> Order {
    if rng.below(2) == 0 {
        return Order::greedy(problem, Method::MinFill, rng.below(99), &Stop::new());
    }
    let mut sequence: Vec<u32> = (0..problem.variables() as u32).collect();
    rng.shuffle(&mut sequence);
    Order::given(problem, &sequence, &Stop::new()).expect("a permutation")
}

/// Runs a plan in slices, on the device or on the CPU.
fn run(gpu: Option<&Arc<Gpu>>, problem: &Arc<Problem>, plan: &Plan) -> Outcome {
    let mut run = Run::on(gpu, problem.clone(), plan.clone());
    assert_eq!(run.on_device(), gpu.is_some(), "{:?}", run.trouble());
    let mut slices = 0;
    while run.advance(1 << 20, &Stop::new()) == Progress::More {
        slices += 1;
        assert!(slices < 100_000);
    }
    assert!(run.trouble().is_none(), "{:?}", run.trouble());
    assert_eq!(run.work_done(), plan.joint_entries);
    run.finish().expect("the run is done")
}
