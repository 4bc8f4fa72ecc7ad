//! Writes pyDCOP's YAML.

use crate::model::{Cost, CostFunction, FORBIDDEN, Network};
use crate::writing::as_tables;
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::BTreeMap;
use std::io::{self, ErrorKind, Write};

/// The maximum number of combinations of values of a function that is written.
const ENTRIES: u64 = 100_000_000;

/// The number of units below which costs have at most 15 digits, which doubles distinguish.
const EXACT: u64 = 1_000_000_000_000_000;

/// Writes a network as a distributed problem. Without agents in the network, each variable gets an agent of the same
/// name.
///
/// # Errors
/// Returns errors of writing to `out`, and [`ErrorKind::InvalidInput`] for names of values with blanks, which separate
/// values, and for a limit that sums of costs may reach, which the format cannot express.
pub(crate) fn write(network: &Network, out: &mut dyn Write) -> io::Result<()> {
    let refused = |what: String| io::Error::new(ErrorKind::InvalidInput, what);
    let network = as_tables(network)?;
    let highest = highest(network);
    if network.top() < FORBIDDEN && i128::from(network.top()) <= highest {
        let what = format!(
            "sums of costs may reach {}, the cost of what is forbidden: .yaml has no such limit",
            network.top()
        );
        return Err(refused(what));
    }
    let any = |is: &dyn Fn(Cost) -> bool| network.functions().iter().any(|function| function.table.costs().any(is));
    if any(&|cost| (network.top()..FORBIDDEN).contains(&cost)) && any(&|cost| cost < 0) {
        return Err(refused("costs that reach the limit on totals unless negative ones make up for them".into()));
    }
    let large = |cost: Cost| cost < FORBIDDEN && cost.unsigned_abs() >= EXACT;
    if any(&large) {
        return Err(refused("costs of more than 15 digits: numbers of .yaml are doubles".into()));
    }
    writeln!(out, "name: {}", text(&network.name))?;
    writeln!(out, "objective: {}", if network.units().maximise { "max" } else { "min" })?;
    let names: Vec<String> = (0..network.variables().len()).map(|v| network.variable_name(v)).collect();
    if let Some(twice) = repeated(&names) {
        return Err(refused(format!("two variables are called {twice}")));
    }
    let values =
        |variable: usize| (0..network.domains()[variable]).map(move |value| network.value_name(variable, value));
    // one domain for each distinct list of values
    let mut domains: FxHashMap<Vec<String>, usize> = FxHashMap::default();
    writeln!(out, "domains:")?;
    let mut domain_of = Vec::new();
    for variable in 0..names.len() {
        let own: Vec<String> = values(variable).collect();
        if let Some(wrong) =
            own.iter().find(|name| name.is_empty() || name.contains(|c: char| c.is_whitespace() || c == '|'))
        {
            return Err(refused(format!("the name {wrong:?} of a value has a blank or `|`, which separate values")));
        }
        let next = domains.len();
        let number = *domains.entry(own).or_insert(next);
        if number == next {
            let list: Vec<String> = values(variable).map(|name| text(&name)).collect();
            writeln!(out, "  d{number}:\n    values: [{}]", list.join(", "))?;
        }
        domain_of.push(number);
    }
    writeln!(out, "variables:")?;
    for (variable, (name, domain)) in names.iter().zip(domain_of).enumerate() {
        writeln!(out, "  {}:\n    domain: d{domain}", text(name))?;
        if let Some(Some(value)) = network.agents().map(|agents| agents.initial[variable]) {
            writeln!(out, "    initial_value: {}", text(&network.value_name(variable, value)))?;
        }
    }
    if !network.functions().is_empty() {
        writeln!(out, "constraints:")?;
    }
    let mut known = FxHashSet::default();
    for (index, function) in network.functions().iter().enumerate() {
        let own = network.function_name(index).map(String::from);
        let name = own.filter(|name| known.insert(name.clone())).unwrap_or_else(|| {
            let mut name = format!("c{index}");
            while !known.insert(name.clone()) {
                name.push('_');
            }
            name
        });
        writeln!(out, "  {}:", text(&name))?;
        constraint(network, function, &names, out)?;
    }
    agents(network, &names, out)
}

fn constraint(network: &Network, function: &CostFunction, names: &[String], out: &mut dyn Write) -> io::Result<()> {
    let domains = network.domains();
    let number = |cost: Cost| match (cost < network.top(), network.units().maximise) {
        (true, _) => network.units().number(cost).to_string(),
        (false, false) => ".inf".to_string(),
        (false, true) => "-.inf".to_string(),
    };
    if function.scope.is_empty() {
        let cost = function.entries(domains).next().unwrap_or(0);
        if cost >= network.top() {
            return Err(io::Error::new(ErrorKind::InvalidInput, "a constant that forbids everything"));
        }
        return writeln!(out, "    type: intention\n    function: {}", number(cost));
    }
    if function.combinations(domains) > ENTRIES {
        let what = format!("a function of more than {ENTRIES} combinations of values");
        return Err(io::Error::new(ErrorKind::InvalidInput, what));
    }
    // tuples by cost; the most frequent cost is the default
    let mut tuples: BTreeMap<Cost, Vec<usize>> = BTreeMap::new();
    for (index, cost) in function.entries(domains).enumerate() {
        // costs that reach the limit share one key
        tuples.entry(if cost < network.top() { cost } else { FORBIDDEN }).or_default().push(index);
    }
    let default = tuples.iter().max_by_key(|(_, list)| list.len()).map(|(&cost, _)| cost).unwrap_or(0);
    let scope: Vec<String> = function.scope.iter().map(|&v| text(&names[v as usize])).collect();
    writeln!(out, "    type: extensional\n    variables: [{}]", scope.join(", "))?;
    writeln!(out, "    default: {}", number(default))?;
    let others: Vec<_> = tuples.iter().filter(|(cost, _)| **cost != default).collect();
    writeln!(out, "    values:{}", if others.is_empty() { " {}" } else { "" })?;
    for (&cost, list) in others {
        let tuple = |&index: &usize| {
            let mut rest = index;
            let mut labels: Vec<String> = Vec::new();
            for &v in function.scope.iter().rev() {
                let size = domains[v as usize] as usize;
                labels.push(network.value_name(v as usize, (rest % size) as u32));
                rest /= size;
            }
            labels.reverse();
            labels.join(" ")
        };
        let list: Vec<String> = list.iter().map(tuple).collect();
        writeln!(out, "      {}: {}", number(cost), quoted(&list.join(" | ")))?;
    }
    Ok(())
}

fn agents(network: &Network, names: &[String], out: &mut dyn Write) -> io::Result<()> {
    let Some(agents) = network.agents() else {
        writeln!(out, "agents:{}", if names.is_empty() { " []" } else { "" })?;
        return names.iter().try_for_each(|name| writeln!(out, "  - {}", text(name)));
    };
    writeln!(out, "agents:{}", if agents.names.is_empty() { " []" } else { "" })?;
    agents.names.iter().try_for_each(|name| writeln!(out, "  - {}", text(name)))?;
    if names.is_empty() {
        return Ok(());
    }
    writeln!(out, "distribution_hints:\n  must_host:")?;
    for (agent, name) in agents.names.iter().enumerate() {
        let owned = (0..names.len()).filter(|&v| agents.owner[v] as usize == agent);
        let owned: Vec<String> = owned.map(|v| text(&names[v])).collect();
        if !owned.is_empty() {
            writeln!(out, "    {}: [{}]", text(name), owned.join(", "))?;
        }
    }
    Ok(())
}

/// Returns an upper bound on all finite sums of costs.
fn highest(network: &Network) -> i128 {
    let top = network.top();
    let largest = |function: &CostFunction| {
        let costs = function.table.costs().filter(|&cost| cost < top);
        i128::from(costs.max().unwrap_or(0).max(0))
    };
    network.functions().iter().map(largest).sum()
}

fn repeated(names: &[String]) -> Option<&String> {
    let mut known = FxHashSet::default();
    names.iter().find(|name| !known.insert(*name))
}

/// Returns a name or value as a YAML scalar, without quotes if it cannot be read as something else.
fn text(name: &str) -> String {
    let words = ["true", "false", "yes", "no", "on", "off", "null", "y", "n", "inf", "nan"];
    let is_word = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-' || c == '.');
    let is_number = super::draft::number(name).is_some() && !name.starts_with(['.', '+']);
    if (is_word && !words.iter().any(|word| name.eq_ignore_ascii_case(word))) || is_number {
        return name.into();
    }
    quoted(name)
}

/// Quotes a text; the escapes of JSON are valid in YAML.
fn quoted(name: &str) -> String {
    serde_json::to_string(name).expect("a text")
}
