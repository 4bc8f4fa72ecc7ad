//! The experiments of the papers on DPOP with a device: tables 1 to 3 and figure 10 of Fioretto, Pontelli, Yeoh and
//! Dechter (2018), whose figures 4 and 5 of 2015 vary the same parameters.
//!
//! The papers do not state their instances, so each row has the numbers that determine its time: the induced width and
//! the combinations visited. Dense tables take the same time whatever share of their tuples is forbidden.

use crate::elimination::{Gpu, Limits, Plan};
use crate::error::Error;
use crate::generate::generate;
use crate::order::{Method, PseudoTree, best_order};
use crate::reduce::Reducer;
use crate::stop::Stop;
use crate::{buckets, median};
use fangs_dcop::{Clocks, Latency, Place, Spent, Traffic, run_agents, run_levels};
use serde::Serialize;
use std::sync::Arc;

/// The seconds on the papers' GTX Titan of bucket elimination and of simulated DPOP; `None` if the papers
/// have none.
type Titan = Option<(f64, f64)>;

/// The variables, values and densities of the random networks of table 1.
const RANDOM: [(u32, u32, f64, Titan); 22] = [
    (10, 10, 0.3, Some((0.008, 0.001))),
    (11, 10, 0.3, Some((0.010, 0.001))),
    (12, 10, 0.3, Some((0.012, 0.001))),
    (13, 10, 0.3, Some((0.018, 0.002))),
    (14, 10, 0.3, Some((0.025, 0.003))),
    (15, 10, 0.3, Some((0.056, 0.010))),
    (16, 10, 0.3, Some((0.280, 0.051))),
    (17, 10, 0.3, Some((0.739, 0.164))),
    (18, 10, 0.3, Some((2.081, 0.818))),
    (19, 10, 0.3, Some((4.559, 1.419))),
    (20, 10, 0.3, Some((8.099, 3.006))),
    (10, 5, 0.3, Some((0.008, 0.001))),
    (10, 25, 0.3, Some((0.017, 0.001))),
    (10, 50, 0.3, Some((0.179, 0.049))),
    (10, 100, 0.3, Some((0.577, 0.119))),
    (10, 10, 0.2, Some((0.005, 0.001))),
    (10, 10, 0.4, Some((0.012, 0.001))),
    (10, 10, 0.5, Some((0.019, 0.002))),
    (10, 10, 0.6, Some((0.061, 0.011))),
    (10, 10, 0.7, Some((0.210, 0.056))),
    (10, 10, 0.8, Some((0.800, 0.165))),
    (10, 10, 0.9, Some((3.853, 1.322))),
];

/// The variables and values of the scale-free networks of table 2. Without times, memory ran out.
const SCALE_FREE: [(u32, u32, Titan); 15] = [
    (10, 10, Some((0.111, 0.064))),
    (11, 10, Some((0.120, 0.057))),
    (12, 10, Some((0.231, 0.072))),
    (13, 10, Some((0.776, 0.167))),
    (14, 10, Some((2.293, 0.386))),
    (15, 10, Some((9.246, 2.441))),
    (16, 10, None),
    (17, 10, None),
    (18, 10, None),
    (19, 10, None),
    (20, 10, None),
    (10, 5, Some((0.024, 0.002))),
    (10, 25, Some((3.262, 0.593))),
    (10, 50, None),
    (10, 100, None),
];

/// The columns and values of the grids of table 3, whose widths are those of grids with four rows.
const GRID: [(u32, u32, Titan); 15] = [
    (5, 10, Some((0.022, 0.001))),
    (6, 10, Some((0.029, 0.001))),
    (7, 10, Some((0.033, 0.001))),
    (8, 10, Some((0.065, 0.001))),
    (9, 10, Some((0.089, 0.001))),
    (10, 10, Some((0.080, 0.002))),
    (11, 10, Some((0.127, 0.002))),
    (12, 10, Some((0.144, 0.002))),
    (13, 10, Some((0.169, 0.003))),
    (14, 10, Some((0.152, 0.003))),
    (15, 10, Some((0.233, 0.004))),
    (10, 5, Some((0.061, 0.001))),
    (10, 25, Some((0.776, 0.011))),
    (10, 50, None),
    (10, 100, None),
];

/// The number of rows of the grids of table 3.
const ROWS: u32 = 4;

/// The seconds from which on a run is not repeated.
const LONG_S: f64 = 5.0;

/// The numbers z of variables of a mini-bucket in figure 10 and table 5, on networks of 20 variables.
const Z: std::ops::RangeInclusive<u32> = 2..=10;

/// The number of values of each variable in figure 10 and table 5.
pub const VALUES: u32 = 25;

/// The names of the experiments.
pub const TABLES: [&str; 4] = ["random", "scale-free", "grid", "adpop"];

/// A network of an experiment, and the algorithm that runs on it.
#[derive(Clone, Debug)]
pub struct Setting {
    /// One of [`TABLES`].
    pub table: &'static str,
    /// The kind of the generated network.
    pub kind: &'static str,
    parameters: Vec<(&'static str, String)>,
    n: u32,
    d: u32,
    /// The number z of variables of a mini-bucket; `None` for exact elimination.
    pub z: Option<u32>,
    titan: Titan,
}

/// Options of the measurements.
#[derive(Clone, Copy, Debug)]
pub struct DcopOptions<'a> {
    /// The device, if there is one.
    pub gpu: Option<&'a Arc<Gpu>>,
    /// Whether the CPU is also measured.
    pub cpu: bool,
    /// Whether the device also runs the published kernels.
    pub paper: bool,
    /// The maximum bytes of tables.
    pub memory: u64,
    /// The number of combinations from which on a row is not measured.
    pub most_joint_entries: f64,
    /// The share of tuples that are forbidden.
    pub p2: f64,
}

/// The measurements of one network, in seconds; `None` if a method did not run.
#[derive(Clone, Debug, Default, Serialize)]
pub struct DcopRow {
    /// One of [`TABLES`].
    pub table: &'static str,
    /// The generated network: the arguments of `fangs generate`.
    pub network: String,
    /// The number of variables.
    pub n: u32,
    /// The number of values of each variable.
    pub d: u32,
    /// The number z of variables of a mini-bucket; `None` for exact elimination.
    pub z: Option<u32>,
    /// The induced width of the order.
    pub width: u32,
    /// The number of combinations of all buckets.
    pub joint_entries: f64,
    /// The number of entries of the largest message.
    pub largest_table: f64,
    /// The lower bound in the network's units; it equals the optimum if no bucket is split.
    pub bound: Option<i64>,
    /// The time of bucket or mini-bucket elimination on the CPU.
    pub be_cpu_s: Option<f64>,
    /// The time of bucket or mini-bucket elimination on the device.
    pub be_device_s: Option<f64>,
    /// The simulated time of DPOP or ADPOP on the CPU.
    pub dpop_cpu_s: Option<f64>,
    /// The simulated time of DPOP or ADPOP on the device.
    pub dpop_device_s: Option<f64>,
    /// The fraction of the agents' time that copies to and from the device take.
    pub transfers: Option<f64>,
    /// The simulated time of DPOP or ADPOP with the published kernels on the device; `None` if a joint table does not
    /// fit.
    pub paper_s: Option<f64>,
    /// The paper's time of bucket elimination on a GTX Titan, for its own networks.
    pub titan_be_s: Option<f64>,
    /// The paper's time of simulated DPOP on a GTX Titan, for its own networks.
    pub titan_dpop_s: Option<f64>,
}

/// Returns all settings of an experiment. `p2` is the share of forbidden tuples; `values` are the values of each
/// variable if the sizes of mini-buckets vary.
pub fn settings(table: &str, p2: f64, values: u32) -> Vec<Setting> {
    let text = |number: &dyn std::fmt::Display| number.to_string();
    let of = |table, kind, parameters: Vec<(&'static str, String)>, (n, d), z, titan| {
        let mut parameters = parameters;
        parameters.extend([("d", text(&d)), ("p2", text(&p2))]);
        Setting { table, kind, parameters, n, d, z, titan }
    };
    let random = |table, n, d, p1: f64, z, titan| {
        of(table, "random", vec![("n", text(&n)), ("p1", text(&p1))], (n, d), z, titan)
    };
    let scale_free = |table, n, d, z, titan| of(table, "scale-free", vec![("n", text(&n))], (n, d), z, titan);
    let grid = |table, rows: u32, side: u32, d, z, titan| {
        of(table, "grid", vec![("rows", text(&rows)), ("side", text(&side))], (rows * side, d), z, titan)
    };
    match table {
        "random" => RANDOM.iter().map(|&(n, d, p1, titan)| random("random", n, d, p1, None, titan)).collect(),
        "scale-free" => SCALE_FREE.iter().map(|&(n, d, titan)| scale_free("scale-free", n, d, None, titan)).collect(),
        "grid" => GRID.iter().map(|&(side, d, titan)| grid("grid", ROWS, side, d, None, titan)).collect(),
        _ => Z
            .flat_map(|z| {
                let z = Some(z);
                [
                    random("adpop", 20, values, 0.3, z, None),
                    scale_free("adpop", 20, values, z, None),
                    grid("adpop", 10, 10, values, z, None),
                ]
            })
            .collect(),
    }
}

/// Measures a setting on the network of a seed.
///
/// # Errors
/// An error if the network cannot be generated or memory is too small; [`Error::Stopped`].
pub fn dcop(setting: &Setting, seed: u64, options: DcopOptions<'_>, stop: &Stop) -> Result<DcopRow, Error> {
    let parameters: Vec<(&str, &str)> =
        setting.parameters.iter().map(|(name, value)| (*name, value.as_str())).collect();
    let network = generate(setting.kind, &parameters, seed)?;
    let problem = Arc::new(Reducer::new(&network, false, stop)?.problem(stop)?);
    let order = best_order(&problem, &[Method::MinFill], 1, 64, stop);
    stop.check()?;
    let tree = PseudoTree::of_order(&problem, &order, stop)?;
    let limits = Limits { z: setting.z, ..Limits::new(options.memory) };
    let plan = Plan::until(&problem, &tree.order, &limits, stop)?;
    let all: String = parameters.iter().map(|(name, value)| format!(" --{name} {value}")).collect();
    let mut row = DcopRow {
        table: setting.table,
        network: format!("{}{all} --seed {seed}", setting.kind),
        n: setting.n,
        d: setting.d,
        z: setting.z,
        width: order.width,
        joint_entries: if setting.z.is_some() { plan.joint_entries as f64 } else { order.joint_entries },
        largest_table: if setting.z.is_some() { plan.largest_table as f64 } else { order.largest },
        titan_be_s: setting.titan.map(|(be, _)| be),
        titan_dpop_s: setting.titan.map(|(_, dpop)| dpop),
        ..DcopRow::default()
    };
    let fits = setting.z.map_or(plan.exact, |z| plan.exact || plan.z == z);
    if !fits || row.joint_entries > options.most_joint_entries {
        return Ok(row);
    }
    let owner: Vec<u32> = (0..problem.variables() as u32).collect();
    let traffic = Traffic::new(&plan, &tree, &owner);
    let devices = [(options.cpu || options.gpu.is_none()).then_some(None), options.gpu.map(Some)];
    let simulated = |spent: &[Spent]| {
        Clocks::new(&tree, &traffic, spent, &owner, plan.costs.width.bytes(), Latency::default()).end_s
    };
    for gpu in devices.into_iter().flatten() {
        let (whole, be) = median(LONG_S, || {
            let whole = run_levels(&problem, plan.clone(), gpu, stop)?;
            let seconds = whole.util_s + whole.value_s;
            Ok((whole, seconds))
        })?;
        let (agents, dpop) = median(LONG_S, || {
            let agents = run_agents(&problem, &plan, gpu.map_or(Place::Host, Place::Faster), stop)?;
            let seconds = simulated(&agents.spent);
            Ok((agents, seconds))
        })?;
        if whole.lower != agents.lower || row.bound.is_some_and(|bound| bound != whole.lower) {
            let what = format!("{}: agents come to {}, elimination to {}", row.network, agents.lower, whole.lower);
            return Err(Error::Internal(what));
        }
        row.bound = Some(whole.lower);
        match gpu {
            None => (row.be_cpu_s, row.dpop_cpu_s) = (Some(be), Some(dpop)),
            Some(_) => {
                (row.be_device_s, row.dpop_device_s) = (Some(be), Some(dpop));
                let spent = agents.spent.iter();
                let (copies, all) = spent.fold((0.0, 0.0), |(copies, all), spent| {
                    (copies + spent.transfer_s, all + spent.transfer_s + spent.util_s + spent.value_s)
                });
                row.transfers = Some(copies / all);
            }
        }
        let Some(gpu) = gpu.filter(|_| options.paper) else { continue };
        let (lower, paper) = median(LONG_S, || {
            let Some((lower, mut spent)) = buckets::dpop(gpu, &problem, &plan, stop)? else { return Ok((None, 0.0)) };
            // values are chosen on the host
            spent.iter_mut().zip(&agents.spent).for_each(|(paper, own)| paper.value_s = own.value_s);
            Ok((Some(lower), simulated(&spent)))
        })?;
        row.paper_s = lower.is_some().then_some(paper);
        if let Some(lower) = lower.filter(|&lower| lower != whole.lower) {
            let what = format!("{}: the published kernels come to {lower}, not {}", row.network, whole.lower);
            return Err(Error::Internal(what));
        }
    }
    Ok(row)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_agree_with_themselves() {
        let options =
            DcopOptions { gpu: None, cpu: true, paper: false, memory: 1 << 28, most_joint_entries: 1e6, p2: 0.5 };
        let mut run = 0;
        for table in TABLES {
            for setting in
                settings(table, options.p2, VALUES).iter().filter(|setting| setting.n <= 40 && setting.d <= 25)
            {
                let row = dcop(setting, 1, options, &Stop::new()).expect("a row");
                assert_eq!(row.be_cpu_s.is_some(), row.bound.is_some(), "{row:?}");
                assert!(row.network.contains("--seed 1") && row.joint_entries > 0.0, "{row:?}");
                run += u32::from(row.bound.is_some());
            }
        }
        assert!(run > 20, "{run}");
        let first = dcop(&settings("random", 0.5, VALUES)[0], 1, options, &Stop::new()).expect("a row");
        assert_eq!((first.bound, first.width, first.joint_entries), (Some(230), 3, 22510.0));
    }
}
