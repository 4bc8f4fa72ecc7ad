//! The costs of global functions by their formulas, in integers of 128 bits.

use super::evaluate;
use crate::model::{
    Arithmetic, Automaton, Cost, CountCost, Counting, FORBIDDEN, Global, GlobalKind, Grammar, Linear, Measure, Price,
    Repair, Same, Target,
};

/// A finite cost, or `None` for a forbidden one. Sums cannot overflow, because parameters have 64 bits.
type Exact = Option<i128>;

/// Returns the cost of a global function under an assignment of all variables; [`FORBIDDEN`] from its limit on.
pub fn global_cost(global: &Global, domains: &[u32], assignment: &[u32]) -> Cost {
    let x: Vec<u32> = global.scope.iter().map(|&v| assignment[v as usize]).collect();
    let largest = || global.scope.iter().map(|&v| domains[v as usize]).max().unwrap_or(0);
    let exact = match &global.kind {
        GlobalKind::Linear(linear) => sum_of_weights(linear, &x),
        GlobalKind::EqualPairs { price } => {
            let pairs = (0..x.len()).flat_map(|i| (0..i).map(move |j| (i, j)));
            multiple(*price, pairs.filter(|&(i, j)| x[i] == x[j]).count() as i128)
        }
        GlobalKind::Counting(counting) => counts(counting, largest(), &x),
        GlobalKind::Same(same) => groups(same, largest(), &x),
        GlobalKind::Overlap { target, price } => {
            let half = x.len() / 2;
            let k = (0..half).filter(|&i| x[i] != 0 && x[i] == x[half + i]).count();
            priced(*price, off(*target, k as i128))
        }
        GlobalKind::Regular(automaton) => paths(automaton, &x),
        GlobalKind::Grammar(grammar) => derivations(grammar, &x),
        GlobalKind::Max { costs } => {
            let of_each = costs.iter().zip(&x).map(|(costs, &value)| costs[value as usize]);
            of_each.max().map_or(Some(0), |most| (most < FORBIDDEN).then_some(most.into()))
        }
        GlobalKind::Tree => is_tree(&x).then_some(0),
        GlobalKind::Arithmetic(function) => of_two(function, x[0].into(), x[1].into()),
        GlobalKind::Nested { network, low, high } => {
            let found = evaluate(network, &x);
            (found.is_solution() && *low <= found.cost && found.cost < *high).then_some(0)
        }
    };
    match exact {
        Some(cost) if cost < global.limit.min(FORBIDDEN).into() => cost as Cost,
        _ => FORBIDDEN,
    }
}

/// Returns a price times a number; `None` from [`FORBIDDEN`] on, so that sums cannot overflow.
fn multiple(price: Cost, times: i128) -> Exact {
    let cost = i128::from(price).saturating_mul(times);
    if times == 0 { Some(0) } else { (price < FORBIDDEN && cost < FORBIDDEN.into()).then_some(cost) }
}

fn priced(Price { cost, measure }: Price, gap: i128) -> Exact {
    multiple(
        cost,
        match measure {
            Measure::Hard => gap.min(1),
            Measure::Linear => gap,
            Measure::Quadratic => gap.saturating_mul(gap),
        },
    )
}

fn off(target: Target, k: i128) -> i128 {
    match target {
        Target::Within(low, high) => (i128::from(low) - k).max(k - i128::from(high)).max(0),
        Target::Not(there) => i128::from(k == there.into()),
    }
}

fn total(terms: impl Iterator<Item = Exact>) -> Exact {
    terms.sum()
}

fn sum_of_weights(linear: &Linear, x: &[u32]) -> Exact {
    let sum: i128 = linear.weights.iter().zip(x).map(|(weights, &value)| i128::from(weights[value as usize])).sum();
    let taken = |set: &Vec<(u32, u32)>| set.iter().filter(|&&(place, value)| x[place as usize] == value).count();
    if linear.at_most_one.iter().any(|set| taken(set) > 1) {
        return None;
    }
    priced(linear.price, off(linear.target, sum))
}

fn counts(Counting { bounds, cost, classes }: &Counting, values: u32, x: &[u32]) -> Exact {
    let class = |(place, &value): (usize, &u32)| classes.as_ref().map_or(value, |all| all[place][value as usize]);
    let read: Vec<u32> = x.iter().enumerate().map(class).collect();
    let short_and_excess = bounds.iter().map(|bound| {
        let n = read.iter().filter(|&&value| value == bound.value).count() as i128;
        (0.max(i128::from(bound.low) - n), 0.max(n - i128::from(bound.high)))
    });
    match cost {
        CountCost::Each(price) => total(short_and_excess.map(|(short, excess)| priced(*price, short + excess))),
        CountCost::Weighted(costs) => total(
            short_and_excess
                .zip(costs)
                .map(|((short, excess), &(low, high))| Some(multiple(low, short)? + multiple(high, excess)?)),
        ),
        CountCost::Larger(price) => {
            let most: i128 = bounds.iter().map(|bound| i128::from(bound.high)).sum();
            let least: i128 = bounds.iter().map(|bound| i128::from(bound.low)).sum();
            let n = x.len() as i128;
            let (short, excess): (Vec<i128>, Vec<i128>) = short_and_excess.unzip();
            let never =
                least > n || most < n && (0..values).all(|value| bounds.iter().any(|bound| bound.value == value));
            if never {
                return None;
            }
            multiple(*price, short.iter().sum::<i128>().max(excess.iter().sum()))
        }
    }
}

/// Returns the cost of groups that must have equal counts. Bounds of values outside the largest domain do not count.
fn groups(Same { left, right, one_sided, price, bounds }: &Same, size: u32, x: &[u32]) -> Exact {
    let times = |group: &[u32], value: u32| group.iter().filter(|&&place| x[place as usize] == value).count() as i128;
    total((0..size).flat_map(|value| {
        let (l, r) = (times(left, value), times(right, value));
        let apart = priced(*price, if *one_sided { (l - r).max(0) } else { (l - r).abs() });
        let outside = bounds.iter().filter(move |bound| bound.value == value).flat_map(move |bound| {
            [l, r].map(|n| priced(*price, (i128::from(bound.low) - n).max(0) + (n - i128::from(bound.high)).max(0)))
        });
        outside.chain([apart])
    }))
}

/// Returns the smaller of two costs, `None` being the largest.
fn less(a: Exact, b: Exact) -> Exact {
    match (a, b) {
        (Some(a), Some(b)) => Some(a.min(b)),
        (a, b) => a.or(b),
    }
}

fn with(a: Exact, cost: Cost) -> Exact {
    a.filter(|_| cost < FORBIDDEN).map(|a| a + i128::from(cost))
}

/// Returns the least cost over all paths, from the least costs of the states after each letter; inserted letters are
/// followed until no cost falls.
fn paths(automaton: &Automaton, x: &[u32]) -> Exact {
    let put_in = |costs: &mut Vec<Exact>| {
        let Repair::Edit(price) = automaton.repair else { return };
        loop {
            let before = costs.clone();
            for &(from, _, to, cost) in &automaton.transitions {
                costs[to as usize] = less(costs[to as usize], with(with(costs[from as usize], cost), price));
            }
            if before == *costs {
                return;
            }
        }
    };
    let mut costs: Vec<Exact> = vec![None; automaton.states as usize];
    for &(state, cost) in &automaton.starts {
        costs[state as usize] = less(costs[state as usize], with(Some(0), cost));
    }
    put_in(&mut costs);
    for &letter in x {
        let mut next: Vec<Exact> = match automaton.repair {
            Repair::Edit(price) => costs.iter().map(|&cost| with(cost, price)).collect(),
            _ => vec![None; costs.len()],
        };
        for &(from, read, to, cost) in &automaton.transitions {
            let price = match automaton.repair {
                Repair::None if read != letter => continue,
                Repair::Substitute(price) | Repair::Edit(price) if read != letter => price,
                _ => 0,
            };
            next[to as usize] = less(next[to as usize], with(with(costs[from as usize], cost), price));
        }
        put_in(&mut next);
        costs = next;
    }
    automaton.ends.iter().fold(None, |best, &(state, cost)| less(best, with(costs[state as usize], cost)))
}

/// Returns the least cost of a derivation of the word: of each symbol for each part of it, shorter parts first (Cocke,
/// Younger and Kasami).
fn derivations(grammar: &Grammar, x: &[u32]) -> Exact {
    let (n, symbols) = (x.len(), grammar.symbols as usize);
    if n == 0 {
        return None;
    }
    let place = |from: usize, length: usize, symbol: u32| ((length - 1) * n + from) * symbols + symbol as usize;
    let mut costs: Vec<Exact> = vec![None; n * n * symbols];
    for (from, &letter) in x.iter().enumerate() {
        for &(symbol, read, cost) in &grammar.terminals {
            let Some(price) = (if read == letter { Some(0) } else { grammar.substitute }) else { continue };
            let own = place(from, 1, symbol);
            costs[own] = less(costs[own], with(with(Some(0), cost), price));
        }
    }
    for length in 2..=n {
        for from in 0..=n - length {
            for &(symbol, first, second, cost) in &grammar.pairs {
                let split = |middle: usize| {
                    let left = costs[place(from, middle, first)]?;
                    Some(left + costs[place(from + middle, length - middle, second)]?)
                };
                let best = (1..length).map(split).fold(None, less);
                let own = place(from, length, symbol);
                costs[own] = less(costs[own], with(best, cost));
            }
        }
    }
    costs[place(0, n, grammar.start)]
}

/// Returns whether each value is the position of a parent, exactly one is its own, and all others reach it.
fn is_tree(x: &[u32]) -> bool {
    let n = x.len();
    let roots = (0..n).filter(|&i| x[i] as usize == i).count();
    let reaches = |i: usize| {
        let mut node = i;
        for _ in 0..=n {
            match x.get(node).map(|&parent| parent as usize) {
                Some(parent) if parent == node => return true,
                Some(parent) => node = parent,
                None => return false,
            }
        }
        false
    };
    roots == 1 && (0..n).all(reaches)
}

fn of_two(function: &Arithmetic, x: i128, y: i128) -> Exact {
    let up_to = |cost: i128, most: i64| (cost <= most.into()).then_some(cost);
    let exact = |cost: Cost| (cost < FORBIDDEN).then_some(i128::from(cost));
    match *function {
        Arithmetic::AtLeast { shift, most } => up_to(0.max(y + i128::from(shift) - x), most),
        Arithmetic::AtMost { shift, most } => up_to(0.max(x - i128::from(shift) - y), most),
        Arithmetic::Equal { shift, most } => up_to((y + i128::from(shift) - x).abs(), most),
        Arithmetic::Apart { after_x, after_y, cost } => {
            if x >= y + i128::from(after_y) || y >= x + i128::from(after_x) { Some(0) } else { exact(cost) }
        }
        Arithmetic::ApartUnless { after_x, after_y, most, costs } => {
            let most = (i128::from(most.0), i128::from(most.1));
            let clash = x < y + i128::from(after_y) && y < x + i128::from(after_x);
            if x > most.0 || y > most.1 || x < most.0 && y < most.1 && clash {
                return None;
            }
            let at_x = if x == most.0 { exact(costs.0)? } else { 0 };
            Some(at_x + if y == most.1 { exact(costs.1)? } else { 0 })
        }
    }
}
