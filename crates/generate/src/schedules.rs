//! Timetables and rosters, in which variables that follow each other in time are constrained.

use super::{Draft, check_size, pair_table, random_costs, usage};
use crate::error::Error;
use crate::model::{Cost, FORBIDDEN, Network};
use crate::rng::Rng;

/// Generates a timetable problem: lessons of one teacher take different slots, and in each of `precedences` pairs the
/// second lesson follows the first within `window` slots. A slot of a lesson costs up to `max_cost`. A hidden timetable
/// satisfies all constraints; a precedence for which it has no later lesson is omitted.
///
/// # Errors
/// Returns an error if a teacher has more lessons than there are slots, or if the network is too large.
pub fn timetable(of: Timetable, max_cost: u32, rng: &mut Rng) -> Result<Network, Error> {
    let Timetable { lessons, slots, teachers, precedences, window } = of;
    let each = lessons.div_ceil(teachers.max(1));
    if teachers == 0 || each > slots {
        return usage(format!("{lessons} lessons of {teachers} teachers do not fit into {slots} slots"));
    }
    check_size(lessons, slots, u64::from(lessons) * u64::from(each) + u64::from(precedences))?;
    let mut hidden = vec![0; lessons as usize];
    for teacher in 0..teachers {
        let mut order: Vec<u32> = (0..slots).collect();
        rng.shuffle(&mut order);
        let own = hidden.iter_mut().skip(teacher as usize).step_by(teachers as usize);
        own.zip(order).for_each(|(slot, free)| *slot = free);
    }
    let mut at: Vec<Vec<u32>> = vec![Vec::new(); slots as usize];
    (0..).zip(&hidden).for_each(|(lesson, &slot)| at[slot as usize].push(lesson));
    let mut draft = Draft::new(lessons, slots)?;
    for lesson in 0..lessons {
        let _ = draft.add(&[lesson], random_costs(u64::from(slots), max_cost, rng))?;
        for other in (lesson + teachers..lessons).step_by(teachers as usize) {
            draft.share(&[lesson, other], 0, || pair_table(slots, slots, |a, b| if a == b { FORBIDDEN } else { 0 }))?;
        }
    }
    for _ in 0..precedences {
        let first = rng.index(lessons as usize) as u32;
        let later = hidden[first as usize] as usize + 1 + rng.index(window as usize);
        let Some(followers) = at.get(later).filter(|followers| !followers.is_empty()) else { continue };
        let second = followers[rng.index(followers.len())];
        let follows = |a: u32, b: u32| if a < b && b - a <= window { 0 } else { FORBIDDEN };
        draft.share(&[first, second], 1, || pair_table(slots, slots, follows))?;
    }
    Ok(draft.finish())
}

/// The parameters of a timetable problem.
#[derive(Clone, Copy, Debug)]
pub struct Timetable {
    /// Number of lessons, which are the variables.
    pub lessons: u32,
    /// Number of slots, which are the values.
    pub slots: u32,
    /// Number of teachers, to whom lessons are assigned cyclically.
    pub teachers: u32,
    /// Number of pairs of lessons of which one follows the other.
    pub precedences: u32,
    /// Largest number of slots from a lesson to the one that follows it.
    pub window: u32,
}

/// Cost of each nurse that a shift lacks.
const SHORTFALL: Cost = 1000;

/// Generates a roster: each of `nurses` has one of four shifts (off, early, late or night) on each of `days`. A late
/// shift is not followed by an early one, nor a night by an early or late one; no one works three nights in a row; and
/// each shift costs a nurse up to `max_cost`. Each day needs up to `demand` nurses a shift. Counters, connected to each
/// other and to the shifts, count the nurses of a shift up to the number that it needs.
///
/// # Errors
/// Returns an error if the network is too large.
pub fn roster(nurses: u32, days: u32, demand: u32, max_cost: u32, rng: &mut Rng) -> Result<Network, Error> {
    let cells = u64::from(nurses) * u64::from(days);
    let counters = cells.saturating_mul(3);
    // a ternary table has at most four times as many entries as the square of a counter's or a shift's domain size
    let variables = u32::try_from(cells + counters).unwrap_or(u32::MAX);
    check_size(variables, (demand + 1).max(4), counters.saturating_mul(8))?;
    let needed: Vec<u32> = (0..days * 3).map(|_| 1 + rng.below(u64::from(demand)) as u32).collect();
    let shifts = (0..cells).map(|_| 4);
    // for each day and shift, a chain of counters
    let counts = needed.iter().flat_map(|&needed| (0..nurses).map(move |_| needed + 1));
    let mut draft = Draft::of(shifts.chain(counts))?;
    let cell = |nurse: u32, day: u32| nurse * days + day;
    for nurse in 0..nurses {
        for day in 0..days {
            let mut wishes = random_costs(4, max_cost, rng);
            wishes[0] = 0;
            let _ = draft.add(&[cell(nurse, day)], wishes)?;
            if day + 1 < days {
                let tired = |a: u32, b: u32| if a > b && b > 0 { FORBIDDEN } else { 0 };
                draft.share(&[cell(nurse, day), cell(nurse, day + 1)], 0, || pair_table(4, 4, tired))?;
            }
            if day + 2 < days {
                let row = [day, day + 1, day + 2].map(|day| cell(nurse, day));
                draft.share(&row, 1, || (0..64).map(|entry| if entry == 63 { FORBIDDEN } else { 0 }).collect())?;
            }
        }
    }
    for (line, &needed) in (0..).zip(&needed) {
        let (day, shift) = (line / 3, line % 3 + 1);
        let counter = |nurse: u32| cells as u32 + line * nurses + nurse;
        let count = |before: u32, held: u32| (before + u32::from(held == shift)).min(needed);
        let is = |right: bool| if right { 0 } else { FORBIDDEN };
        for nurse in 0..nurses {
            let held = cell(nurse, day);
            if nurse == 0 {
                let _ = draft.add(&[held, counter(0)], pair_table(4, needed + 1, |x, c| is(c == count(0, x))))?;
                continue;
            }
            let step = |before: u32| pair_table(4, needed + 1, move |x, c| is(c == count(before, x)));
            let costs = (0..=needed).flat_map(step).collect();
            let _ = draft.add(&[counter(nurse - 1), held, counter(nurse)], costs)?;
        }
        let missing = (0..=needed).map(|there| SHORTFALL * Cost::from(needed - there)).collect();
        let _ = draft.add(&[counter(nurses - 1)], missing)?;
    }
    Ok(draft.finish())
}
