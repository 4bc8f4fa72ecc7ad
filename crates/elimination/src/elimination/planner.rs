//! The planner: simulates elimination along an order, splits buckets, and searches for the largest z that fits.

use super::cpu::temporary;
use super::plan::slices::entries;
use super::plan::{CostRange, EliminationPlan, Input, Limits, Placement, Plan, RowLimits, Source, Step, Width};
use super::spill::share;
use super::{cap, cutset, sparse, table};
use crate::algebra::TERMS;
use crate::error::Error;
use crate::model::{Cost, Problem, Readers, Scope};
use crate::order::Order;
use crate::stop::Stop;
use crate::threads::Large;
use smallvec::{SmallVec, smallvec};

/// The number of mini-buckets of one bucket that are tried for an input, the newest first. Only hubs with thousands of
/// functions have more mini-buckets.
const TRIES: usize = 32;

impl CostRange {
    /// Returns the range of the costs below `ub` and the problem's own `top`.
    fn below(problem: &Problem, ub: Option<Cost>, stop: &Stop) -> Result<Self, Error> {
        let limit = ub.map_or(problem.top, |ub| ub.min(problem.top));
        let cap = cap(problem, limit, stop)?;
        let width = if cap < (1 << 31) / TERMS as Cost { Width::I32 } else { Width::I64 };
        Ok(CostRange { width, cap, limit })
    }
}

impl Plan {
    /// Plans elimination along `order`: exact if `limits` permit, otherwise with the largest z that fits. There is
    /// always a plan; in the worst case it joins nothing and sums minima.
    pub fn new(problem: &Problem, order: &Order, limits: &Limits) -> Plan {
        Plan::until(problem, order, limits, &Stop::new()).expect("no stop is set")
    }

    /// Like [`Plan::new`], but may be stopped.
    ///
    /// # Errors
    /// Returns [`Error::Stopped`] if `stop` is set.
    pub fn until(problem: &Problem, order: &Order, limits: &Limits, stop: &Stop) -> Result<Plan, Error> {
        let costs = CostRange::below(problem, limits.ub, stop)?;
        let (structure, placement) = EliminationPlan::within(problem, order, limits, costs.width.bytes(), stop)?;
        Ok(Plan { structure, placement, costs })
    }

    /// Plans exact elimination along `order` by rows, without regard to the size of dense tables. Whether the rows fit
    /// becomes known only during the run. Returns `None` if keys would be too wide or if `stop` is set.
    pub fn by_rows(problem: &Problem, order: &Order, ub: Option<Cost>, rows: RowLimits, stop: &Stop) -> Option<Plan> {
        let limits = Limits { ub, ..Limits::new(u64::MAX) };
        let costs = CostRange { width: Width::I64, ..CostRange::below(problem, ub, stop).ok()? };
        let (structure, mut placement) = Context::new(problem, order, &limits, costs.width.bytes(), stop)
            .ok()?
            .plan(u32::MAX, u64::MAX, false)
            .ok()??;
        placement.rows = Some(rows);
        let plan = Plan { structure, placement, costs };
        (plan.exact && sparse::fits(&plan)).then_some(plan)
    }
}

impl EliminationPlan {
    /// Plans exact elimination without a memory limit. Sizes are those of dense tables.
    ///
    /// # Errors
    /// Returns [`Error::Stopped`] if `stop` is set.
    pub fn exact(
        problem: &Problem,
        order: &Order,
        keep_messages: bool,
        entry_bytes: u64,
        stop: &Stop,
    ) -> Result<(EliminationPlan, Placement), Error> {
        let limits = Limits { keep_messages, ..Limits::new(u64::MAX) };
        let context = Context::new(problem, order, &limits, entry_bytes, stop)?;
        Ok(context.plan(u32::MAX, u64::MAX, false)?.expect("without bounds there is a plan"))
    }

    /// Plans elimination with tables of `entry_bytes` bytes an entry, and the placement of the tables.
    ///
    /// # Errors
    /// Returns [`Error::Stopped`] if `stop` is set.
    pub fn within(
        problem: &Problem,
        order: &Order,
        limits: &Limits,
        entry_bytes: u64,
        stop: &Stop,
    ) -> Result<(EliminationPlan, Placement), Error> {
        let context = Context::new(problem, order, limits, entry_bytes, stop)?;
        // a bucket has at most width + 1 variables, so a larger z changes nothing
        let widest = order.width.saturating_add(1);
        let mut high = limits.z.unwrap_or(widest).clamp(1, widest.max(1));
        let message = limits.max_bytes / entry_bytes;
        high = high.min(context.most_variables(message).saturating_add(1)).max(1);
        let largest = context.plan(high, message, true)?;
        let is_exact = largest.as_ref().is_some_and(|(plan, _)| plan.exact);
        let sliced = EliminationPlan::sliced(problem, order, limits, is_exact, entry_bytes, stop)?;
        let spilled = match is_exact {
            true => None,
            false => EliminationPlan::spilled(problem, order, limits, entry_bytes, stop)?,
        };
        let others = [sliced, spilled].into_iter().flatten();
        if let Some(plan) = others.min_by_key(|(plan, placement)| placement.work(plan)).or(largest) {
            return Ok(plan);
        }
        let mut best = None;
        let mut low = 1;
        while low < high {
            let z = low + (high - low) / 2;
            match context.plan(z, message, true)? {
                Some(plan) => {
                    best = Some(plan);
                    low = z + 1;
                }
                None => high = z,
            }
        }
        if let Some(plan) = best {
            return Ok(plan);
        }
        let mut message = message;
        while message > 1 {
            message /= 4;
            if let Some(plan) = context.plan(1, message, true)? {
                return Ok(plan);
            }
        }
        Ok(context.plan(1, 1, false)?.expect("a plan without a memory limit"))
    }

    /// Plans exact elimination in slices, if the whole plan does not fit or if several devices share its work.
    fn sliced(
        problem: &Problem,
        order: &Order,
        limits: &Limits,
        fits: bool,
        entry_bytes: u64,
        stop: &Stop,
    ) -> Result<Option<(EliminationPlan, Placement)>, Error> {
        let Limits { z: None, slices: Some(slices), .. } = *limits else { return Ok(None) };
        let is_worth_sharing = slices.devices > 1 && order.joint_entries >= cutset::WORTH_SHARING;
        // the work of the slices could not be counted in 64 bits
        let is_endless = order.joint_entries * cutset::MOST_WORK as f64 >= u64::MAX as f64;
        if fits && !is_worth_sharing || is_endless {
            return Ok(None);
        }
        // slices keep no messages: the best slice is run again for an assignment
        let Limits { keep_messages, .. } = *limits;
        let limits = Limits { max_bytes: u64::MAX, keep_messages: false, ..*limits };
        let mut context = Context::new(problem, order, &limits, entry_bytes, stop)?;
        let exact = |context: &Context<'_>| {
            context.plan(u32::MAX, u64::MAX, false).map(|plan| plan.expect("without bounds there is a plan"))
        };
        let (whole, _) = exact(&context)?;
        let without = |position| {
            context.leave_out(position);
            exact(&context)
        };
        let sliced = cutset::choose(&whole, slices, without, entry_bytes, stop)?;
        Ok(sliced.map(|(plan, placement)| (plan, Placement { keep_messages, ..placement })))
    }

    /// Plans exact elimination with files for the messages for which there is too little memory.
    fn spilled(
        problem: &Problem,
        order: &Order,
        limits: &Limits,
        entry_bytes: u64,
        stop: &Stop,
    ) -> Result<Option<(EliminationPlan, Placement)>, Error> {
        let Limits { z: None, max_bytes, spill: room @ 1.., .. } = *limits else { return Ok(None) };
        let both = Limits { max_bytes: max_bytes.saturating_add(room), ..*limits };
        let context = Context::new(problem, order, &both, entry_bytes, stop)?;
        let plan = context.plan(order.width.saturating_add(1), both.max_bytes / entry_bytes, true)?;
        let Some((plan, mut placement)) = plan.filter(|(plan, _)| plan.exact) else { return Ok(None) };
        let shared = share(&plan, &mut placement, entry_bytes, max_bytes, room, stop)?;
        Ok(shared.map(|()| (plan, placement)))
    }
}

/// The data that all trials for one plan share.
struct Context<'a> {
    problem: &'a Problem,
    order: &'a Order,
    limits: Limits,
    entry_bytes: u64,
    domains: Vec<u32>,
    /// The scope of each function as ascending positions.
    scopes: Large<Scope>,
    stop: &'a Stop,
}

/// Inputs joined so far and the positions that they cover.
struct MiniBucket {
    scope: SmallVec<[u32; 8]>,
    combinations: u64,
    inputs: SmallVec<[Input; 4]>,
}

impl<'a> Context<'a> {
    fn new(
        problem: &'a Problem,
        order: &'a Order,
        limits: &Limits,
        entry_bytes: u64,
        stop: &'a Stop,
    ) -> Result<Self, Error> {
        let mut position = vec![0u32; problem.variables()];
        for (place, &v) in order.sequence.iter().enumerate() {
            position[v as usize] = place as u32;
        }
        let scopes = stop.each(&problem.functions).map(|function| {
            let mut scope: Scope = function?.scope.iter().map(|&v| position[v as usize]).collect();
            scope.sort_unstable();
            Ok(scope)
        });
        let scopes = scopes.collect::<Result<_, Error>>()?;
        let domains = order.sequence.iter().map(|&v| problem.domains[v as usize]).collect();
        // sums of sizes in bytes must not overflow
        let limits = Limits { max_bytes: limits.max_bytes.min(1 << 50), ..*limits };
        Ok(Context { problem, order, limits, entry_bytes, scopes, domains, stop })
    }

    /// Removes a position from all scopes: it has one value, whose cost is a constant.
    fn leave_out(&mut self, position: u32) {
        self.domains[position as usize] = 1;
        for scope in self.scopes.iter_mut().filter(|scope| scope.contains(&position)) {
            *scope = scope.iter().copied().filter(|&p| p != position).collect();
        }
    }

    /// Returns the largest number of variables that a message of `entries` entries can have; a larger z changes
    /// nothing.
    fn most_variables(&self, entries: u64) -> u32 {
        let mut sizes = self.domains.clone();
        sizes.sort_unstable();
        let mut product = 1u64;
        let mut fits = |&size: &u32| {
            product = product.saturating_mul(u64::from(size));
            product <= entries
        };
        sizes.iter().take_while(|&size| fits(size)).count() as u32
    }

    fn combinations(&self, scope: &[u32]) -> u64 {
        entries(scope, &self.domains)
    }

    /// Simulates elimination. Returns `None` as soon as it needs more memory than permitted, if `bounded`.
    fn plan(&self, z: u32, message_entries: u64, bounded: bool) -> Result<Option<(EliminationPlan, Placement)>, Error> {
        let n = self.order.sequence.len();
        let bytes = self.entry_bytes;
        let firsts = || self.scopes.iter().map(|scope| &scope[..scope.len().min(1)]);
        let functions = Readers::of(n, firsts, self.stop)?;
        let mut messages: Large<SmallVec<[u32; 2]>> = (0..n).map(|_| SmallVec::new()).collect();
        let mut plan = EliminationPlan {
            sequence: self.order.sequence.clone(),
            steps: Vec::with_capacity(n).into(),
            first: Vec::with_capacity(n + 1),
            domains: self.domains.clone(),
            z,
            exact: true,
            joint_entries: 0,
            largest_table: 0,
        };
        let keep_messages = self.limits.keep_messages;
        let mut placement =
            Placement { keep_messages, table_bytes: 0, peak_bytes: 0, rows: None, spill: None, cutset: None };
        let mut alive = 0u64;
        let mut widest = 0;
        for position in 0..n {
            self.stop.check()?;
            plan.first.push(plan.steps.len() as u32);
            let functions = functions[position].iter().map(|&f| (Source::Function(f), &self.scopes[f as usize]));
            let arrived = std::mem::take(&mut messages[position]).into_iter();
            let arrived = arrived.map(|step| (Source::Message(step), &plan.steps[step as usize].scope));
            let inputs = functions.chain(arrived).map(|(source, scope)| Input { source, scope: scope.clone() });
            let mut inputs: Vec<Input> = inputs.collect();
            let large: Vec<Input> =
                inputs.extract_if(.., |input| self.combinations(&input.scope) > message_entries).collect();
            let lowered = large.into_iter().map(|input| self.lower(position as u32, input, message_entries));
            let parts = self.partition(position as u32, inputs, z, message_entries);
            plan.exact &= lowered.len() == 0 && parts.len() == 1;
            let joined = parts.into_iter().map(|part| self.join(position as u32, part));
            for step in lowered.chain(joined) {
                widest = widest.max(step.scope.len() as u32 + 1);
                let now = step.entries.saturating_add(temporary(&step, &self.domains)).saturating_mul(bytes);
                placement.peak_bytes = placement.peak_bytes.max(alive.saturating_add(now));
                if bounded && placement.peak_bytes > self.limits.max_bytes {
                    return Ok(None);
                }
                if !placement.keep_messages {
                    let consumed = step.inputs.iter().filter(|input| matches!(input.source, Source::Message(_)));
                    let freed = consumed.map(|input| self.combinations(&input.scope).saturating_mul(bytes));
                    // saturates only if nothing is bounded
                    alive = alive.saturating_sub(freed.fold(0, u64::saturating_add));
                }
                plan.joint_entries = plan.joint_entries.saturating_add(step.joint);
                plan.largest_table = plan.largest_table.max(step.entries);
                placement.table_bytes = placement.table_bytes.saturating_add(step.entries.saturating_mul(bytes));
                if let Some(&target) = step.scope.first() {
                    // saturates only if nothing is bounded
                    alive = alive.saturating_add(step.entries.saturating_mul(bytes));
                    messages[target as usize].push(plan.steps.len() as u32);
                }
                plan.steps.push(step);
            }
        }
        plan.first.push(plan.steps.len() as u32);
        if plan.exact {
            plan.z = widest;
        }
        Ok(Some((plan, placement)))
    }

    /// Makes a step for a function that is too large for memory: its message keeps the positions eliminated last, as
    /// many as fit. The message equals that of mini-buckets of this function alone, but takes no tables for them.
    fn lower(&self, position: u32, input: Input, message_entries: u64) -> Step {
        let mut kept = &input.scope[1..];
        while !kept.is_empty() && self.combinations(kept) > message_entries {
            kept = &kept[1..];
        }
        let (scope, entries): (Scope, u64) = (kept.into(), self.combinations(kept));
        let joint = match input.source {
            Source::Function(f) => self.problem.functions[f as usize].table.size() as u64,
            _ => entries,
        };
        Step { position, inputs: [input].into(), scope, entries, joint, lowered: true }
    }

    fn join(&self, position: u32, part: MiniBucket) -> Step {
        let scope: Scope = part.scope[1..].into();
        let entries = self.combinations(&scope);
        let joint = entries.saturating_mul(u64::from(self.domains[position as usize]));
        Step { position, inputs: part.inputs.into_boxed_slice(), scope, entries, joint, lowered: false }
    }

    /// Splits a bucket into mini-buckets: largest inputs first, each into the mini-bucket that it enlarges least. There
    /// is at least one mini-bucket, and the first has the unary costs.
    fn partition(&self, position: u32, mut inputs: Vec<Input>, z: u32, message_entries: u64) -> Vec<MiniBucket> {
        inputs.sort_by_cached_key(|input| std::cmp::Reverse(self.combinations(&input.scope)));
        let mut parts: Vec<MiniBucket> = Vec::new();
        let domain = u64::from(self.domains[position as usize]);
        for input in inputs {
            let mut choice: Option<(u64, usize)> = None;
            for (index, part) in parts.iter().enumerate().rev().take(TRIES) {
                let (count, combinations) = self.union(part, &input.scope);
                if count == part.scope.len() {
                    choice = Some((0, index));
                    break;
                }
                let growth = combinations - part.combinations;
                let fits = count <= z as usize && combinations / domain <= message_entries;
                if fits && choice.is_none_or(|best| (growth, index) < best) {
                    choice = Some((growth, index));
                }
            }
            match choice {
                Some((_, index)) => {
                    let part = &mut parts[index];
                    part.scope.extend_from_slice(&input.scope);
                    part.scope.sort_unstable();
                    part.scope.dedup();
                    part.combinations = self.combinations(&part.scope);
                    part.inputs.push(input);
                }
                None => {
                    let combinations = self.combinations(&input.scope);
                    let scope = SmallVec::from_slice(&input.scope);
                    parts.push(MiniBucket { scope, combinations, inputs: smallvec![input] });
                }
            }
        }
        if parts.is_empty() {
            parts.push(MiniBucket { scope: smallvec![position], combinations: domain, inputs: SmallVec::new() });
        }
        let variable = self.order.sequence[position as usize] as usize;
        let is_left = self.problem.domains[variable] == self.domains[position as usize];
        if is_left && table::nonzero(&self.problem.unary[variable]) {
            parts[0].inputs.push(Input { source: Source::Unary, scope: [position].into() });
        }
        parts
    }

    /// Returns the number of positions of a mini-bucket with one more input, and its combinations, saturating.
    fn union(&self, part: &MiniBucket, scope: &[u32]) -> (usize, u64) {
        let mut count = part.scope.len();
        let mut combinations = part.combinations;
        for p in scope {
            if part.scope.binary_search(p).is_err() {
                count += 1;
                combinations = combinations.saturating_mul(u64::from(self.domains[*p as usize]));
            }
        }
        (count, combinations)
    }
}
