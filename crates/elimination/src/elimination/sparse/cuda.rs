//! Elimination by rows on a device: the CPU's join plan of each bucket, with hash tables instead of sorted runs.
//!
//! kernels/sparse.cu has the algorithm. Messages stay on the device until the end; then they are sorted on the host,
//! where assignments are decoded. The rows of a message do not depend on how it is made, so rows, bounds and counted
//! work equal those of the CPU.

#![allow(unsafe_code, reason = "launches of kernels are foreign")]

use super::accounting::{Accounting, Open};
use super::join_plan::{JoinPlan, Operand, StagePlan};
use super::key::{Projection, Row};
use super::loader;
use crate::device::shared::device_structs;
use crate::device::{self, Blocks, CudaSlice, DeviceError, Held, Kernel, PushKernelArg};
use crate::elimination::cuda::{Gpu, Text};
use crate::elimination::plan::{Plan, Source};
use crate::kernels;
use crate::model::{Cost, Problem};
use crate::stop::Stop;
use std::sync::Arc;

/// Largest number of bits of a key: one fewer than a word has, because a key of all ones marks an empty slot.
const BITS: u32 = 63;
const THREADS: u32 = 256;
/// Rows of the driver that one launch joins; the limits are checked between launches.
const LAUNCH: u64 = 1 << 22;
/// Number of slots of the smallest table.
const FEWEST: u64 = 1 << 10;
/// Bytes of a message's slot, and of a row in a list.
const SLOT: u64 = 16;

device_structs! {
    /// `Move` of kernels/sparse.cu.
    #[derive(Clone, Copy, Debug)]
    struct Move as "Move" {
        mask: u64,
        up: u32,
        down: u32,
    }

    /// `Moves` of kernels/sparse.cu.
    #[derive(Clone, Copy, Debug)]
    struct Moves as "Moves" {
        address as "moves": u64,
        count: u64,
    }

    /// `Stage` of kernels/sparse.cu.
    #[derive(Clone, Copy, Debug)]
    struct Stage as "Stage" {
        shared: Moves,
        keys: u64,
        heads: u64,
        mask: u64,
        next: u64,
        fields: u64,
        costs: u64,
        rest: i64,
        grows: u64,
    }

    /// `Found` of kernels/sparse.cu.
    #[derive(Clone, Copy, Debug)]
    struct Found as "Found" {
        keys: u64,
        costs: u64,
        mask: u64,
        count: u64,
        work: u64,
        full: u64,
    }

    /// `Join` of kernels/sparse.cu.
    #[derive(Clone, Copy, Debug)]
    struct Join as "Join" {
        stages: u64,
        keys: u64,
        costs: u64,
        rows: u64,
        lay: Moves,
        message: u64,
        limit: i64,
        count: u32,
        unused: u32,
    }
}

/// A list of rows on the device, in any order: its addresses and length.
#[derive(Clone, Copy, Debug)]
struct List {
    keys: u64,
    costs: u64,
    rows: u64,
}

/// A list with the memory that contains it.
#[derive(Debug)]
struct Message {
    keys: CudaSlice<u64>,
    costs: CudaSlice<i64>,
    list: List,
}

/// The stages of a step, and the memory that contains them.
#[derive(Debug)]
struct Stages {
    words: u64,
    lay: Moves,
    _held: Held,
}

/// An elimination by rows on a device.
#[derive(Debug)]
pub(crate) struct DeviceRows {
    gpu: Arc<Gpu>,
    index: Kernel,
    join: Kernel,
    list: Kernel,
    /// The accounts, which equal those of the CPU.
    pub(crate) accounting: Accounting,
    messages: Vec<Option<Message>>,
}

/// Returns the number of blocks for `rows` rows.
fn blocks(rows: u64) -> u32 {
    rows.div_ceil(THREADS.into()).clamp(1, 1 << 16) as u32
}

fn slots(rows: u64) -> u64 {
    (2 * rows).next_power_of_two().max(FEWEST)
}

const TEXT: Text = Text::new(text);

/// Returns the source with the structures that host and kernels share.
fn text() -> device::Source {
    let source = kernels::source("sparse.cu").asserts::<Move>().asserts::<Moves>();
    source.asserts::<Stage>().asserts::<Found>().asserts::<Join>()
}

impl DeviceRows {
    const KERNELS: [&'static str; 3] = ["index_rows", "join_rows", "list_rows"];

    /// Returns the source of all kernels, to compile them without a device.
    pub(crate) fn kernels() -> device::Source {
        Self::KERNELS.into_iter().fold(text(), device::Source::kernel)
    }

    /// Returns whether a device's keys have `widest` bits.
    pub(crate) fn fits(widest: u32) -> bool {
        widest <= BITS
    }

    /// Prepares the execution of a plan whose keys fit.
    pub(crate) fn new(gpu: Arc<Gpu>, accounting: Accounting, steps: usize) -> Result<Self, DeviceError> {
        Self::KERNELS.iter().for_each(|name| gpu.begin(TEXT, name));
        let [index, join, list] = [
            gpu.kernel(TEXT, Self::KERNELS[0])?,
            gpu.kernel(TEXT, Self::KERNELS[1])?,
            gpu.kernel(TEXT, Self::KERNELS[2])?,
        ];
        Ok(DeviceRows { gpu, index, join, list, accounting, messages: (0..steps).map(|_| None).collect() })
    }

    /// Does about `work` combinations, and returns whether the elimination has ended. A message that is interrupted is
    /// made again from its beginning.
    pub(crate) fn advance(
        &mut self,
        problem: &Problem,
        plan: &Plan,
        work: u64,
        stop: &Stop,
    ) -> Result<bool, DeviceError> {
        let until = self.accounting.after(work);
        while self.accounting.goes_on(plan, until) && !stop.is_set() {
            self.step(problem, plan, stop)?;
        }
        Ok(self.accounting.has_ended())
    }

    /// Returns the messages as rows, in any order.
    pub(crate) fn messages(&self) -> Result<Vec<Vec<Row<u64>>>, DeviceError> {
        let list = |message: &Option<Message>| {
            let Some(Message { keys, costs, .. }) = message else { return Ok(Vec::new()) };
            let (keys, costs) = (self.gpu.cuda().read(keys)?, self.gpu.cuda().read(costs)?);
            Ok(keys.into_iter().zip(costs).collect())
        };
        self.messages.iter().map(list).collect()
    }

    /// Returns whether the device has `bytes` bytes of free memory.
    fn has(&self, bytes: u64) -> Result<bool, DeviceError> {
        Ok(bytes <= self.gpu.budget()?)
    }

    /// Makes the message of the next step.
    fn step(&mut self, problem: &Problem, plan: &Plan, stop: &Stop) -> Result<(), DeviceError> {
        let step = &plan.steps[self.accounting.step()];
        let open = self.accounting.open(problem, plan);
        let room = self.accounting.room::<u64>();
        // tables that the host sends, held until the message is made
        let mut held = Held::default();
        let Some(lists) = self.lists(problem, plan, &open, &mut held)? else {
            self.accounting.give_up();
            return Ok(());
        };
        let alone = [step.position];
        let operand = |k: usize| Operand {
            scope: step.inputs.get(k).map_or(&alone[..], |input| &input.scope),
            rows: lists[k].rows as usize,
            least: open.least.get(k).copied().unwrap_or(0),
        };
        let operands: Vec<Operand<'_>> = (0..lists.len()).map(operand).collect();
        let join_plan = JoinPlan::<u64>::of_step(plan, step, &operands, open.limit);
        let bytes =
            join_plan.stages.iter().map(|stage| lists[stage.operand].rows).map(|rows| 12 * (slots(rows) + rows + 1));
        if lists.iter().any(|list| list.rows >= u64::from(u32::MAX)) || !self.has(bytes.sum())? {
            self.accounting.give_up();
            return Ok(());
        }
        let stages = self.stages(&join_plan, &lists)?;
        let driver = lists[join_plan.driver];
        let join = Join {
            stages: stages.words,
            keys: driver.keys,
            costs: driver.costs,
            rows: driver.rows,
            lay: stages.lay,
            message: join_plan.message,
            limit: join_plan.limit,
            count: join_plan.stages.len() as u32,
            unused: 0,
        };
        let own: u64 = lists.iter().map(|list| list.rows).sum();
        let mut slots = slots(2 * driver.rows);
        let (message, least, work) = loop {
            let made = if self.has(slots * SLOT)? { self.join(join, slots, own, room, stop)? } else { Made::TooMuch };
            match made {
                Made::Message(message, least, work) => break (message, least, work),
                Made::Full => slots *= 4,
                Made::Stopped => return Ok(()),
                Made::TooMuch => {
                    self.accounting.give_up();
                    return Ok(());
                }
            }
        };
        let rows = message.list.rows;
        let place = self.accounting.step();
        self.messages[place] = Some(message);
        if !plan.placement.keep_messages {
            for input in &step.inputs {
                if let Source::Message(from) = input.source {
                    self.messages[from as usize] = None;
                }
            }
        }
        self.accounting.spend(own + work);
        self.accounting.close::<u64>(plan, &open, rows, (rows > 0).then_some(least));
        Ok(())
    }

    /// Returns the lists that the next step joins; `held` receives the lists that the host sends. `None` if a limit is
    /// exceeded.
    fn lists(
        &self,
        problem: &Problem,
        plan: &Plan,
        open: &Open,
        held: &mut Held,
    ) -> Result<Option<Vec<List>>, DeviceError> {
        let step = &plan.steps[self.accounting.step()];
        let room = self.accounting.room::<u64>();
        // the host's lists are uploaded together
        let (mut keys, mut costs, mut ends) = (Vec::new(), Vec::new(), Vec::new());
        for (number, input) in step.inputs.iter().enumerate() {
            if !matches!(input.source, Source::Message(_)) {
                let Some(rows) = loader::rows::<u64>(problem, plan, step, input, open.limit_of(number), room) else {
                    return Ok(None);
                };
                keys.extend(rows.iter().map(|row| row.0));
                costs.extend(rows.iter().map(|row| row.1));
            }
            ends.push(keys.len() as u64);
        }
        if step.inputs.is_empty() {
            // a variable that nothing reads
            (keys, costs, ends) = (vec![0], vec![0], vec![1]);
        }
        let cuda = self.gpu.cuda();
        let (keys, costs) = (held.upload(cuda, &keys)?, held.upload(cuda, &costs)?);
        let list = |k: usize| match step.inputs.get(k).map(|input| input.source) {
            Some(Source::Message(from)) => self.messages[from as usize].as_ref().map(|message| message.list),
            _ => {
                let begin = if k == 0 { 0 } else { ends[k - 1] };
                Some(List { keys: keys + 8 * begin, costs: costs + 8 * begin, rows: ends[k] - begin })
            }
        };
        let missing = || DeviceError::Unusable("a message is missing on the device".into());
        (0..ends.len()).map(list).collect::<Option<Vec<List>>>().ok_or_else(missing).map(Some)
    }

    /// Builds the indices of the tables that extend keys.
    fn stages(&self, join_plan: &JoinPlan<u64>, lists: &[List]) -> Result<Stages, DeviceError> {
        let (cuda, mut held) = (self.gpu.cuda(), Held::default());
        let mut moves: Vec<Move> = Vec::new();
        let mut place = |projection: &Projection<u64>| {
            let first = moves.len() as u64;
            moves.extend(projection.moves().map(|(mask, up, down)| Move { mask, up, down }));
            Moves { address: first * size_of::<Move>() as u64, count: moves.len() as u64 - first }
        };
        let lay = place(&join_plan.lay);
        let of_stage = |stage: &StagePlan<u64>| [place(&stage.shared), place(&stage.of_table), place(&stage.added)];
        let projections: Vec<[Moves; 3]> = join_plan.stages.iter().map(of_stage).collect();
        let base = held.upload(cuda, &moves)?;
        let placed = |moves: Moves| Moves { address: base + moves.address, ..moves };
        let rows_of = |stage: &StagePlan<u64>| lists[stage.operand].rows;
        // keys and heads of all slots, then fields and nexts of all rows; heads and nexts have half a word each
        let slot_words: u64 = join_plan.stages.iter().map(|stage| slots(rows_of(stage)) / 2 * 3).sum();
        let row_words: u64 = join_plan.stages.iter().map(|stage| rows_of(stage) + rows_of(stage).div_ceil(2)).sum();
        let slot_memory = cuda.reserve::<u64>(slot_words as usize)?;
        cuda.set_bytes(&slot_memory, 0xff)?;
        let mut at_slot = held.keep(cuda, slot_memory);
        let mut at_row = held.keep(cuda, cuda.reserve::<u64>(row_words as usize)?);
        let mut words = Vec::new();
        for (stage, &[shared, of_table, added]) in join_plan.stages.iter().zip(&projections) {
            let (list, slots) = (lists[stage.operand], slots(rows_of(stage)));
            let stage = Stage {
                shared: placed(shared),
                keys: at_slot,
                heads: at_slot + 8 * slots,
                mask: slots - 1,
                next: at_row + 8 * list.rows,
                fields: at_row,
                costs: list.costs,
                rest: stage.rest,
                grows: u64::from(stage.grows),
            };
            at_slot += 12 * slots;
            at_row += 8 * (list.rows + list.rows.div_ceil(2));
            words.push(stage);
            if list.rows == 0 {
                continue;
            }
            let (of_table, added) = (placed(of_table), placed(added));
            // SAFETY: the arguments are index_rows's; all memory has the sizes that its words state.
            unsafe {
                self.index.launch(cuda.stream(), Blocks::new(blocks(list.rows), THREADS), |arguments| {
                    arguments.arg(&stage).arg(&list.keys).arg(&list.rows).arg(&of_table).arg(&added)
                })?;
            }
        }
        Ok(Stages { words: held.upload(cuda, &words)?, lay: placed(lay), _held: held })
    }

    /// Makes a message of at most `room` rows in a table of `slots` slots. `own` rows were visited before.
    fn join(&self, join: Join, slots: u64, own: u64, room: u64, stop: &Stop) -> Result<Made, DeviceError> {
        let cuda = self.gpu.cuda();
        let keys = cuda.reserve::<u64>(slots as usize)?;
        let costs = cuda.reserve::<i64>(slots as usize)?;
        cuda.set_bytes(&keys, 0xff)?;
        // a cost above all others
        cuda.set_bytes(&costs, 0x7f)?;
        // keys found, rows visited, whether the table is full, list indices assigned, the least cost
        let counts = cuda.upload(&[0, 0, 0, 0, Cost::MAX])?;
        let at = cuda.address(&counts);
        let found = Found {
            keys: cuda.address(&keys),
            costs: cuda.address(&costs),
            mask: slots - 1,
            count: at,
            work: at + 8,
            full: at + 16,
        };
        let mut first = 0u64;
        let (mut rows, mut work) = (0, 0);
        while first < join.rows {
            let last = join.rows.min(first + LAUNCH);
            // SAFETY: the arguments are join_rows's; all memory to which the words point lives until the launch has
            // ended, for which `read` waits.
            unsafe {
                self.join.launch(cuda.stream(), Blocks::new(blocks(last - first), THREADS), |arguments| {
                    arguments.arg(&join).arg(&found).arg(&first).arg(&last)
                })?;
            }
            let counted = cuda.read(&counts)?;
            (rows, work) = (counted[0] as u64, counted[1] as u64);
            if rows > room || !self.accounting.allows(own + work) {
                return Ok(Made::TooMuch);
            }
            if counted[2] != 0 {
                return Ok(Made::Full);
            }
            if stop.is_set() {
                return Ok(Made::Stopped);
            }
            first = last;
        }
        let mut to_keys = cuda.reserve::<u64>(rows as usize)?;
        let mut to_costs = cuda.reserve::<i64>(rows as usize)?;
        let (place, least) = (at + 24, at + 32);
        // SAFETY: the arguments are list_rows's; the lists have room for the rows that were counted.
        unsafe {
            self.list.launch(cuda.stream(), Blocks::new(blocks(slots), THREADS), |arguments| {
                arguments
                    .arg(&found.keys)
                    .arg(&found.costs)
                    .arg(&slots)
                    .arg(&mut to_keys)
                    .arg(&mut to_costs)
                    .arg(&place)
                    .arg(&least)
            })?;
        }
        let least = cuda.read(&counts)?[4];
        let list = List { keys: cuda.address(&to_keys), costs: cuda.address(&to_costs), rows };
        Ok(Made::Message(Message { keys: to_keys, costs: to_costs, list }, least, work))
    }
}

/// The outcome of an attempt to make a message.
enum Made {
    /// The message, its least cost, and the number of rows visited.
    Message(Message, Cost, u64),
    /// The table had too few slots.
    Full,
    /// A limit was exceeded.
    TooMuch,
    Stopped,
}
