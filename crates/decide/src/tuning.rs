//! Constants of this crate, each with its unit and the reason for its value.

/// Reciprocal of the precision at which equal beliefs are merged. Rounding errors are below, relevant differences above
/// it; the change by merging is measured and part of the error bound.
pub(super) const DIGITS: f64 = 1e12;

/// Relative difference below which the first of several choices is taken. It covers rounding errors; the tables of
/// Adoe, Chen, Doshi also break ties by the order of the actions.
pub(super) const TIE: f64 = 1e-12;

/// Absolute difference below which actions of a lower-level agent tie, and are taken with equal probability.
pub(super) const INDIFFERENT: f64 = 1e-9;

/// Relative difference up to which probabilities count as independent of a decision; tables have 6 digits or more.
pub(super) const REGULAR: f64 = 1e-9;

/// Beliefs of a tree that are expanded before their children are merged; the children take some megabytes.
pub(super) const BATCH: usize = 1024;

/// Entries of the children of a batch of beliefs on a device: half a gigabyte, some milliseconds.
pub(super) const CHILDREN: usize = 1 << 26;

/// Combinations between two checks of the stop flag: some milliseconds of one core.
pub(super) const POLL: usize = 1 << 20;

/// Pivots for each row of a pruning problem, after which a vector is kept without proof that it is needed.
pub(super) const PIVOTS: usize = 50;

/// Largest number of restarts of each rule for an elimination order. More gained nothing on the diagrams of
/// `docs/decide.md`.
pub(super) const RESTARTS: u64 = 16;

/// Entries of joint tables that take as long as one evaluation of a variable while an order is made.
pub(super) const STEP: u64 = 1000;

/// Fraction of the predicted elimination time that restarts may take.
pub(super) const PLANNING: f64 = 0.2;

/// Entries of the joint table of all decisions and what they see, for the search over policies: 32 MB.
pub(super) const POLICY_TABLE: usize = 1 << 22;

/// Products up to which bounds are computed before anything else: some hundredths of a second.
pub(super) const FIRST: f64 = 1e8;

/// Products up to which a first policy is computed even after the time limit: some milliseconds.
pub(super) const AT_ONCE: f64 = 1e6;

/// Largest number of products of a sweep of the ascent of joint policies: some tenths of a second.
pub(super) const ASCENT: f64 = 1e7;

/// Ascents of joint policies: the first few find the best value of the two-agent tiger for three steps.
pub(super) const RESTARTS_OF_TEAMS: u64 = 20;

/// Largest number of vectors of the bound that the search over joint policies uses: some seconds of pruning.
pub(super) const TEAM_VECTORS: usize = 1 << 12;
