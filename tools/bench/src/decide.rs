//! The experiments of Adoe, Chen and Doshi on interactive diagrams with a device: table 1 (two agents and a tiger) and
//! table 2 (an aircraft and a fugitive).
//!
//! Each row is solved in two ways: along beliefs, with behaviourally equivalent models merged; and by the paper's
//! method, elimination of the flat diagram in which only models with equal beliefs are merged, on the CPU and on a
//! device. The tables of the aircraft are those of Fangs, because the paper states none.
//!
//! On a device two eliminations are also measured with the paper's kernels, and with those of Fangs in the same way:
//! the elimination of the flat diagram, and those of the other agent's models one after another, each as the diagram of
//! a process, which is how the paper solves them.

use crate::elimination::Gpu;
use crate::error::Error;
use crate::factors::{self, OnDevice};
use crate::formats::parse_idid;
use crate::generate::generate_diagram;
use crate::median;
use crate::model::{Diagram, Idid, Other, Pomdp};
use crate::stop::Stop;
use fangs_decide::pairs::{self, Outcome, Pairs, Place, Plan};
use fangs_decide::{Device, Method, Options, Solution, flat_idid, flat_pomdp, pairs_of, solve_idid};
use serde::Serialize;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

/// The experiments.
pub const EXPERIMENTS: [&str; 3] = ["tiger", "uav", "blocks"];

/// The sizes of an experiment: models of the other agent, steps of the first agent, steps that the other agent has to
/// go at first, and threads of a block of the paper's kernels.
struct Sizes {
    models: &'static [usize],
    t1: &'static [usize],
    t0: &'static [usize],
    threads: &'static [u32],
    /// The paper's seconds on its CPU and its GPU (a GTX 480), by models, then by steps of the first agent, then of the
    /// other.
    paper: &'static [(f64, f64)],
}

const ALWAYS: &[u32] = &[factors::THREADS];
const TIGER: Sizes =
    Sizes { models: &[10, 50, 100], t1: &[3, 4, 5], t0: &[6, 7, 8, 9], threads: ALWAYS, paper: &TIGER_S };
const UAV: Sizes = Sizes { models: &[10, 25, 50], t1: &[3], t0: &[3, 4, 5], threads: ALWAYS, paper: &UAV_S };
/// The sizes of figure 9, whose text does not state the steps of the other agent.
const BLOCKS: Sizes = Sizes {
    models: &[10],
    t1: &[3],
    t0: TIGER.t0,
    threads: &[64, 128, 192, 256, 320, 384, 448, 512, 576, 640],
    paper: &[],
};

#[allow(clippy::approx_constant, reason = "seconds, of which one is 3.14")]
const TIGER_S: [(f64, f64); 36] = [
    (3.14, 0.51),
    (17.8, 1.93),
    (106.0, 10.2),
    (644.0, 60.0),
    (5.59, 0.77),
    (20.3, 2.18),
    (108.0, 10.5),
    (647.0, 60.0),
    (50.0, 5.09),
    (64.7, 6.48),
    (153.0, 14.7),
    (691.0, 64.3),
    (13.7, 1.83),
    (80.5, 8.21),
    (481.0, 46.0),
    (2930.0, 272.0),
    (16.1, 2.08),
    (83.0, 8.45),
    (484.0, 45.9),
    (2931.0, 272.0),
    (60.5, 6.44),
    (127.0, 12.7),
    (528.0, 50.6),
    (2972.0, 277.0),
    (27.4, 3.56),
    (162.5, 16.3),
    (971.0, 92.8),
    (5937.0, 573.0),
    (29.9, 3.81),
    (164.9, 16.7),
    (974.0, 92.4),
    (5937.0, 569.6),
    (74.3, 8.11),
    (209.0, 21.0),
    (1018.0, 96.8),
    (5975.0, 575.0),
];
const UAV_S: [(f64, f64); 9] = [
    (16.56, 2.22),
    (24.38, 3.17),
    (239.0, 27.6),
    (16.9, 2.27),
    (32.6, 4.23),
    (462.4, 55.6),
    (17.51, 2.41),
    (46.61, 6.02),
    (845.1, 99.3),
];

/// The seconds from which on a run is not repeated.
const LONG_S: f64 = 1.0;

/// The setting of a row.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DecideSetting {
    /// The experiment.
    pub table: &'static str,
    /// The number of models of the other agent.
    pub models: usize,
    /// The steps of the first agent.
    pub t1: usize,
    /// The steps that the other agent has to go.
    pub t0: usize,
    /// The threads of a block of the paper's kernels.
    pub threads: u32,
    /// The paper's seconds, CPU and GPU; `None` for figure 9, which is a curve without numbers.
    pub paper: Option<(f64, f64)>,
}

/// Options of the measurements.
#[derive(Clone, Copy, Debug)]
pub struct DecideOptions<'a> {
    /// The device, if there is one.
    pub gpu: Option<&'a Arc<Gpu>>,
    /// Whether the paper's method also runs on the CPU if there is a device.
    pub cpu: bool,
    /// The maximum bytes of tables.
    pub memory: u64,
}

/// A row of the tables. Times are in seconds, for everything but reading the file; `None` if the tables do not fit in
/// memory.
#[derive(Clone, Debug, Serialize)]
pub struct DecideRow {
    /// The experiment.
    pub table: &'static str,
    /// The number of models of the other agent at the beginning.
    pub models: usize,
    /// The number of models of the other agent at the last step.
    pub last_models: usize,
    /// The steps of the first agent.
    pub t1: usize,
    /// The steps that the other agent has to go.
    pub t0: usize,
    /// The maximum expected utility.
    pub meu: Option<f64>,
    /// The time along beliefs, with models merged.
    pub merged_s: f64,
    /// The time of the paper's method on the CPU.
    pub cpu_s: Option<f64>,
    /// The time of the paper's method on the device.
    pub device_s: Option<f64>,
    /// The time of the paper's method on the CPU divided by that on the device.
    pub speed_up: Option<f64>,
    /// The mean number of entries of joint tables of probabilities.
    pub mean_probability_factor: Option<f64>,
    /// The mean number of entries of joint tables with utilities.
    pub mean_utility_factor: Option<f64>,
    /// The time of the flat diagram alone on the device, by the kernels of Fangs.
    pub flat_s: Option<f64>,
    /// The time of the flat diagram alone on the device, by the paper's kernels.
    pub paper_kernels_flat_s: Option<f64>,
    /// The time of the other agent's models alone on the device, one after another as diagrams, by the kernels of
    /// Fangs.
    pub level0_s: Option<f64>,
    /// The time of the other agent's models alone on the device, one after another as diagrams, by the paper's kernels.
    pub paper_kernels_level0_s: Option<f64>,
    /// The threads of a block of the paper's kernels.
    pub block: u32,
    /// The paper's time on its CPU, all models included.
    pub paper_cpu_s: Option<f64>,
    /// The paper's time on its GTX 480, all models included.
    pub paper_gpu_s: Option<f64>,
}

/// Returns the settings of an experiment; none if its name is unknown.
pub fn decide_settings(table: &str) -> Vec<DecideSetting> {
    let Some(&table) = EXPERIMENTS.iter().find(|known| **known == table) else { return Vec::new() };
    let Sizes { models, t1, t0, threads, paper } = match table {
        "tiger" => TIGER,
        "uav" => UAV,
        _ => BLOCKS,
    };
    let mut all = Vec::new();
    for &models in models {
        for &t1 in t1 {
            for &t0 in t0 {
                let paper = paper.get(all.len()).copied();
                all.extend(threads.iter().map(|&threads| DecideSetting { table, models, t1, t0, threads, paper }));
            }
        }
    }
    all
}

/// A diagram and the plan of its elimination.
struct Planned {
    pairs: Pairs,
    plan: Plan,
}

impl Planned {
    fn new(diagram: &Diagram, stop: &Stop) -> Result<Planned, Error> {
        let pairs = pairs_of(diagram);
        let plan = pairs::plan(&pairs, stop)?;
        Ok(Planned { pairs, plan })
    }

    /// Returns the diagrams of the other agent's models, which solve processes.
    fn of_models(idid: &Idid, stop: &Stop) -> Result<Vec<Planned>, Error> {
        let Other::Alone(process) = &idid.other else {
            return Err(Error::Internal(format!("{}: its models are interactive themselves", idid.name)));
        };
        let planned = |(belief, _): &(Vec<f64>, f64)| {
            let start = Pomdp { start: belief.clone(), ..process.clone() };
            Planned::new(&flat_pomdp(&start, idid.other_horizon)?, stop)
        };
        idid.models.iter().map(planned).collect()
    }
}

/// Measures the seconds from functions on the host to values and policies there, one diagram after another, by the
/// kernels of Fangs and by the paper's. A time is `None` if the tables do not fit in memory. The values must agree.
fn compared(
    diagrams: &[Planned],
    gpu: &Arc<Gpu>,
    threads: u32,
    stop: &Stop,
) -> Result<(Option<f64>, Option<f64>), Error> {
    let device = Device::open(gpu.clone(), |_: &str| ());
    let place = Place { device: &device, memory: 0.0 };
    let room = gpu.budget().map_err(|error| Error::Internal(format!("the device's memory: {error}")))?;
    let published = OnDevice::new(gpu.cuda(), threads, room)?;
    let timed = |by: &dyn Fn(&Planned) -> Result<Option<Outcome>, Error>| {
        let one = |planned: &Planned| Ok::<_, Error>(by(planned)?.map(|found| found.worth(false)));
        // the first diagram compiles the kernels
        let _ = diagrams.first().map(one).transpose()?;
        median(LONG_S, || {
            let begun = Instant::now();
            let found = diagrams.iter().map(one).collect::<Result<Option<Vec<_>>, Error>>()?;
            Ok((found, begun.elapsed().as_secs_f64()))
        })
    };
    let own = timed(&|planned| pairs::execute(&planned.pairs, &planned.plan, 0.0, place, stop))?;
    let theirs = timed(&|planned| published.eliminate(&planned.pairs, &planned.plan, stop))?;
    for (&(value, error), &(other, other_error)) in own.0.iter().flatten().zip(theirs.0.iter().flatten()) {
        if (value - other).abs() > error + other_error {
            return Err(Error::Internal(format!("the paper's kernels find {other}, ours {value}")));
        }
    }
    Ok((own.0.map(|_| own.1), theirs.0.map(|_| theirs.1)))
}

/// Measures a row.
///
/// # Errors
/// [`Error::Stopped`]; an error if values do not agree.
pub fn decide(setting: &DecideSetting, options: DecideOptions<'_>, stop: &Stop) -> Result<DecideRow, Error> {
    let DecideSetting { table, models, t1, t0, threads, paper } = *setting;
    let parameters = [("models", models), ("t1", t1), ("t0", t0)].map(|(name, value)| (name, value.to_string()));
    let parameters: Vec<(&str, &str)> = parameters.iter().map(|(name, value)| (*name, value.as_str())).collect();
    let kind = if table == "uav" { "idid-uav" } else { "idid-tiger" };
    let text = generate_diagram(kind, &parameters, 1)?;
    let (idid, _) = parse_idid(&text, table, Path::new(""), stop)?;
    let solve = |method: Method, device: Arc<Device>| -> Result<(Solution, f64), Error> {
        let begun = Instant::now();
        let options = Options { method, memory: options.memory, device, ..Options::default() };
        let found = solve_idid(&idid, &options, stop, &mut |_| ())?;
        Ok((found, begun.elapsed().as_secs_f64()))
    };
    let (merged, merged_s) = solve(Method::BeliefTree, Arc::default())?;
    // if tables do not fit in memory there is no exact value to compare
    let flat = |device| Ok::<_, Error>(Some(solve(Method::Eliminate, device)?).filter(|(found, _)| found.exact));
    let on_cpu = if options.cpu || options.gpu.is_none() { flat(Arc::default())? } else { None };
    let on_device = match options.gpu {
        None => None,
        Some(gpu) => {
            let device = || Arc::new(Device::open(gpu.clone(), |_: &str| ()));
            // the first run compiles the kernels
            drop(flat(device())?);
            let device = device();
            flat(device.clone())?.filter(|_| device.name() != "cpu")
        }
    };
    for (found, _) in on_cpu.iter().chain(&on_device) {
        let (Some(own), Some(other)) = (merged.meu, found.meu) else { continue };
        if (own - other).abs() > merged.error_bound + found.error_bound + 1e-9 {
            return Err(Error::Internal(format!("{setting:?}: {own} by beliefs, {other} by elimination")));
        }
    }
    let ((flat_s, paper_kernels_flat_s), (level0_s, paper_kernels_level0_s)) = match options.gpu {
        None => Default::default(),
        Some(gpu) => {
            let flat = Planned::new(&flat_idid(&idid, stop)?, stop)?;
            let models = Planned::of_models(&idid, stop)?;
            (compared(&[flat], gpu, threads, stop)?, compared(&models, gpu, threads, stop)?)
        }
    };
    let seconds = |found: &Option<(Solution, f64)>| found.as_ref().map(|(_, seconds)| *seconds);
    let (cpu_s, device_s) = (seconds(&on_cpu), seconds(&on_device));
    let sizes = on_cpu.as_ref().or(on_device.as_ref()).map(|(found, _)| found);
    Ok(DecideRow {
        table,
        models,
        last_models: merged.models_per_step.as_ref().and_then(|all| all.last().copied()).unwrap_or(0),
        t1,
        t0,
        meu: merged.meu,
        merged_s,
        cpu_s,
        device_s,
        speed_up: cpu_s.zip(device_s).map(|(cpu, device)| cpu / device),
        mean_probability_factor: sizes.and_then(|found| found.mean_probability_factor),
        mean_utility_factor: sizes.and_then(|found| found.mean_utility_factor),
        flat_s,
        paper_kernels_flat_s,
        level0_s,
        paper_kernels_level0_s,
        block: threads,
        paper_cpu_s: paper.map(|(cpu, _)| cpu),
        paper_gpu_s: paper.map(|(_, gpu)| gpu),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn tables_and_the_figure_have_the_rows_of_the_paper() {
        let rows = EXPERIMENTS.map(|table| decide_settings(table).len());
        assert_eq!(rows, [36, 9, 40]);
        let blocks: BTreeSet<u32> = decide_settings("blocks").iter().map(|setting| setting.threads).collect();
        assert_eq!((blocks.len(), blocks.first(), blocks.last()), (10, Some(&64), Some(&640)));
        assert!(decide_settings("none").is_empty());
        let of = |table, sizes: (usize, usize, usize)| {
            let mut rows = decide_settings(table).into_iter();
            rows.find(|row| (row.models, row.t1, row.t0) == sizes).and_then(|row| row.paper)
        };
        assert_eq!(of("tiger", (10, 4, 6)), Some((5.59, 0.77)));
        assert_eq!(of("tiger", (100, 5, 9)), Some((5975.0, 575.0)));
        assert_eq!((of("uav", (25, 3, 5)), of("blocks", (10, 3, 6))), (Some((462.4, 55.6)), None));
    }

    /// Values by the paper's kernels must agree with those of Fangs, or the row is an error. A row without room has no
    /// time.
    #[test]
    fn rows_have_the_seconds_of_the_papers_kernels() {
        let Some(cuda) = fangs_testing::gpu() else { return };
        let measured = |setting: &DecideSetting, limit: u64| {
            let gpu = Gpu::limited(cuda.clone(), limit);
            let options = DecideOptions { gpu: Some(&gpu), cpu: false, memory: 1 << 30 };
            decide(setting, options, &Stop::new()).expect("a row")
        };
        for table in EXPERIMENTS {
            let row = measured(&decide_settings(table)[0], u64::MAX);
            let all = [row.flat_s, row.paper_kernels_flat_s, row.level0_s, row.paper_kernels_level0_s];
            assert!(all.iter().all(|seconds| seconds.is_some_and(|seconds| seconds > 0.0)), "{row:?}");
            let row = measured(&decide_settings(table)[0], 1000);
            let all = [row.flat_s, row.paper_kernels_flat_s, row.level0_s, row.paper_kernels_level0_s];
            assert_eq!(all, [None; 4], "{row:?}");
        }
    }
}
