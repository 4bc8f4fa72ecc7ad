//! The parameters of global functions about languages, functions of two numbers, and others.

use super::{Form, P, Read};
use crate::error::Error;
use crate::model::{Arithmetic, Automaton, Cost, FORBIDDEN, GlobalKind, Grammar, Network, Repair, add};

/// Reads states, initial and final states and transitions of an automaton, each with a cost if `costs` is set.
fn automaton(p: P<'_, '_, '_>, costs: bool, repair: Repair) -> Result<Automaton, Error> {
    p.tag("nb_states")?;
    let states = p.tokens.index(i32::MAX as u32, "a number of states")?;
    let cost = |p: P<'_, '_, '_>| if costs { p.form.cost(p.tokens, "a cost") } else { Ok(0) };
    let ended = |p: P<'_, '_, '_>| match costs {
        true => p.group(|p| Ok((p.tokens.index(states, "a state")?, cost(p)?))),
        false => Ok((p.tokens.index(states, "a state")?, 0)),
    };
    let starts = p.list("starts", |p| ended(p))?;
    let ends = p.list("ends", |p| ended(p))?;
    let transitions = p.list("transitions", |p| {
        p.group(|p| {
            let from = p.tokens.index(states, "a state")?;
            let value = p.value()?;
            Ok((from, value, p.tokens.index(states, "a state")?, cost(p)?))
        })
    })?;
    // the number of states is a mere claim of the file, so only states that occur are kept
    let named = starts.iter().chain(&ends).map(|end| end.0).chain(transitions.iter().flat_map(|t| [t.0, t.2]));
    let states = named.max().map_or(0, |most| most + 1);
    if states > MOST_STATES {
        return Err(p.tokens.error(format!("at most {MOST_STATES} states")));
    }
    Ok(Automaton { states, starts, ends, transitions, repair })
}

/// The maximum number of states of an automaton: the insertion costs between all pairs of them take 128 MiB.
const MOST_STATES: u32 = 1 << 12;

pub(super) fn sregular(p: P<'_, '_, '_>) -> Read {
    let metric = p.one_of("metric", &["var", "edit"])?;
    let price = p.price("cost")?;
    let repair = if metric == 0 { Repair::Substitute(price) } else { Repair::Edit(price) };
    Ok(GlobalKind::Regular(automaton(p, false, repair)?))
}

pub(super) fn wregular(p: P<'_, '_, '_>) -> Read {
    Ok(GlobalKind::Regular(automaton(p, true, Repair::None)?))
}

pub(super) fn sgrammar(p: P<'_, '_, '_>) -> Read {
    let weighted = p.one_of("metric", &["var", "weight"])? == 1;
    let price = p.price("cost")?;
    p.tag("nb_symbols")?;
    let symbols = p.tokens.index(MOST_STATES, "a number of symbols")?;
    let _ = p.number("nb_values")?;
    p.tag("start")?;
    let start = p.tokens.index(symbols, "a symbol")?;
    let (mut terminals, mut pairs) = (Vec::new(), Vec::new());
    let symbol = |p: P<'_, '_, '_>| p.tokens.index(symbols, "a symbol");
    let cost = |p: P<'_, '_, '_>, weighted| if weighted { p.form.cost(p.tokens, "a cost") } else { Ok(0) };
    if p.is_cfn() {
        terminals = p.list("terminals", |p| p.group(|p| Ok((symbol(p)?, p.value()?, cost(p, weighted)?))))?;
        pairs =
            p.list("non_terminals", |p| p.group(|p| Ok((symbol(p)?, symbol(p)?, symbol(p)?, cost(p, weighted)?))))?;
    } else {
        let _ = p.items(|p| {
            let form = p.tokens.index(4, "a form of rules")?;
            match form % 2 {
                0 => terminals.push((symbol(p)?, p.value()?, cost(p, form > 1)?)),
                _ => pairs.push((symbol(p)?, symbol(p)?, symbol(p)?, cost(p, form > 1)?)),
            }
            Ok(())
        })?;
        // the weights of rules count only if the metric is `weight`
        if !weighted {
            terminals.iter_mut().for_each(|rule| rule.2 = 0);
            pairs.iter_mut().for_each(|rule: &mut (u32, u32, u32, Cost)| rule.3 = 0);
        }
    }
    let substitute = (!weighted).then_some(price);
    Ok(GlobalKind::Grammar(Grammar { symbols, start, terminals, pairs, substitute }))
}

pub(super) fn max(p: P<'_, '_, '_>) -> Read {
    if let Form::Cfn { maximise: true, .. } = p.form {
        return Err(p
            .tokens
            .error_with("a network that minimises", "the largest cost is not read where costs are maximised"));
    }
    let default = p.cost("defaultcost")?;
    let mut costs: Vec<Vec<Cost>> = p.sizes.iter().map(|&size| vec![default; size as usize]).collect();
    let listed =
        p.list("tuples", |p| p.group(|p| Ok((p.variable()?, p.value()?, p.form.cost(p.tokens, "a cost")?))))?;
    for (place, value, cost) in listed {
        if let Some(own) = costs[place as usize].get_mut(value as usize) {
            *own = cost;
        }
    }
    Ok(GlobalKind::Max { costs })
}

pub(super) fn tree(p: P<'_, '_, '_>) -> Read {
    let n = p.scope.len() as u32;
    match p.sizes.iter().find(|&&size| size > n) {
        None => Ok(GlobalKind::Tree),
        Some(size) => Err(p.tokens.error_with(
            "values that are positions of the scope",
            format!("a variable has {size} values, the scope {n} variables"),
        )),
    }
}

/// Reads the numbers of a function of two variables.
fn of_two<const N: usize>(p: P<'_, '_, '_>) -> Result<[i64; N], Error> {
    if p.scope.len() != 2 {
        return Err(p.tokens.error_with("two variables", format!("the scope has {}", p.scope.len())));
    }
    if let Form::Cfn { decimals, maximise, .. } = p.form
        && (decimals > 0 || maximise)
    {
        return Err(p
            .tokens
            .error_with("a network of integers that minimises", "as the format asks for this function"));
    }
    let mut numbers = [0; N];
    for number in &mut numbers {
        *number = p.tokens.integer("a number")?;
        if number.abs() >= 1 << 60 {
            return Err(p.tokens.error("a number within ±2^60"));
        }
    }
    Ok(numbers)
}

pub(super) fn at_least(p: P<'_, '_, '_>) -> Read {
    let [shift, most] = of_two(p)?;
    Ok(GlobalKind::Arithmetic(Arithmetic::AtLeast { shift, most }))
}

pub(super) fn above(p: P<'_, '_, '_>) -> Read {
    let [shift, most] = of_two(p)?;
    Ok(GlobalKind::Arithmetic(Arithmetic::AtLeast { shift: shift + 1, most }))
}

pub(super) fn at_most(p: P<'_, '_, '_>) -> Read {
    let [shift, most] = of_two(p)?;
    Ok(GlobalKind::Arithmetic(Arithmetic::AtMost { shift, most }))
}

pub(super) fn below(p: P<'_, '_, '_>) -> Read {
    let [shift, most] = of_two(p)?;
    Ok(GlobalKind::Arithmetic(Arithmetic::AtMost { shift: shift - 1, most }))
}

pub(super) fn equal(p: P<'_, '_, '_>) -> Read {
    let [shift, most] = of_two(p)?;
    Ok(GlobalKind::Arithmetic(Arithmetic::Equal { shift, most }))
}

/// Returns a cost that stands among plain numbers; it is forbidden if it reaches the limit.
fn as_price(p: P<'_, '_, '_>, cost: i64) -> Result<Cost, Error> {
    match cost {
        ..0 => Err(p.tokens.error("a cost of at least 0")),
        _ => Ok(if cost >= p.form.limit() { FORBIDDEN } else { cost }),
    }
}

pub(super) fn disj(p: P<'_, '_, '_>) -> Read {
    let [after_x, after_y, cost] = of_two(p)?;
    Ok(GlobalKind::Arithmetic(Arithmetic::Apart { after_x, after_y, cost: as_price(p, cost)? }))
}

pub(super) fn sdisj(p: P<'_, '_, '_>) -> Read {
    let [after_x, after_y, x, y, cost_x, cost_y] = of_two(p)?;
    let costs = (as_price(p, cost_x)?, as_price(p, cost_y)?);
    Ok(GlobalKind::Arithmetic(Arithmetic::ApartUnless { after_x, after_y, most: (x, y), costs }))
}

fn nested(p: P<'_, '_, '_>, network: Network, [low, high]: [Cost; 2], flags: [i64; 2]) -> Read {
    if flags != [0, 0] {
        return Err(p.tokens.error_with("flags of 0 and 0", "others are not read"));
    }
    if network.domains() != p.sizes {
        let hint = format!("the network has domains of {:?}, the scope of {:?}", network.domains(), p.sizes);
        return Err(p.tokens.error_with("a network over the scope", hint));
    }
    Ok(GlobalKind::Nested { network: network.into(), low, high })
}

/// Normalises a bound on a nested network's cost: an infinite one becomes [`FORBIDDEN`], above any finite cost.
fn beyond(cost: Cost) -> Cost {
    add(cost, 0)
}

pub(super) fn wcsp(p: P<'_, '_, '_>) -> Read {
    let bounds = [p.tokens.integer("a lower bound")?, p.tokens.integer("an upper bound")?].map(beyond);
    let flags = [p.tokens.integer("a flag")?, p.tokens.integer("a flag")?];
    let (network, _) = (p.nested)(p.tokens)?;
    nested(p, network, bounds, flags)
}

pub(super) fn cfnconstraint(p: P<'_, '_, '_>) -> Read {
    p.tag("cfn")?;
    let (network, decimals) = (p.nested)(p.tokens)?;
    if network.units().maximise {
        return Err(p.tokens.error("a network that minimises"));
    }
    let form = match p.form {
        Form::Cfn { tagged, names, bound, .. } => Form::Cfn { tagged, decimals, maximise: false, names, bound },
        form => form,
    };
    p.tag("lb")?;
    let low = form.cost(p.tokens, "a cost")?;
    p.tag("ub")?;
    let high = form.cost(p.tokens, "a cost")?;
    let flags = [p.number("duplicatehard")?, p.number("strongduality")?];
    nested(p, network, [low, high], flags)
}
