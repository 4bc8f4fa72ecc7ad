//! Global cost functions as text, with the keywords that both `.wcsp` and `.cfn` have.

use crate::decimal;
use crate::model::{
    Arithmetic, Automaton, Cost, CountCost, Counting, FORBIDDEN, Function, Global, GlobalKind, Grammar, Linear,
    Measure, Network, Price, Repair, Same, Target, Units, ValueCount,
};
use std::fmt::Display;
use std::io;

/// The strict upper limit of the weights of a knapsack.
const MOST_WEIGHT: i64 = 1 << 40;

/// The syntax of the text.
#[derive(Clone, Copy)]
pub(crate) enum Style<'n> {
    /// The syntax of `.wcsp`: plain numbers; forbidden costs are written as `top`.
    Wcsp { top: Cost, nested: WriteNested },
    /// The syntax of `.cfn`: tags and brackets; costs are decimals.
    Cfn { units: &'n Units, nested: WriteNested },
}

/// Writes a nested network in the file's format among the parameters of a function.
type WriteNested = fn(&Network, &mut dyn io::Write) -> io::Result<()>;

/// A global function as text.
pub(crate) struct Written {
    pub keyword: &'static str,
    pub parameters: String,
}

/// Returns, for each global function of a network in file order, functions that together equal it; `None` if one of
/// them cannot be expressed.
pub(crate) fn written<'n>(network: &'n Network, style: impl Fn(&Global) -> Style<'n>) -> Option<Vec<Vec<Written>>> {
    let one = |global: &'n Global| {
        let style = style(global);
        keeps_limit(network, global, style).then(|| all(global, style)).flatten()
    };
    network.globals().map(one).collect()
}

/// Returns whether a function forbids the same tuples in the new file, which may have another limit on the costs of
/// single functions.
fn keeps_limit(network: &Network, global: &Global, style: Style<'_>) -> bool {
    let limit = match style {
        Style::Wcsp { top, .. } => top,
        Style::Cfn { .. } => FORBIDDEN,
    };
    let least = |function: Function<'_>| match function {
        Function::Table(function) => function.min(network.domains()),
        Function::Global(_) => 0,
    };
    let has_negative = || {
        let is_signed = |global: &Global| match &global.kind {
            GlobalKind::Max { costs } => costs.iter().flatten().any(|&cost| cost < 0),
            GlobalKind::Regular(Automaton { starts, ends, transitions, .. }) => {
                let own = starts.iter().chain(ends).map(|end| end.1);
                own.chain(transitions.iter().map(|transition| transition.3)).any(|cost| cost < 0)
            }
            GlobalKind::Grammar(Grammar { terminals, pairs, .. }) => {
                terminals.iter().map(|rule| rule.2).chain(pairs.iter().map(|rule| rule.3)).any(|cost| cost < 0)
            }
            _ => false,
        };
        network.all_functions().any(|function| least(function) < 0) || network.globals().any(is_signed)
    };
    let forbids_only = match &global.kind {
        GlobalKind::Linear(Linear { price, .. }) | GlobalKind::Overlap { price, .. } => price.cost >= FORBIDDEN,
        GlobalKind::Counting(Counting { cost: CountCost::Each(price), .. }) => price.cost >= FORBIDDEN,
        GlobalKind::Counting(Counting { cost: CountCost::Larger(cost), .. }) => *cost >= FORBIDDEN,
        GlobalKind::Same(Same { price, .. }) => price.cost >= FORBIDDEN,
        GlobalKind::EqualPairs { price } => *price >= FORBIDDEN,
        GlobalKind::Tree | GlobalKind::Nested { .. } => true,
        _ => false,
    };
    forbids_only || global.limit == limit || global.limit >= network.top() && !has_negative()
}

fn all(global: &Global, style: Style<'_>) -> Option<Vec<Written>> {
    let text = || Text { style, text: String::new() };
    let one = |keyword, text: Text<'_>| Some(vec![Written { keyword, parameters: text.text }]);
    match &global.kind {
        GlobalKind::Linear(linear) => linear_parts(global, linear, style),
        GlobalKind::Overlap { target, price } => sides(*target)?
            .into_iter()
            .map(|side| {
                let text = text().price(*price).comparison(side).number("to", side.number());
                Some(Written { keyword: "woverlap", parameters: text.text })
            })
            .collect(),
        GlobalKind::EqualPairs { price } => one("salldiff", text().word("metric", "dec").cost("cost", *price)),
        GlobalKind::Counting(Counting { classes: Some(_), .. }) => None,
        GlobalKind::Counting(Counting { bounds, cost, .. }) => match cost {
            CountCost::Each(price) => one("wgcc", text().price(*price).bounds(bounds)),
            CountCost::Larger(cost) => one("sgcc", text().word("metric", "var").cost("cost", *cost).bounds(bounds)),
            CountCost::Weighted(costs) => {
                let text = text().word("metric", "wdec").cost("cost", 0);
                one(
                    "sgcc",
                    text.list("bounds", bounds.iter().zip(costs), |text, (bound, costs)| {
                        text.group(|text| text.bound(bound).cost("", costs.0).cost("", costs.1))
                    }),
                )
            }
        },
        GlobalKind::Same(same) => same_part(global, same, style),
        GlobalKind::Regular(automaton) => {
            let (keyword, text) = match automaton.repair {
                Repair::None => ("wregular", text()),
                Repair::Substitute(cost) => ("sregular", text().word("metric", "var").cost("cost", cost)),
                Repair::Edit(cost) => ("sregular", text().word("metric", "edit").cost("cost", cost)),
            };
            one(keyword, text.automaton(automaton))
        }
        GlobalKind::Grammar(grammar) => one("sgrammar", text().grammar(grammar)),
        GlobalKind::Max { costs } => {
            let places = (0..)
                .zip(costs)
                .flat_map(|(place, row)| (0..).zip(row).map(move |(value, &cost)| (place, value, cost)));
            let places: Vec<(usize, u32, Cost)> = places.collect();
            let text = text().cost("defaultcost", 0);
            one(
                "max",
                text.list("tuples", places, |text, (place, value, cost)| {
                    text.group(|text| text.plain(global.scope[place]).plain(value).cost("", cost))
                }),
            )
        }
        GlobalKind::Tree => one("MST", text()),
        GlobalKind::Arithmetic(arithmetic) => {
            let (keyword, numbers) = of_two(arithmetic, style)?;
            one(keyword, numbers.into_iter().fold(text(), Text::plain))
        }
        GlobalKind::Nested { network, low, high } => nested(network, [*low, *high], style).map(|written| vec![written]),
    }
}

/// A comparison that the formats have.
#[derive(Clone, Copy)]
enum Side {
    Equal(i64),
    AtLeast(i64),
    AtMost(i64),
    Not(i64),
}

impl Side {
    fn number(self) -> i64 {
        let (Side::Equal(k) | Side::AtLeast(k) | Side::AtMost(k) | Side::Not(k)) = self;
        k
    }
}

/// Returns the comparisons that together express a target: any number deviates from at most one of them. `None` if the
/// target is an empty interval.
fn sides(target: Target) -> Option<Vec<Side>> {
    Some(match target {
        Target::Not(k) => vec![Side::Not(k)],
        Target::Within(low, high) if low == high => vec![Side::Equal(low)],
        Target::Within(low, high) if low > high => return None,
        Target::Within(low, high) => {
            let low = (low > i64::MIN).then_some(Side::AtLeast(low));
            low.into_iter().chain((high < i64::MAX).then_some(Side::AtMost(high))).collect()
        }
    })
}

fn linear_parts(global: &Global, linear: &Linear, style: Style<'_>) -> Option<Vec<Written>> {
    let Linear { weights, target, price, at_most_one } = linear;
    let text = || Text { style, text: String::new() };
    let entries =
        || weights.iter().enumerate().flat_map(|(place, row)| row.iter().enumerate().map(move |(v, &w)| (place, v, w)));
    let last = weights.len().wrapping_sub(1);
    let is_sum = entries().all(|(_, value, weight)| weight == value as i64);
    let is_difference =
        entries().all(|(place, value, weight)| weight == if place == last { -(value as i64) } else { value as i64 });
    let mut among: Vec<usize> = entries().filter(|entry| entry.2 == 1).map(|(_, value, _)| value).collect();
    among.sort_unstable();
    among.dedup();
    let is_number = entries().all(|(_, value, weight)| weight == i64::from(among.binary_search(&value).is_ok()));
    let is_number_of_last = price.measure == Measure::Hard
        && *target == Target::Within(0, 0)
        && entries().all(|(place, value, weight)| {
            weight == if place == last { -(value as i64) } else { i64::from(among.binary_search(&value).is_ok()) }
        });
    let plain = at_most_one.is_empty();
    match target {
        Target::Within(low, high) if plain && is_number && !(is_sum && &*global.keyword == "wsum") => {
            let text = text().price(*price).values(&among).number("min", *low).number("max", *high);
            return Some(vec![Written { keyword: "wamong", parameters: text.text }]);
        }
        _ if plain && (is_sum || is_difference && shifted(*target).is_some()) => {
            let part = |side: Side| {
                let text = text().price(*price).comparison(side);
                let keyword = if is_sum { "wsum" } else { "wvarsum" };
                let text = if is_sum { text.number("to", side.number()) } else { text };
                Written { keyword, parameters: text.text }
            };
            return Some(if is_sum { sides(*target)? } else { shifted(*target)? }.into_iter().map(part).collect());
        }
        _ if plain && is_number_of_last => {
            let text = text().word("metric", "hard").cost("cost", price.cost).values(&among);
            return Some(vec![Written { keyword: "wvaramong", parameters: text.text }]);
        }
        _ => {}
    }
    if price.cost < FORBIDDEN || entries().any(|entry| entry.2.abs() >= MOST_WEIGHT) {
        return None;
    }
    let knapsack = |capacity: i64, weights: &mut dyn Iterator<Item = (usize, usize, i64)>| {
        let listed: Vec<_> = weights.filter(|entry| entry.2 != 0).collect();
        let text = text().number("capacity", capacity);
        let text = text.list("weightedvalues", listed, |text, (place, value, weight)| {
            text.group(|text| text.plain(global.scope[place]).plain(value).plain(weight))
        });
        Written { keyword: "knapsackv", parameters: text.text }
    };
    let Target::Within(low, high) = *target else { return None };
    let mut parts = Vec::new();
    if low > i64::MIN {
        parts.push(knapsack(low, &mut entries()));
    }
    if high < i64::MAX {
        parts.push(knapsack(-high, &mut entries().map(|(place, value, weight)| (place, value, -weight))));
    }
    for set in at_most_one {
        parts.push(knapsack(-1, &mut set.iter().map(|&(place, value)| (place as usize, value as usize, -1))));
    }
    Some(parts)
}

/// Returns the comparisons of a difference with 0; `None` if the target is another number.
fn shifted(target: Target) -> Option<Vec<Side>> {
    match target {
        Target::Within(0, 0) | Target::Within(i64::MIN, 0) | Target::Within(0, i64::MAX) | Target::Not(0) => {
            sides(target)
        }
        _ => None,
    }
}

fn same_part(global: &Global, same: &Same, style: Style<'_>) -> Option<Vec<Written>> {
    let Same { left, right, one_sided, price, bounds } = same;
    let text = Text { style, text: String::new() };
    let half = global.scope.len() as u32 / 2;
    let is_halved = left.iter().copied().eq(0..half) && right.iter().copied().eq(half..2 * half);
    let (keyword, text) = match (one_sided, bounds.is_empty()) {
        (true, true) if price.measure == Measure::Linear => {
            let text = text.cost("cost", price.cost).sizes(&[left.len(), right.len()]);
            let [left, right] = [left, right].map(|group| group.iter().map(|&place| global.scope[place as usize]));
            ("ssame", text.counted("vars1", left, Text::plain).counted("vars2", right, Text::plain))
        }
        (false, true) if is_halved => ("wsame", text.price(*price)),
        (false, false) if is_halved => ("wsamegcc", text.price(*price).bounds(bounds)),
        _ => return None,
    };
    Some(vec![Written { keyword, parameters: text.text }])
}

/// Returns the keyword and the numbers of a function of two numbers; `None` if the format cannot express it, because
/// costs among these numbers must be integers.
fn of_two(arithmetic: &Arithmetic, style: Style<'_>) -> Option<(&'static str, Vec<i64>)> {
    let price = |cost: Cost| match style {
        Style::Wcsp { top, .. } if cost >= top => Some(top).filter(|&top| top < FORBIDDEN),
        Style::Cfn { .. } if cost >= FORBIDDEN => None,
        _ => Some(cost),
    };
    if let Style::Cfn { units, .. } = style
        && (units.decimals > 0 || units.maximise)
    {
        return None;
    }
    Some(match *arithmetic {
        Arithmetic::AtLeast { shift, most } => (">=", vec![shift, most]),
        Arithmetic::AtMost { shift, most } => ("<=", vec![shift, most]),
        Arithmetic::Equal { shift, most } => ("=", vec![shift, most]),
        Arithmetic::Apart { after_x, after_y, cost } => ("disj", vec![after_x, after_y, price(cost)?]),
        Arithmetic::ApartUnless { after_x, after_y, most, costs } => {
            ("sdisj", vec![after_x, after_y, most.0, most.1, price(costs.0)?, price(costs.1)?])
        }
    })
}

fn nested(network: &Network, bounds: [Cost; 2], style: Style<'_>) -> Option<Written> {
    let mut inner = Vec::new();
    Some(match style {
        Style::Wcsp { nested, .. } => {
            nested(network, &mut inner).ok()?;
            let bounds = format!("{} {} 0 0 ", bounds[0], bounds[1]);
            Written { keyword: "wcsp", parameters: bounds + String::from_utf8(inner).ok()?.trim_end() }
        }
        Style::Cfn { nested, .. } => {
            nested(network, &mut inner).ok()?;
            let text = Text { style: Style::Cfn { units: network.units(), nested }, text: String::from("cfn: ") };
            let text = text.plain(String::from_utf8(inner).ok()?).cost("lb", bounds[0]).cost("ub", bounds[1]);
            let text = text.number("duplicatehard", 0).number("strongduality", 0);
            Written { keyword: "cfnconstraint", parameters: text.text }
        }
    })
}

/// The text of parameters while it is written.
struct Text<'n> {
    style: Style<'n>,
    text: String,
}

impl Text<'_> {
    fn tag(mut self, tag: &str) -> Self {
        if matches!(self.style, Style::Cfn { .. }) && !tag.is_empty() {
            self.text += tag;
            self.text += ": ";
        }
        self
    }

    fn plain(mut self, word: impl Display) -> Self {
        self.text += &word.to_string();
        self.text += if matches!(self.style, Style::Cfn { .. }) { ", " } else { " " };
        self
    }

    fn word(self, tag: &str, word: &str) -> Self {
        self.tag(tag).plain(word)
    }

    fn number(self, tag: &str, number: i64) -> Self {
        self.tag(tag).plain(number)
    }

    fn cost(self, tag: &str, cost: Cost) -> Self {
        let shown = match self.style {
            Style::Wcsp { top, .. } => cost.min(top).to_string(),
            Style::Cfn { .. } if cost >= FORBIDDEN => "inf".into(),
            Style::Cfn { units, .. } => decimal::of_cost(cost, units),
        };
        self.tag(tag).plain(shown)
    }

    fn price(self, price: Price) -> Self {
        let metric = match price.measure {
            Measure::Hard => "hard",
            Measure::Linear => "lin",
            Measure::Quadratic => "quad",
        };
        self.word("metric", metric).cost("cost", price.cost)
    }

    fn comparison(self, side: Side) -> Self {
        let sign = match side {
            Side::Equal(_) => "==",
            Side::AtLeast(_) => ">=",
            Side::AtMost(_) => "<=",
            Side::Not(_) => "!=",
        };
        self.word("comparator", sign)
    }

    fn group(mut self, inner: impl FnOnce(Self) -> Self) -> Self {
        if let Style::Wcsp { .. } = self.style {
            return inner(self);
        }
        self.text += "[";
        let mut whole = inner(self);
        whole.text += "], ";
        whole
    }

    /// Appends a list of items, preceded by their number in `.wcsp`.
    fn list<T>(self, tag: &str, items: impl IntoIterator<Item = T>, item: impl FnMut(Self, T) -> Self) -> Self {
        let items: Vec<T> = items.into_iter().collect();
        let sizes = [items.len()];
        self.sizes(&sizes).counted(tag, items, item)
    }

    /// Appends numbers of items, which only `.wcsp` states.
    fn sizes(self, sizes: &[usize]) -> Self {
        match self.style {
            Style::Wcsp { .. } => sizes.iter().fold(self, Text::plain),
            Style::Cfn { .. } => self,
        }
    }

    fn counted<T>(self, tag: &str, items: impl IntoIterator<Item = T>, item: impl FnMut(Self, T) -> Self) -> Self {
        self.tag(tag).group(|text| items.into_iter().fold(text, item))
    }

    fn values(self, values: &[usize]) -> Self {
        self.list("values", values, Text::plain)
    }

    fn bound(self, bound: &ValueCount) -> Self {
        self.plain(bound.value).plain(bound.low).plain(bound.high)
    }

    fn bounds(self, bounds: &[ValueCount]) -> Self {
        self.list("bounds", bounds, |text, bound| text.group(|text| text.bound(bound)))
    }

    fn automaton(self, automaton: &Automaton) -> Self {
        let costs = automaton.repair == Repair::None;
        let cost = |text: Self, cost: Cost| if costs { text.cost("", cost) } else { text };
        let ended = |text: Self, &(state, own): &(u32, Cost)| match costs {
            true => text.group(|text| cost(text.plain(state), own)),
            false => text.plain(state),
        };
        let text = self.number("nb_states", automaton.states.into());
        let text = text.list("starts", &automaton.starts, ended).list("ends", &automaton.ends, ended);
        text.list("transitions", &automaton.transitions, |text, &(from, value, to, own)| {
            text.group(|text| cost(text.plain(from).plain(value).plain(to), own))
        })
    }

    fn grammar(self, grammar: &Grammar) -> Self {
        let Grammar { symbols, start, terminals, pairs, substitute } = grammar;
        let weighted = substitute.is_none();
        let values = terminals.iter().map(|rule| i64::from(rule.1) + 1).max().unwrap_or(0);
        let text = self.word("metric", if weighted { "weight" } else { "var" }).cost("cost", substitute.unwrap_or(0));
        let text =
            text.number("nb_symbols", (*symbols).into()).number("nb_values", values).number("start", (*start).into());
        let cost = |text: Self, own: Cost| if weighted { text.cost("", own) } else { text };
        let form = |text: Self, form: i64| match text.style {
            Style::Wcsp { .. } => text.plain(form + if weighted { 2 } else { 0 }),
            Style::Cfn { .. } => text,
        };
        let terminal = |text: Self, &(symbol, value, own): &(u32, u32, Cost)| {
            form(text, 0).group(|text| cost(text.plain(symbol).plain(value), own))
        };
        let pair = |text: Self, &(symbol, left, right, own): &(u32, u32, u32, Cost)| {
            form(text, 1).group(|text| cost(text.plain(symbol).plain(left).plain(right), own))
        };
        match text.style {
            // one list for both kinds of rules
            Style::Wcsp { .. } => {
                let text = text.sizes(&[terminals.len() + pairs.len()]);
                let text = terminals.iter().fold(text, terminal);
                pairs.iter().fold(text, pair)
            }
            Style::Cfn { .. } => text.list("terminals", terminals, terminal).list("non_terminals", pairs, pair),
        }
    }
}
