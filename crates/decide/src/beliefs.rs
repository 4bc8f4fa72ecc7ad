//! Levels of belief trees on a device (kernels/beliefs.cu): it advances all beliefs by all actions and observations,
//! and merges equal ones. The beliefs stay on the device; the host receives probabilities, node numbers and
//! expectations.

#![allow(unsafe_code, reason = "launches of kernels are foreign")]

use super::front::{Edge, Front, Grown, Level, NONE};
use super::process::Process;
use super::tuning::{CHILDREN, DIGITS};
use crate::elimination::Gpu;
use crate::elimination::cuda::Text;
use crate::elimination::executor::Failure;
use crate::error::Error;
use crate::kernels;
use crate::stop::Stop;
use fangs_device::shared::{constants, device_structs};
use fangs_device::{Blocks, Cuda, CudaSlice, CudaView, DeviceError, PushKernelArg, Source};
use std::ops::Range;
use std::sync::Arc;

/// Threads of a block.
const THREADS: u32 = 256;
/// The number of parts of 1 to which beliefs are rounded when equal ones are looked for.
const PARTS: u64 = DIGITS as u64;

device_structs! {
    /// The argument of the kernels, `Growth` in kernels/beliefs.cu.
    #[derive(Clone, Copy, Debug, Default)]
    struct GrowthWords as "Growth" {
        beliefs: u64,
        next: u64,
        begin: u64,
        from: u64,
        weight: u64,
        children: u64,
        p: u64,
        hash: u64,
        slot: u64,
        to: u64,
        keys: u64,
        first: u64,
        node: u64,
        count: u64,
        base: u64,
        fresh: u64,
        worst: u64,
        known: u32,
        all: u32,
        each: u32,
        mask: u32,
        own: u32,
        wide: u32,
        split: u32,
        unused: u32,
    }
}

const TEXT: Text = Text::new(text);

fn text() -> Source {
    let shared = constants! { u32: THREADS, NONE; u64: PARTS; };
    kernels::source("beliefs.cu").declare(&shared).asserts::<GrowthWords>()
}

/// The names of the kernels.
const KERNELS: [&str; 7] = ["grow", "claim", "count", "number", "put", "meet", "expect"];

/// Returns the sources of all kernels, to compile them without a device.
pub fn sources() -> Vec<Source> {
    vec![KERNELS.into_iter().fold(text(), Source::kernel)]
}

/// The beliefs of a level on a device.
#[derive(Debug)]
pub(super) struct Remote {
    gpu: Arc<Gpu>,
    beliefs: CudaSlice<f64>,
    nodes: usize,
}

/// The joint probabilities of next state and observation for all actions of a step, as sparse columns.
struct Columns {
    begin: CudaSlice<u32>,
    from: CudaSlice<u32>,
    weight: CudaSlice<f64>,
    bytes: u64,
}

/// The children of a batch of beliefs: the beliefs after each action and observation.
struct Children {
    beliefs: CudaSlice<f64>,
    p: CudaSlice<f64>,
    hash: CudaSlice<u64>,
    slot: CudaSlice<u32>,
    to: CudaSlice<u32>,
}

impl Children {
    /// Returns the bytes of `all` children with beliefs of `wide` entries.
    fn bytes(all: usize, wide: usize) -> u64 {
        (all * (8 * wide + 24)) as u64
    }
}

/// The working memory that merges equal children: a hash table, numbers of new nodes, and the largest difference of
/// merged beliefs.
struct Merging {
    keys: CudaSlice<u64>,
    first: CudaSlice<u32>,
    node: CudaSlice<u32>,
    counts: CudaSlice<u32>,
    bases: CudaSlice<u32>,
    fresh: CudaSlice<u32>,
    worst: CudaSlice<u64>,
    slots: usize,
}

impl Merging {
    /// Returns the bytes of a hash table with `slots` slots and of the numbers for a batch of `children` children.
    fn bytes(slots: usize, children: usize) -> u64 {
        (16 * slots + 8 * children.div_ceil(THREADS as usize) + 4 * children) as u64
    }

    fn new(cuda: &Cuda, slots: usize, children: usize) -> Result<Merging, DeviceError> {
        let blocks = children.div_ceil(THREADS as usize);
        let keys = cuda.zeros::<u64>(slots)?;
        let (first, node) = (cuda.reserve::<u32>(slots)?, cuda.reserve::<u32>(slots)?);
        cuda.set_bytes(&first, 0xff)?;
        cuda.set_bytes(&node, 0xff)?;
        let (counts, bases) = (cuda.reserve::<u32>(blocks)?, cuda.reserve::<u32>(blocks)?);
        let fresh = cuda.reserve::<u32>(children)?;
        Ok(Merging { keys, first, node, counts, bases, fresh, worst: cuda.zeros::<u64>(2)?, slots })
    }

    /// Returns the kernel argument of a batch, completed by the addresses of this memory, if there are `known` nodes so
    /// far.
    fn words(&self, cuda: &Cuda, known: usize, of_batch: GrowthWords) -> GrowthWords {
        GrowthWords {
            keys: cuda.address(&self.keys),
            first: cuda.address(&self.first),
            node: cuda.address(&self.node),
            count: cuda.address(&self.counts),
            base: cuda.address(&self.bases),
            fresh: cuda.address(&self.fresh),
            worst: cuda.address(&self.worst),
            known: known as u32,
            mask: self.slots as u32 - 1,
            ..of_batch
        }
    }

    /// Gives the new nodes of each block their first number, from `known` on. Returns the number of nodes after that.
    fn number(&mut self, cuda: &Cuda, blocks: usize, known: usize) -> Result<usize, DeviceError> {
        let mut made = known;
        let base = |count: u32| {
            let base = made as u32;
            made += count as usize;
            base
        };
        let own: Vec<u32> = cuda.read(&self.counts.slice(..blocks))?.into_iter().map(base).collect();
        cuda.write(&own, &mut self.bases.slice_mut(..blocks))?;
        Ok(made)
    }

    /// Returns the largest distance of merged beliefs.
    fn distance(&self, cuda: &Cuda) -> Result<f64, Failure> {
        let [distance, unequal] = cuda.read(&self.worst)?[..] else {
            return Err(Error::Internal("two words were asked for".into()).into());
        };
        if unequal != 0 {
            let what = "looking for equal beliefs".into();
            return Err(DeviceError::Failed { what, cause: "two that differ have one hash".into() }.into());
        }
        Ok(f64::from_bits(distance))
    }
}

/// The beliefs of the next level: `known` nodes of `wide` entries each, at most `most`, in memory for `capacity` nodes.
struct Next {
    wide: usize,
    most: usize,
    capacity: usize,
    known: usize,
    beliefs: CudaSlice<f64>,
}

impl Next {
    /// Makes room for `made` nodes. Returns the needed capacity if the device has no room for it.
    fn make_room(&mut self, gpu: &Gpu, made: usize) -> Result<Option<usize>, DeviceError> {
        if made <= self.capacity {
            return Ok(None);
        }
        self.capacity = (2 * self.capacity).max(made).min(self.most);
        // both arrays exist while one is copied
        if (8 * self.wide * self.capacity) as u64 > gpu.budget()? {
            return Ok(Some(self.capacity));
        }
        let cuda = gpu.cuda();
        let mut larger = cuda.reserve::<f64>(self.capacity * self.wide)?;
        let end = self.known * self.wide;
        if end > 0 {
            cuda.copy(&self.beliefs.slice(..end), &mut larger.slice_mut(..end))?;
        }
        self.beliefs = larger;
        Ok(None)
    }
}

/// Returns the logarithm of the number of threads, a power of two, that share a row of `wide` entries.
fn split(wide: usize) -> u32 {
    wide.next_power_of_two().trailing_zeros().min(5)
}

/// Returns the number of beliefs of a batch, such that their children take limited memory.
fn batch(nodes: usize, each: usize, wide: usize) -> usize {
    (CHILDREN / (each * (wide + 4))).clamp(1, nodes.max(1))
}

impl Remote {
    /// Copies beliefs to a device.
    pub fn new(gpu: &Arc<Gpu>, beliefs: &[f64], nodes: usize) -> Result<Remote, DeviceError> {
        Ok(Remote { gpu: gpu.clone(), beliefs: gpu.cuda().upload(beliefs)?, nodes })
    }

    /// Returns the device.
    pub fn gpu(&self) -> &Arc<Gpu> {
        &self.gpu
    }

    fn columns<P: Process>(&self, process: &P, step: usize) -> Result<Columns, DeviceError> {
        let width = process.observations() * process.states(step + 1);
        let mut begin = vec![0u32; process.actions() * width + 1];
        let all: Vec<_> = (0..process.actions()).map(|action| process.links(step, action)).collect();
        let targets = |each: &mut dyn FnMut(usize, u32, f64)| {
            for (action, links) in all.iter().enumerate() {
                links.iter().for_each(|link| each(action * width + link.to as usize, link.from, link.p));
            }
        };
        targets(&mut |target, _, _| begin[target + 1] += 1);
        (1..begin.len()).for_each(|target| begin[target] += begin[target - 1]);
        let links = begin.last().map_or(0, |&links| links as usize);
        let (mut from, mut weight, mut next) = (vec![0u32; links], vec![0.0; links], begin.clone());
        targets(&mut |target, state, p| {
            let place = next[target] as usize;
            (from[place], weight[place]) = (state, p);
            next[target] += 1;
        });
        let cuda = self.gpu.cuda();
        let bytes = 4 * begin.len() as u64 + 12 * links as u64;
        // an empty array has no address
        from.push(0);
        weight.push(0.0);
        Ok(Columns { begin: cuda.upload(&begin)?, from: cuda.upload(&from)?, weight: cuda.upload(&weight)?, bytes })
    }

    fn children(&self, nodes: usize, each: usize, wide: usize) -> Result<Children, DeviceError> {
        let (cuda, all) = (self.gpu.cuda(), nodes * each);
        let (beliefs, p, hash) = (cuda.reserve(all * wide)?, cuda.reserve(all)?, cuda.reserve(all)?);
        Ok(Children { beliefs, p, hash, slot: cuda.reserve(all)?, to: cuda.reserve(all)? })
    }

    /// Returns the kernel argument of a batch, without the memory that merges equal children.
    fn words<P: Process>(
        &self,
        process: &P,
        step: usize,
        columns: &Columns,
        children: &Children,
        batch: &Range<usize>,
    ) -> GrowthWords {
        let cuda = self.gpu.cuda();
        let (own, wide) = (process.states(step), process.states(step + 1));
        let each = process.actions() * process.observations();
        GrowthWords {
            beliefs: cuda.address(&self.beliefs) + (8 * batch.start * own) as u64,
            begin: cuda.address(&columns.begin),
            from: cuda.address(&columns.from),
            weight: cuda.address(&columns.weight),
            children: cuda.address(&children.beliefs),
            p: cuda.address(&children.p),
            hash: cuda.address(&children.hash),
            slot: cuda.address(&children.slot),
            to: cuda.address(&children.to),
            all: (batch.len() * each) as u32,
            each: each as u32,
            own: own as u32,
            wide: wide as u32,
            split: split(wide),
            ..GrowthWords::default()
        }
    }

    /// Launches a kernel on a batch, with 2^`split` threads for each row.
    fn launch(&self, kernel: &str, words: &GrowthWords, rows: u32, split: u32) -> Result<(), DeviceError> {
        let blocks = ((u64::from(rows) << split).div_ceil(THREADS.into())) as u32;
        if blocks == 0 {
            return Ok(());
        }
        let kernel = self.gpu.kernel(TEXT, kernel)?;
        // SAFETY: all these kernels take this one argument, and its addresses are those of memory that is alive
        // meanwhile.
        unsafe {
            kernel.launch(self.gpu.cuda().stream(), Blocks::new(blocks, THREADS), |arguments| arguments.arg(words))
        }
    }

    /// Returns the expectation of each vector at each row.
    fn expect(
        &self,
        rows: &CudaView<'_, f64>,
        vectors: &CudaSlice<f64>,
        count: usize,
        wide: usize,
    ) -> Result<Vec<f64>, DeviceError> {
        let cuda = self.gpu.cuda();
        let number = (rows.len() / wide) as u32;
        let mut out = cuda.reserve::<f64>(number as usize * count)?;
        let kernel = self.gpu.kernel(TEXT, "expect")?;
        let (many, width, split) = (count as u32, wide as u32, split(wide));
        let threads = (u64::from(number) * count as u64) << split;
        // SAFETY: the arguments are those of the kernel, and the memory is as large as they state.
        unsafe {
            kernel.launch(
                cuda.stream(),
                Blocks::new(threads.div_ceil(THREADS.into()) as u32, THREADS),
                |arguments| {
                    let arguments = arguments.arg(rows).arg(vectors).arg(&mut out).arg(&number);
                    arguments.arg(&many).arg(&width).arg(&split)
                },
            )?;
        }
        cuda.read(&out)
    }

    /// Computes the expected rewards of all actions at the beliefs of a batch.
    fn reward<P: Process>(
        &self,
        process: &P,
        rewards: &CudaSlice<f64>,
        step: usize,
        batch: &Range<usize>,
        level: &mut Level,
    ) -> Result<(), DeviceError> {
        let (own, actions) = (process.states(step), process.actions());
        let rows = self.beliefs.slice(batch.start * own..batch.end * own);
        let expected = self.expect(&rows, rewards, actions, own)?;
        level.q[batch.start * actions..batch.end * actions].copy_from_slice(&expected);
        Ok(())
    }

    fn rewards<P: Process>(&self, process: &P, step: usize) -> Result<CudaSlice<f64>, DeviceError> {
        let all: Vec<&[f64]> = (0..process.actions()).map(|action| process.rewards(step, action)).collect();
        self.gpu.cuda().upload(&all.concat())
    }
}

impl Front for Remote {
    fn evaluate<P: Process>(
        &mut self,
        process: &P,
        step: usize,
        vectors: &[Vec<f64>],
        level: &mut Level,
        stop: &Stop,
    ) -> Result<Grown, Failure> {
        let wide = process.states(step + 1);
        let each = process.actions() * process.observations();
        let (columns, rewards) = (self.columns(process, step)?, self.rewards(process, step)?);
        let size = batch(self.nodes, each, wide);
        let needed = Children::bytes(size * each, wide) + (8 * size * each * vectors.len()) as u64 + columns.bytes;
        if needed > self.gpu.budget()? {
            return Ok(Grown::NoRoom(needed));
        }
        let children = self.children(size, each, wide)?;
        let cuda = self.gpu.cuda().clone();
        let leaf = cuda.upload(&vectors.concat())?;
        for first in (0..self.nodes).step_by(size) {
            stop.check()?;
            let batch = first..(first + size).min(self.nodes);
            let words = self.words(process, step, &columns, &children, &batch);
            self.launch("grow", &words, words.all, words.split)?;
            self.reward(process, &rewards, step, &batch, level)?;
            let all = words.all as usize;
            let worth = self.expect(&children.beliefs.slice(..all * wide), &leaf, vectors.len(), wide)?;
            let p = cuda.read(&children.p.slice(..all))?;
            level.weigh(process, first, &p, |child| worth[child * vectors.len()..][..vectors.len()].iter().copied());
        }
        Ok(Grown::Nodes(0, 0.0))
    }

    fn expand<P: Process>(
        &mut self,
        process: &P,
        step: usize,
        most: usize,
        level: &mut Level,
        stop: &Stop,
    ) -> Result<Grown, Failure> {
        let wide = process.states(step + 1);
        let each = process.actions() * process.observations();
        let cuda = self.gpu.cuda().clone();
        let size = batch(self.nodes, each, wide);
        let most = most.min(self.nodes.saturating_mul(each));
        let slots = (2 * (most + size * each)).next_power_of_two();
        let (columns, rewards) = (self.columns(process, step)?, self.rewards(process, step)?);
        // the memory besides the beliefs of the next level, which begins with some capacity
        let bytes = Merging::bytes(slots, size * each) + Children::bytes(size * each, wide) + columns.bytes;
        let capacity = most.min((2 * self.nodes).max(size * each));
        let needed = |capacity: usize| bytes + (8 * wide * capacity) as u64;
        if slots > u32::MAX as usize || needed(capacity) > self.gpu.budget()? {
            return Ok(Grown::NoRoom(needed(capacity)));
        }
        let children = self.children(size, each, wide)?;
        let mut merging = Merging::new(&cuda, slots, size * each)?;
        let mut next = Next { wide, most, capacity, known: 0, beliefs: cuda.reserve(capacity * wide)? };
        for begin in (0..self.nodes).step_by(size) {
            stop.check()?;
            let batch = begin..(begin + size).min(self.nodes);
            let mut words = merging.words(&cuda, next.known, self.words(process, step, &columns, &children, &batch));
            let all = words.all;
            self.launch("grow", &words, all, words.split)?;
            self.launch("claim", &words, all, 0)?;
            self.launch("count", &words, all, 0)?;
            let made = merging.number(&cuda, all.div_ceil(THREADS) as usize, next.known)?;
            if made > most {
                return Ok(Grown::TooMany);
            }
            if let Some(capacity) = next.make_room(&self.gpu, made)? {
                return Ok(Grown::NoRoom(needed(capacity)));
            }
            words.next = cuda.address(&next.beliefs);
            self.launch("number", &words, all, 0)?;
            let new = (made - next.known) as u32;
            self.launch("put", &GrowthWords { all: new, ..words }, new, words.split)?;
            self.launch("meet", &words, all, words.split)?;
            self.reward(process, &rewards, step, &batch, level)?;
            let p = cuda.read(&children.p.slice(..all as usize))?;
            let to = cuda.read(&children.to.slice(..all as usize))?;
            let edges = level.edges[begin * each..].iter_mut().zip(to.into_iter().zip(p));
            edges.for_each(|(edge, (to, p))| *edge = Edge { to, p });
            next.known = made;
        }
        let distance = merging.distance(&cuda)?;
        (self.beliefs, self.nodes) = (next.beliefs, next.known);
        Ok(Grown::Nodes(next.known, distance))
    }
}
