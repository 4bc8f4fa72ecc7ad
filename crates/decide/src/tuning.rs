//! Tuned constants, each with its unit and what chose it.

/// Beliefs are merged that are equal in so many digits behind the point: noise of doubles is below, differences that
/// matter are above; what merging changed is measured and part of the error bound.
pub(super) const DIGITS: f64 = 1e12;

/// Relative difference below which the first of several choices is taken: noise of doubles, as in the tables of
/// Adoe, Chen, Doshi, whose ties are broken by the order of the actions.
pub(super) const TIE: f64 = 1e-12;

/// Absolute difference below which actions of a lower-level agent tie, and are taken with equal probability.
pub(super) const INDIFFERENT: f64 = 1e-9;

/// Relative difference up to which probabilities do not depend on a decision: tables have 6 digits and more.
pub(super) const REGULAR: f64 = 1e-9;

/// Beliefs of a tree that are expanded before their children are merged: some megabytes of children.
pub(super) const BATCH: usize = 1024;

/// Entries of the children of a batch of beliefs on a device: half a gigabyte, some milliseconds.
pub(super) const CHILDREN: usize = 1 << 26;

/// Combinations between two looks at the stop flag: some milliseconds of one core.
pub(super) const POLL: usize = 1 << 20;

/// Pivots of a pruning problem for each of its rows, after which a vector is kept unseen.
pub(super) const PIVOTS: usize = 50;

/// Restarts of each rule for orders, at most. More gained nothing on the diagrams of `docs/decide.md`.
pub(super) const RESTARTS: u64 = 16;

/// Entries of joint tables that take as long as one look at a variable while an order is made.
pub(super) const STEP: u64 = 1000;

/// Share of the predicted time of elimination that restarts may take.
pub(super) const PLANNING: f64 = 0.2;

/// Entries of the joint table of all decisions and what they see, for the search over policies: 32 MB.
pub(super) const POLICY_TABLE: usize = 1 << 22;

/// Steps of the bounds that are told before anything else: some hundredths of a second.
pub(super) const FIRST: f64 = 1e8;

/// Steps of a first policy that is computed even if the time is over: some milliseconds.
pub(super) const AT_ONCE: f64 = 1e6;

/// Products of a sweep of the ascent of joint policies, at most: some tenths of a second.
pub(super) const ASCENT: f64 = 1e7;

/// Ascents of joint policies: the first few find the best value of the two-agent tiger for three steps.
pub(super) const RESTARTS_OF_TEAMS: u64 = 20;

/// Most vectors of the bound that the search over joint policies uses: some seconds of pruning.
pub(super) const TEAM_VECTORS: usize = 1 << 12;
