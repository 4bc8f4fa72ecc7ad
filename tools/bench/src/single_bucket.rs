//! A bucket by the fused kernel beside the published aggregate-then-eliminate (GpuBE, sections 5.3 and 5.4) on a joint
//! table in device memory. Both times run from tables on the device to the message.

use crate::buckets::{Aggregated, join};
use crate::device::{Cuda, DeviceError};
use crate::elimination::Gpu;
use crate::elimination::speed::{Bucket, BucketShape, giga_per_second};
use crate::model::{Cost, CostFunction, Table};
use serde::Serialize;
use std::sync::Arc;

/// The measurements of a bucket. Times are medians in milliseconds, rates are in 10^9 combinations a second.
#[derive(Clone, Debug, Serialize)]
pub struct SingleBucketRow {
    /// The number of values of a variable.
    pub d: u32,
    /// The number of variables of the message.
    pub w: u32,
    /// The number of functions.
    pub functions: usize,
    /// The number of combinations.
    pub joint: u64,
    /// The time of the fused kernel.
    pub fused_ms: f64,
    /// The rate of the fused kernel.
    pub fused_g: f64,
    /// The time of the published algorithm.
    pub paper_ms: f64,
    /// The rate of the published algorithm.
    pub paper_g: f64,
    /// The time of the published algorithm divided by that of the fused kernel.
    pub ratio: f64,
}

/// Measures a bucket with both algorithms.
///
/// # Errors
/// Errors of the device; an error if a message has an incorrect entry.
pub fn measure(gpu: &Arc<Gpu>, shape: BucketShape, repeats: usize) -> Result<SingleBucketRow, DeviceError> {
    let bucket = Bucket::new(shape);
    let fused_ms = bucket.fused(gpu, repeats)?.ms;
    let paper_ms = published_ms(gpu.cuda(), shape, &bucket, repeats)?;
    let joint = shape.joint();
    Ok(SingleBucketRow {
        d: shape.d,
        w: shape.w,
        functions: bucket.problem.functions.len(),
        joint,
        fused_ms,
        fused_g: giga_per_second(joint, fused_ms),
        paper_ms,
        paper_g: giga_per_second(joint, paper_ms),
        ratio: paper_ms / fused_ms,
    })
}

/// Returns the milliseconds of the published algorithm, whose message is checked.
fn published_ms(cuda: &Arc<Cuda>, shape: BucketShape, bucket: &Bucket, repeats: usize) -> Result<f64, DeviceError> {
    let (d, w) = (shape.d, shape.w as usize);
    let sizes = vec![d; w + 1];
    let mut tables = Vec::new();
    for (number, function) in bucket.problem.functions.iter().enumerate() {
        let mut axes: Vec<usize> = shape.scope(number)[1..].iter().map(|&v| v as usize - 1).collect();
        axes.push(w);
        tables.push(Aggregated::new(cuda, &eliminated_last(function, d as usize), &axes, &sizes)?);
    }
    let mut joint = cuda.zeros::<i32>(shape.joint() as usize)?;
    let mut out = cuda.zeros::<i32>(shape.rows() as usize)?;
    join(cuda, &tables, &mut joint, &mut out, d)?;
    // read before the timed runs add to the joint table
    let sample = |&row: &u64| cuda.read(&out.slice(row as usize..row as usize + 1));
    let entries = bucket.samples.iter().map(sample).collect::<Result<Vec<_>, _>>()?.concat();
    let entries: Vec<Cost> = entries.into_iter().map(Cost::from).collect();
    bucket.check("the published algorithm", &entries)?;
    cuda.median_ms(1, repeats, || join(cuda, &tables, &mut joint, &mut out, d))
}

/// Returns a function's table with the eliminated variable, of `d` values, as the last axis, as in the paper.
fn eliminated_last(function: &CostFunction, d: usize) -> Vec<i32> {
    let Table::Dense(costs) = &function.table else { return Vec::new() };
    let slab = costs.len() / d;
    (0..costs.len()).map(|at| costs.get(at % d * slab + at / d) as i32).collect()
}
