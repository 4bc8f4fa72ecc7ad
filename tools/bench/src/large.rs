//! The search on large networks beside plain annealing: curves of cost over time, which begin when the network is in
//! memory.

use crate::annealing::Annealing;
use crate::chromatic::Chromatic;
use crate::device::{Choice, Cuda, DeviceError};
use crate::error::Error;
use crate::generate::generate;
use crate::model::{Cost, Network, Number};
use crate::rng::Rng;
use crate::stop::Stop;
use fangs_base::threads;
use fangs_search::{Options, solve};
use serde::Serialize;
use std::sync::Arc;
use std::sync::Mutex;
use std::time::{Duration, Instant};

/// Sweeps of the first anneal of one state; each later anneal has four times the sweeps of the one before.
const FIRST_SWEEPS: u32 = 64;

/// A kind of network with its parameters.
pub struct LargeNetwork {
    /// The name of the setting.
    pub name: &'static str,
    kind: &'static str,
    parameters: &'static [(&'static str, &'static str)],
}

/// The networks of the table.
pub const NETWORKS: [LargeNetwork; 10] = [
    sparse("sparse-1000000", &[("d", "5"), ("n", "1000000"), ("functions", "3000000")]),
    sparse("sparse-100000", &[("d", "5"), ("n", "100000"), ("functions", "300000")]),
    sparse("sparse-30000", &[("d", "5"), ("n", "30000"), ("functions", "90000")]),
    sparse("sparse-10000", &[("d", "5"), ("n", "10000"), ("functions", "30000")]),
    LargeNetwork { name: "potts", kind: "potts", parameters: &[("side", "500"), ("d", "8")] },
    LargeNetwork { name: "grid", kind: "grid", parameters: &[("side", "300"), ("d", "8"), ("p2", "0.2")] },
    LargeNetwork { name: "ising", kind: "ising", parameters: &[("side", "1000")] },
    LargeNetwork { name: "coloring", kind: "coloring", parameters: &[("n", "100000"), ("p", "0.00012"), ("k", "5")] },
    LargeNetwork { name: "frequency", kind: "frequency", parameters: &[("n", "8000")] },
    LargeNetwork { name: "sat", kind: "sat", parameters: &[("n", "100000"), ("clauses", "420000")] },
];

const fn sparse(name: &'static str, parameters: &'static [(&'static str, &'static str)]) -> LargeNetwork {
    LargeNetwork { name, kind: "large-sparse", parameters }
}

/// The methods that are measured.
pub struct Methods {
    /// The device, if there is one.
    pub gpu: Option<Arc<Cuda>>,
    /// Whether Fangs also runs on the CPU threads alone.
    pub cpu: bool,
    /// Whether plain annealing runs on all threads, each with its own seed.
    pub annealing: bool,
    /// The time limit of each method.
    pub time: Duration,
}

/// The method whose cost is the target of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Target {
    /// An anneal of one state on the device, with a kernel for each color class.
    Chromatic,
    /// Fangs on the device and the threads, at the end of its time.
    Device,
    /// Fangs on the threads alone, at the end of its time.
    Cpu,
    /// Plain annealing on the threads, at the end of its time.
    Annealing,
}

/// A cost, and the times at which each method reached it, in seconds after loading.
#[derive(Clone, Debug, Serialize)]
pub struct LargeRow {
    /// The network's name.
    pub network: &'static str,
    /// The network's seed.
    pub seed: u64,
    /// The method that the cost is taken from.
    pub target: Target,
    /// The target cost, in the file's own numbers.
    pub cost: i64,
    /// The time of the anneals of one state; coloring, layout and upload included.
    pub chromatic_s: Option<f64>,
    /// The time of the anneals of one state, counted from the end of the upload.
    pub chromatic_after_upload_s: Option<f64>,
    /// The time of Fangs on the device and the threads.
    pub device_s: Option<f64>,
    /// The time of Fangs on the threads alone.
    pub cpu_s: Option<f64>,
    /// The time of the first thread of plain annealing to reach the cost.
    pub annealing_s: Option<f64>,
}

/// Times in seconds with decreasing costs.
#[derive(Clone, Debug, Default)]
struct Curve(Vec<(f64, i64)>);

impl Curve {
    fn note(&mut self, time: f64, cost: i64) {
        if self.best().is_none_or(|best| cost < best) {
            self.0.push((time, cost));
        }
    }

    fn best(&self) -> Option<i64> {
        self.0.last().map(|&(_, cost)| cost)
    }

    /// Returns the first time at which the cost was at most `cost`.
    fn reaches(&self, cost: i64) -> Option<f64> {
        self.0.iter().find(|&&(_, here)| here <= cost).map(|&(time, _)| time)
    }
}

/// Anneals of one state on a device.
#[derive(Debug, Default)]
struct Anneals {
    curve: Curve,
    /// Seconds after loading at which the network was on the device.
    uploaded: f64,
}

/// Runs each method on a network, and returns the times at which each of them reached the final costs of all.
///
/// # Errors
/// Errors of the search and of the device.
pub fn measure(setting: &LargeNetwork, seed: u64, methods: &Methods) -> Result<Vec<LargeRow>, Error> {
    let network = generate(setting.kind, setting.parameters, seed)?;
    let failed = |error: DeviceError| Error::Internal(error.to_string());
    let anneals = match &methods.gpu {
        Some(cuda) => anneals(cuda, &network, methods.time).map_err(failed)?,
        None => Anneals::default(),
    };
    let device = match &methods.gpu {
        Some(cuda) => fangs(&network, Choice::Cuda(cuda.info.ordinal), methods.time)?,
        None => Curve::default(),
    };
    let cpu = if methods.cpu { fangs(&network, Choice::Cpu, methods.time)? } else { Curve::default() };
    let annealing = if methods.annealing { plain(&network, seed, methods.time) } else { Curve::default() };
    let row = |target: Target, cost: i64| LargeRow {
        network: setting.name,
        seed,
        target,
        cost,
        chromatic_s: anneals.curve.reaches(cost),
        chromatic_after_upload_s: anneals.curve.reaches(cost).map(|time| time - anneals.uploaded),
        device_s: device.reaches(cost),
        cpu_s: cpu.reaches(cost),
        annealing_s: annealing.reaches(cost),
    };
    let ends = [(Target::Device, &device), (Target::Cpu, &cpu), (Target::Annealing, &annealing)];
    let of_anneals = anneals.curve.0.iter().map(|&(_, cost)| row(Target::Chromatic, cost));
    Ok(of_anneals.chain(ends.iter().filter_map(|(target, curve)| Some(row(*target, curve.best()?)))).collect())
}

/// Anneals one state on the device, as long as the next anneal is expected to end in time. The evaluation of its final
/// states is not counted in the time.
fn anneals(cuda: &Arc<Cuda>, network: &Network, time: Duration) -> Result<Anneals, DeviceError> {
    let began = Instant::now();
    let Some(chromatic) = Chromatic::new(cuda, network)? else { return Ok(Anneals::default()) };
    let uploaded = began.elapsed().as_secs_f64();
    let (mut curve, mut clock) = (Curve::default(), uploaded);
    let (mut sweeps, mut last) = (FIRST_SWEEPS, 0.0);
    for key in 1.. {
        if clock + 4.0 * last > time.as_secs_f64() {
            break;
        }
        let began = Instant::now();
        let values = chromatic.anneal(sweeps, key)?;
        last = began.elapsed().as_secs_f64();
        clock += last;
        let values: Vec<u32> = values.into_iter().map(u32::from).collect();
        let evaluation = fangs_check::evaluate(network, &values);
        if let (true, Some(cost)) = (evaluation.is_solution(), whole(network, evaluation.cost)) {
            curve.note(clock, cost);
        }
        sweeps *= 4;
    }
    Ok(Anneals { curve, uploaded })
}

/// Runs Fangs on all threads.
fn fangs(network: &Network, device: Choice, time: Duration) -> Result<Curve, Error> {
    let options = Options::default().with(|options| {
        options.time = Some(time);
        options.device = device.into();
        options.threads = Some(rayon::current_num_threads());
    });
    let mut curve = Curve::default();
    let _ = solve(network, &options, &Stop::new(), &mut |event| {
        if let (Some(_), Some(Number::Integer(cost))) = (&event.solution, event.cost) {
            curve.note(event.time_s, cost);
        }
    })?;
    Ok(curve)
}

/// Anneals on each thread independently, and returns the curve of the best of all.
fn plain(network: &Network, seed: u64, time: Duration) -> Curve {
    let began = Instant::now();
    let all = Mutex::new(Vec::new());
    let _ = threads::map(0..rayon::current_num_threads() as u64, |thread| {
        let mut rng = Rng::new(seed.wrapping_mul(1000).wrapping_add(thread));
        let mut costs = Vec::new();
        Annealing::new(network).run(time.as_secs_f64() - began.elapsed().as_secs_f64(), &mut rng, &mut |cost| {
            costs.extend(whole(network, cost).map(|cost| (began.elapsed().as_secs_f64(), cost)));
        });
        if let Ok(mut all) = all.lock() {
            all.extend(costs);
        }
    });
    let mut all = all.into_inner().unwrap_or_default();
    all.sort_by(|a, b| a.0.total_cmp(&b.0));
    let mut curve = Curve::default();
    all.into_iter().for_each(|(time, cost)| curve.note(time, cost));
    curve
}

/// Returns a cost in the file's own numbers; the networks of the table have integer costs.
fn whole(network: &Network, cost: Cost) -> Option<i64> {
    match network.units().number(cost) {
        Number::Integer(cost) => Some(cost),
        Number::Decimal { .. } | Number::Real(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn curves_keep_what_is_better_and_know_when_a_cost_was_reached() {
        let mut curve = Curve::default();
        [(1.0, 50), (2.0, 60), (3.0, 40)].into_iter().for_each(|(time, cost)| curve.note(time, cost));
        assert_eq!((curve.best(), curve.0.len()), (Some(40), 2));
        assert_eq!([60, 50, 45, 39].map(|cost| curve.reaches(cost)), [Some(1.0), Some(1.0), Some(3.0), None]);
    }
}
