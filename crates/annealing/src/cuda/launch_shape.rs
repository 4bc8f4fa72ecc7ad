//! The division of a population into blocks and lane groups.

use super::lanes::{StateLanes, source};
use crate::core::context::SearchContext;
use crate::core::row_shape::RowShape;
use crate::device::{Info, Source};
use crate::stop::Stop;
use crate::tuning::device::{
    BLOCKS, FEW_THREADS, MOST_LANES, NODE_VISITS, SATURATING, SMALL_THREADS, THREADS, TOGETHER,
};

/// Bytes of shared memory that a block takes beside the values.
const BESIDE: u32 = 128;
/// Bytes of shared memory that a block takes beside the values, those of the driver included.
const RESERVED: u32 = BESIDE + 1024;
/// The properties of a reduced problem that determine how its population is divided into blocks.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LaunchShape {
    shape: RowShape,
    variables: u32,
    is_large: bool,
    /// Whether children have the minimum number of sweeps.
    is_long: bool,
    classes: u32,
    degree: u32,
    pub bytes: u32,
    /// Bytes of the evaluations of a state, or `None` if they cannot be kept.
    ratings: Option<u32>,
}

/// Settings that tests impose: the number of states that share a block, whether evaluations are kept if there is room,
/// and whether there are too few states for one lane each.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Overrides {
    pub together: Option<u32>,
    pub keeps: Option<bool>,
    pub few: Option<bool>,
}

/// A block: its states (0 if each lane group has one), its threads and its lane groups.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Block {
    pub together: u32,
    pub threads: u32,
    pub lanes: StateLanes,
    /// Whether evaluations are kept beside the values.
    pub keeps: bool,
    pub shared: u32,
}

impl Block {
    pub fn states(&self) -> u32 {
        if self.is_shared() { self.together } else { self.threads / self.lanes.count() }
    }

    /// Returns whether a multiprocessor has enough shared memory.
    pub fn fits(&self, info: &Info) -> bool {
        self.shared + BESIDE <= info.shared_memory
    }

    pub fn is_shared(&self) -> bool {
        self.together > 0
    }

    /// Returns the number of sweeps that take as long as a tree move if threads share states, and `None` otherwise. A
    /// block goes from barrier to barrier: through the color classes in a sweep, up and down the levels in a tree move.
    pub fn tree_sweeps(&self, context: &SearchContext) -> Option<f64> {
        if !self.is_shared() {
            return None;
        }
        let forest = context.forests(&Stop::new()).ok()?.first()?;
        let lane_groups = (self.threads / self.lanes.count() / self.together) as usize;
        let sweep: usize = context.order.classes.iter().map(|class| class.len().div_ceil(lane_groups)).sum();
        let tree: usize =
            forest.levels.windows(2).map(|level| ((level[1] - level[0]) as usize).div_ceil(lane_groups)).sum();
        Some((NODE_VISITS[usize::from(self.keeps)] * tree) as f64 / sweep.max(1) as f64)
    }
}

/// Returns the bytes of a value: 1 or 2.
pub(super) fn value_bytes(context: &SearchContext) -> u32 {
    if context.tables.problem.domains.iter().all(|&domain| domain <= 256) { 1 } else { 2 }
}

impl LaunchShape {
    pub fn of(context: &SearchContext, shape: RowShape) -> LaunchShape {
        let n = context.variables();
        LaunchShape {
            shape,
            variables: n as u32,
            is_large: context.is_large(),
            is_long: context.takes_long(),
            classes: context.order.classes.len() as u32,
            degree: ((0..n).map(|v| context.tables.degree(v)).sum::<usize>() / n.max(1)) as u32,
            bytes: value_bytes(context),
            ratings: shape.keeps.then(|| {
                // the rows, and two words for each variable that moves
                context.tables.width.iter().sum::<u32>() * if shape.half { 2 } else { 4 } + 8 * n as u32
            }),
        }
    }

    fn pad(&self) -> u32 {
        self.variables.next_multiple_of(16)
    }

    /// Returns the block for `states` states; 0 means that the block determines how many there are.
    pub fn block(&self, info: &Info, states: u32, overrides: Overrides) -> Block {
        match self.is_large {
            true => self.of_large(info, states, overrides),
            false => self.of_narrow(info, overrides).unwrap_or_else(|| self.of_small(info, states, overrides)),
        }
    }

    /// Returns a block with one state and its evaluations, or `None` if they do not fit.
    fn of_narrow(&self, info: &Info, Overrides { together, keeps, .. }: Overrides) -> Option<Block> {
        let (together, lanes) = (together.unwrap_or(1), self.lanes(1));
        let shared = together * (self.pad() * self.bytes + self.ratings?);
        if keeps == Some(false) || shared + RESERVED > info.shared_memory {
            return None;
        }
        let width = self.variables.div_ceil(self.classes.max(1));
        let threads = (together * width * lanes.count()).next_power_of_two().clamp(FEW_THREADS[0], FEW_THREADS[1]);
        Some(Block { together, threads, lanes, keeps: true, shared })
    }

    fn of_large(&self, info: &Info, states: u32, Overrides { together, keeps, .. }: Overrides) -> Block {
        let state = self.pad() * self.bytes;
        let wide = usize::from(self.variables >= THREADS * self.classes);
        let threads = THREADS / BLOCKS[wide];
        let mut most = together.unwrap_or(if self.is_long { 1 } else { TOGETHER[wide] });
        // few states are still spread over all multiprocessors
        let spread = |most: u32| together.is_some() || states == 0 || states >= most * info.multiprocessors;
        while most > 1 && (most * state + BESIDE > info.shared_memory || !spread(most)) {
            most /= 2;
        }
        // with kept evaluations a visit reads one row, so a lane group needs only the lanes that hold it (rnd1000, one
        // H200, a generation of 264 states: 2.34 ms without, 0.98 with; 528 states in 1.51 ms reached no better costs
        // in 20 s; results/notes/search-cuda.md)
        let kept = self.ratings.map(|ratings| most * (state + ratings));
        let fits = |&kept: &u32| keeps != Some(false) && BLOCKS[wide] * (kept + RESERVED) <= info.shared_memory;
        if let Some(shared) = kept.filter(fits) {
            return Block { together: most, threads, lanes: self.lanes(1), keeps: true, shared };
        }
        let lanes = threads / most * self.classes / self.variables.max(1);
        let lanes = self.lanes(lanes.clamp(1, self.most_lanes()).next_power_of_two());
        Block { together: most, threads, lanes, keeps: false, shared: most * state }
    }

    fn of_small(&self, info: &Info, states: u32, overrides: Overrides) -> Block {
        let few = overrides.few.unwrap_or(states < SATURATING * info.multiprocessors);
        let lanes = self.lanes(if few { 1 << self.most_lanes().ilog2() } else { 1 });
        let shared = |threads: u32| match lanes.count() {
            1 => self.variables * self.bytes * threads,
            lanes => self.pad() * self.bytes * (threads / lanes),
        };
        let mut threads = SMALL_THREADS;
        // few states are still spread over all multiprocessors
        let spread = |threads: u32| states >= 2 * info.multiprocessors * threads / lanes.count();
        while threads > 32 && (shared(threads) > 48 << 10 || !spread(threads)) {
            threads /= 2;
        }
        Block { together: 0, threads, lanes, keeps: false, shared: shared(threads) }
    }

    /// Returns the maximum number of lanes of a group if a row takes fewer: each of them should have some functions.
    fn most_lanes(&self) -> u32 {
        (self.degree / 2).clamp(1, MOST_LANES)
    }

    fn lanes(&self, count: u32) -> StateLanes {
        StateLanes::new(self.shape.quads, self.shape.half, count)
    }

    pub fn source(&self, block: Block) -> Source {
        source(block.lanes, self.bytes, block.together, block.keeps, self.shape.wide)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::generate::generate;
    use crate::reduce::Reducer;
    use crate::rng::Rng;
    use crate::stop::Stop;
    use crate::tuning::TREE_EVERY;
    use fangs_testing::cores::price;
    use std::sync::Arc;

    #[test]
    fn blocks_have_the_states_that_fit_and_go_round() {
        let info = Info {
            ordinal: 0,
            name: "a device".into(),
            architecture: 90,
            multiprocessors: 132,
            shared_memory: 227 << 10,
            memory: 1 << 37,
        };
        let shape =
            RowShape { quads: 2, half: true, bytes: false, half_ratings: true, wide: false, keeps: true, links: false };
        let launch_shape = |variables, classes| LaunchShape {
            shape,
            variables,
            is_large: variables > 128,
            is_long: false,
            classes,
            degree: 4,
            bytes: 1,
            ratings: Some(16 * variables),
        };
        let few = Overrides { few: Some(true), ..Overrides::default() };
        let block = |launch_shape: LaunchShape, states| launch_shape.block(&info, states, few);
        let (grid, random) = (launch_shape(10_000, 2), launch_shape(1000, 9));
        assert_eq!(block(grid, 0).together, 8);
        assert_eq!(block(LaunchShape { is_long: true, ..grid }, 0).together, 1);
        assert_eq!((block(random, 0).together, block(random, 0).threads), (1, THREADS / 2));
        // few states are spread over all multiprocessors, also those of portable runs
        assert_eq!(block(grid, 4 * 132).together, 4);
        assert_eq!(block(grid, 8).together, 1);
        assert_eq!(grid.block(&info, 8, Overrides { together: Some(8), ..few }).together, 8);
        // evaluations are kept if they fit
        assert_eq!((block(random, 0).keeps, block(random, 0).shared), (true, 1008 + 16_000));
        assert!(!block(grid, 0).keeps && !random.block(&info, 0, Overrides { keeps: Some(false), ..few }).keeps);
        // 100 kB for each state
        let sparse = block(launch_shape(100_000, 6), 0);
        assert_eq!((sparse.together, sparse.threads), (2, THREADS));
        assert!(sparse.fits(&info) && !block(launch_shape(300_000, 6), 0).fits(&info));
        // a small state with narrow rows has a block of its own, of a warp or of the threads of a color class
        let narrow = LaunchShape { shape: RowShape { quads: 1, half: false, ..shape }, ..launch_shape(100, 10) };
        assert_eq!((block(narrow, 1).together, block(narrow, 1).threads, block(narrow, 1).keeps), (1, 32, true));
        assert_eq!(block(LaunchShape { classes: 2, ..narrow }, 9000).threads, 64);
        assert!(!block(LaunchShape { ratings: None, ..narrow }, 1).is_shared());
        // other small states: few of them have a lane group each, many have a lane each
        let small = LaunchShape { ratings: None, ..narrow };
        assert_eq!((block(small, 1).states(), block(small, 1).is_shared()), (16, false));
        assert_eq!(small.block(&info, 131_072, Overrides::default()).states(), SMALL_THREADS);
    }

    #[test]
    fn tree_moves_take_longer_than_sweeps_where_ratings_are_kept_and_levels_are_many() {
        let network =
            generate("large-sparse", &[("n", "1000"), ("d", "3"), ("functions", "5000")], 1).expect("a family");
        let problem = Arc::new(
            Reducer::new(&network, false, &Stop::new())
                .expect("no limit")
                .problem(&Stop::new())
                .expect("no stop is set"),
        );
        let context = SearchContext::new(&problem, price(&problem), Some(3), &mut Rng::new(1));
        let sweeps = |together, threads, lanes, keeps| {
            let block = Block { together, threads, lanes: StateLanes::new(1, false, lanes), keeps, shared: 0 };
            block.tree_sweeps(&context).expect("a large core with trees")
        };
        // a node takes the time of more visits if these are short, whatever the block is like otherwise
        assert!((sweeps(1, 512, 1, true) * 3.0 - sweeps(1, 512, 1, false) * 5.0).abs() < 1e-9);
        assert!(sweeps(1, 512, 1, true) > f64::from(TREE_EVERY));
        // a thread that makes all visits alone waits for no other
        let nodes = context.forests(&Stop::new()).expect("no stop is set")[0].nodes.len() as f64;
        assert_eq!(sweeps(1, 1, 1, false), 3.0 * nodes / context.variables() as f64);
    }
}
