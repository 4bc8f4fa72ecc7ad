//! Networks as files.

use super::{Costs, Entry, Form, Function, Global, Network};
use crate::number::Decimal;
use std::fmt::{Display, Write};

/// Joins items with blanks.
fn words<T: Display>(items: impl IntoIterator<Item = T>) -> String {
    items.into_iter().map(|item| item.to_string()).collect::<Vec<_>>().join(" ")
}

impl Network {
    /// Returns the text of the network's file.
    pub fn text(&self) -> String {
        let mut text = String::new();
        let written = match self.form {
            Form::Wcsp => self.wcsp(&mut text),
            Form::Cfn { maximise, .. } => self.cfn(maximise, &mut text),
            Form::Uai | Form::Lg => self.uai(&mut text),
        };
        written.expect("text is written to memory");
        text
    }

    /// Returns the observations in the form of `--observe`.
    pub fn observations(&self) -> String {
        self.observed.iter().map(|(v, value)| format!("{v}={value}")).collect::<Vec<_>>().join(",")
    }

    fn wcsp(&self, text: &mut String) -> std::fmt::Result {
        let largest = self.domains.iter().max().unwrap_or(&1);
        let count = self.functions.len();
        writeln!(text, "campaign {} {largest} {count} {}", self.domains.len(), self.top)?;
        writeln!(text, "{}", words(&self.domains))?;
        for Function { scope, costs } in &self.functions {
            let head = words(std::iter::once(scope.len()).chain(scope.iter().copied()));
            let table = match costs {
                Costs::Table(table) => table,
                Costs::Global(global) => {
                    writeln!(text, "{head} -1 {}", keyword(global))?;
                    continue;
                }
            };
            let cost = |entry: &Entry| entry.map_or(self.top, |entry| entry.digits);
            // the first entry's cost is the default; entries with another cost are listed
            let default = table.first().map_or(0, cost);
            let listed: Vec<_> = table.iter().enumerate().filter(|(_, entry)| cost(entry) != default).collect();
            writeln!(text, "{head} {default} {}", listed.len())?;
            for (index, entry) in listed {
                writeln!(text, "{} {}", words(self.tuple(scope, index)), cost(entry))?;
            }
        }
        Ok(())
    }

    /// Returns the values of the variables at an index of a table.
    fn tuple(&self, scope: &[usize], mut index: usize) -> Vec<usize> {
        let mut values = vec![0; scope.len()];
        for (value, &v) in values.iter_mut().zip(scope).rev() {
            (*value, index) = (index % self.domains[v] as usize, index / self.domains[v] as usize);
        }
        values
    }

    fn cfn(&self, maximise: bool, text: &mut String) -> std::fmt::Result {
        let list = |items: Vec<String>| items.join(", ");
        let (sense, top) = (if maximise { '>' } else { '<' }, self.number(self.top));
        let domains = self.domains.iter().enumerate().map(|(v, domain)| format!("\"x{v}\": {domain}")).collect();
        writeln!(text, "{{ problem: {{ name: \"campaign\", mustbe: \"{sense}{top}\" }},")?;
        writeln!(text, "  variables: {{ {} }},\n  functions: {{", list(domains))?;
        let functions = self.functions.iter().enumerate().map(|(index, Function { scope, costs })| {
            let Costs::Table(table) = costs else { return String::new() };
            let costs = table.iter().map(|entry| match entry {
                None if maximise => "-inf".into(),
                None => "inf".into(),
                Some(entry) => self.number(entry.digits).to_string(),
            });
            let names = scope.iter().map(|v| format!("\"x{v}\"")).collect();
            format!("    f{index}: {{ scope: [{}], costs: [{}] }}", list(names), list(costs.collect()))
        });
        let functions: Vec<String> = functions.collect();
        writeln!(text, "{}\n  }} }}", functions.join(",\n"))
    }

    fn uai(&self, text: &mut String) -> std::fmt::Result {
        writeln!(text, "MARKOV\n{}\n{}\n{}", self.domains.len(), words(&self.domains), self.functions.len())?;
        for Function { scope, .. } in &self.functions {
            writeln!(text, "{}", words(std::iter::once(scope.len()).chain(scope.iter().copied())))?;
        }
        for Function { costs, .. } in &self.functions {
            let Costs::Table(table) = costs else { continue };
            let entry = |entry: &Entry| match (entry, self.form) {
                (None, Form::Lg) => "-inf".into(),
                (None, _) => "0".into(),
                (Some(Decimal { digits, exponent }), Form::Uai) => format!("{digits}e{exponent}"),
                (Some(entry), _) => entry.to_string(),
            };
            writeln!(text, "\n{}\n{}", table.len(), words(table.iter().map(entry)))?;
        }
        Ok(())
    }
}

fn keyword(global: &Global) -> String {
    match global {
        Global::Different { cost } => format!("salldiff var {cost}"),
        Global::Among { cost, range: (low, high), values } => {
            format!("samong var {cost} {low} {high} {} {}", values.len(), words(values))
        }
        Global::Knapsack { capacity, weights } => format!("knapsack {capacity} {}", words(weights)),
    }
}
