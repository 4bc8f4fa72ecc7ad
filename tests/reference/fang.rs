//! Algorithms 1 to 4 of the FANG paper as printed, with one simulated thread group at a time.
//!
//! The text between two barriers is a loop over the lanes of the group. Names follow the paper. If the printed
//! algorithm and the prose disagree, or the algorithm cannot be meant as printed, this code follows the prose and a
//! comment says so.

use fangs_base::rng::{below, mix};
use fangs_fang::{LocalHeuristic, State};

const WARP_SIZE: usize = 32;

/// The paper's `reduce` of thread-local aggregators, which the engine, with one thread, does not need.
pub trait Reduce<S>: LocalHeuristic<S> {
    fn reduce(&self, left: Self::Aggregate, right: Self::Aggregate) -> Self::Aggregate;
}

/// A thread group with its shared memory and its prefix-sum storage in global memory.
pub struct Group {
    size: usize,
    shared_segments: Vec<u64>,
    shared_prefix_sum: Vec<u64>,
    prefix_sum_storage: Vec<u64>,
}

impl Group {
    /// Creates a group of `size` lanes, a multiple of the warp size.
    pub fn new(size: usize) -> Self {
        assert!(size > 0 && size.is_multiple_of(WARP_SIZE));
        Group { size, shared_segments: Vec::new(), shared_prefix_sum: vec![0; size], prefix_sum_storage: Vec::new() }
    }

    /// Performs algorithm 1 of the paper.
    pub fn assign_active<S: State, H: Reduce<S>>(&mut self, h: &H, x: &mut S) {
        // The paper draws for each variable that can be assigned. The engine draws once per pass and mixes each
        // variable's bits from that draw, so that they depend on nothing else; this code does the same.
        let pass = x.rng().draw();
        let active: Vec<usize> = x.active().iter().collect();
        for variable in active {
            let possibilities = h.possibilities(x, variable);
            self.shared_segments = vec![0; possibilities.div_ceil(WARP_SIZE)];
            self.prefix_sum_storage = vec![0; possibilities];
            let (ratings, aggregate) = self.rate_all_possibilities(h, x, variable, possibilities);
            self.map_all_ratings(h, &ratings, &aggregate);
            let global_rating = self.shared_segments.last().copied().unwrap_or(0);
            let draw = mix(pass, variable as u64);
            if global_rating < 1 {
                h.could_not_assign(x, variable);
                x.active().deactivate(variable);
                continue;
            }
            let v = below(draw, global_rating);
            let segment = self.find_matching_segment(v).expect("v is below the last segment's right boundary");
            let mut winners = 0;
            for lane in 0..WARP_SIZE {
                let p = segment * WARP_SIZE + lane;
                // Section 3.8 corrects the bounds: possibility 0 has the left sum 0, and the last warp may be partly
                // empty.
                if p >= possibilities {
                    continue;
                }
                let left_sum = if p == 0 { 0 } else { self.prefix_sum_storage[p - 1] };
                let right_sum = self.prefix_sum_storage[p];
                // The paper has `rightSum < v`, which no lane can satisfy together with `leftSum <= v`.
                if left_sum <= v && v < right_sum {
                    h.assign(x, variable, p);
                    x.active().deactivate(variable);
                    winners += 1;
                }
            }
            assert_eq!(winners, 1, "only one thread can win");
        }
    }

    /// Performs algorithm 2 of the paper.
    fn rate_all_possibilities<S, H: Reduce<S>>(
        &self,
        h: &H,
        x: &S,
        variable: usize,
        possibilities: usize,
    ) -> (Vec<H::Rating>, H::Aggregate) {
        let mut rating_storage = vec![H::Rating::default(); possibilities];
        let mut aggregates = Vec::with_capacity(self.size);
        for group_index in 0..self.size {
            let mut aggregate = H::Aggregate::default();
            let mut i = group_index;
            while i < possibilities {
                rating_storage[i] = h.rate(x, variable, i);
                h.accumulate(&mut aggregate, rating_storage[i]);
                i += self.size;
            }
            aggregates.push(aggregate);
        }
        let aggregate = aggregates.into_iter().reduce(|left, right| h.reduce(left, right));
        (rating_storage, aggregate.expect("a group has lanes"))
    }

    /// Performs algorithm 3 of the paper.
    fn map_all_ratings<S, H: Reduce<S>>(&mut self, h: &H, ratings: &[H::Rating], aggregate: &H::Aggregate) {
        let mut lower_bound = 0;
        // Section 3.8: the loop is padded to whole groups, so that all lanes take part in the prefix sum.
        for base in (0..ratings.len()).step_by(self.size) {
            for group_index in 0..self.size {
                // The paper sums `initialRating`, an undefined value; the mapped rating is meant.
                let mapped = ratings.get(base + group_index).map_or(0, |&rating| h.map(rating, aggregate));
                self.shared_prefix_sum[group_index] = u64::from(mapped);
            }
            inclusive_scan(&mut self.shared_prefix_sum);
            for group_index in 0..self.size {
                let i = base + group_index;
                let prefix = lower_bound + self.shared_prefix_sum[group_index];
                if i < ratings.len() {
                    self.prefix_sum_storage[i] = prefix;
                }
                // The paper gives every segment the right end of the group; section 3.2 describes that of the segment's
                // own warp.
                if group_index % WARP_SIZE == 0 && i < ratings.len() {
                    self.shared_segments[i / WARP_SIZE] =
                        lower_bound + self.shared_prefix_sum[group_index + WARP_SIZE - 1];
                }
            }
            lower_bound += self.shared_prefix_sum[self.size - 1];
        }
    }

    /// Performs algorithm 4 of the paper.
    fn find_matching_segment(&self, v: u64) -> Option<usize> {
        let segments = self.shared_segments.len();
        for base in (0..segments).step_by(self.size) {
            let mut target = None;
            for i in base..(base + self.size).min(segments) {
                let left_boundary = if i == 0 { 0 } else { self.shared_segments[i - 1] };
                let right_boundary = self.shared_segments[i];
                if left_boundary <= v && v < right_boundary {
                    assert_eq!(target, None, "only one segment holds v");
                    target = Some(i);
                }
            }
            if target.is_some() {
                return target;
            }
        }
        None
    }
}

/// Computes Hillis and Steele's scan, as warp shuffles do.
fn inclusive_scan(lanes: &mut [u64]) {
    let mut distance = 1;
    while distance < lanes.len() {
        for lane in (distance..lanes.len()).rev() {
            lanes[lane] += lanes[lane - distance];
        }
        distance *= 2;
    }
}
