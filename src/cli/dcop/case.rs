//! The problem of `fangs dcop`, and the names of its variables and functions.

use super::TreeChoice;
use fangs_base::Error;
use fangs_base::files::{self, LARGEST_TEXT};
use fangs_base::stop::Stop;
use fangs_base::terminal;
use fangs_bounds::reduce::Reducer;
use fangs_elimination::order::{Method, PseudoTree, TreeSize, best_order, restarts};
use fangs_model::model::{Agents, Network, Problem};
use std::collections::HashMap;
use std::sync::Arc;

/// A network in the form that elimination takes, with its agents and the names of its variables.
pub struct Case {
    pub network: Arc<Network>,
    pub agents: Agents,
    pub reducer: Reducer,
    pub problem: Arc<Problem>,
    /// The agent of each variable in the scope of some function.
    pub owner: Vec<u32>,
}

impl Case {
    pub fn new(network: Arc<Network>, stop: &Stop) -> Result<Case, Error> {
        let named = || Agents::of_variables((0..network.variables().len()).map(|v| network.variable_name(v)));
        let agents = network.agents().cloned().unwrap_or_else(named);
        if network.is_relaxed() {
            let what = "it has a sum with too many values for the tables that agents send";
            return Err(Error::Usage(format!("{}: {what}", network.name)));
        }
        // brings the network into the form that elimination takes; nothing is reduced
        let reducer = Reducer::new(&network, false, stop)?;
        let problem = Arc::new(reducer.fitting_problem(stop)?);
        let owner = reducer.variables().iter().map(|&v| agents.owner[v as usize]).collect();
        Ok(Case { network, agents, reducer, problem, owner })
    }

    /// Returns the values that the agents start with, if the file gives some.
    pub fn initial(&self) -> Vec<Option<u32>> {
        self.reducer.variables().iter().map(|&v| self.agents.initial[v as usize]).collect()
    }

    /// Returns the name of a variable of the problem.
    pub fn name(&self, variable: u32) -> String {
        self.network.variable_name(self.reducer.variables()[variable as usize] as usize)
    }

    /// Builds the pseudo-tree of a rule. Variables in no function are not part of it.
    pub fn tree(&self, choice: &TreeChoice, root: Option<&str>, stop: &Stop) -> Result<PseudoTree, Error> {
        let (problem, stop) = (&*self.problem, stop);
        let root =
            root.map(|name| self.variable(name).map_err(|what| Error::Usage(format!("--root: {what}")))).transpose()?;
        match choice {
            TreeChoice::DepthFirst(visit) => PseudoTree::depth_first(problem, *visit, root, stop),
            TreeChoice::Best => PseudoTree::best(problem, root, stop),
            TreeChoice::Order(method) => {
                let all = Method::ALL.map(|(_, method)| method);
                let methods = method.as_ref().map_or(&all[..], std::slice::from_ref);
                let order = best_order(problem, methods, 1, restarts(problem), stop);
                stop.check()?;
                PseudoTree::of_order(problem, &order, stop)
            }
            TreeChoice::File(path) => {
                let text = files::read_text(path, LARGEST_TEXT, stop)?;
                let prefixed = |message: String| Error::Usage(format!("{}: {message}", terminal::path(path)));
                let parents = self.parents(&text).map_err(prefixed)?;
                let name = |scope: &[u32]| self.function(scope);
                PseudoTree::of_parents(problem, parents, &name, stop).map_err(|error| match error {
                    Error::Usage(message) => prefixed(message),
                    other => other,
                })
            }
        }
    }

    /// Returns the variable of the problem with a name, or an error message.
    fn variable(&self, name: &str) -> Result<u32, String> {
        let place = |&(_, &v): &(usize, &u32)| self.network.variable_name(v as usize) == name;
        let found = self.reducer.variables().iter().enumerate().find(place);
        found
            .map(|(index, _)| index as u32)
            .ok_or_else(|| format!("no function reads a variable {}", name.escape_debug()))
    }

    /// Parses a tree: each line has a variable and its parent, or a root alone; `#` begins a comment.
    fn parents(&self, text: &str) -> Result<Vec<Option<u32>>, String> {
        let n = self.problem.variables();
        let places: HashMap<String, u32> = (0..n as u32).map(|v| (self.name(v), v)).collect();
        let mut parents = vec![None; n];
        let mut known = vec![false; n];
        for (number, line) in (1..).zip(text.lines()) {
            let words: Vec<&str> = line.split('#').next().unwrap_or("").split_whitespace().collect();
            let place = |word: &str| {
                let found = places.get(word).copied();
                found.ok_or_else(|| format!("line {number}: no function reads a variable {}", word.escape_debug()))
            };
            let (own, parent) = match words[..] {
                [] => continue,
                [own] => (place(own)?, None),
                [own, parent] => (place(own)?, Some(place(parent)?)),
                _ => return Err(format!("line {number}: {} words, expected a variable and its parent", words.len())),
            };
            if std::mem::replace(&mut known[own as usize], true) {
                return Err(format!("line {number}: {} is there already", self.name(own)));
            }
            parents[own as usize] = parent;
        }
        match known.iter().position(|known| !known) {
            Some(missing) => Err(format!("variable {} is missing", self.name(missing as u32))),
            None => Ok(parents),
        }
    }

    /// Describes the file's function with a scope, for messages.
    fn function(&self, scope: &[u32]) -> String {
        let own = self.reducer.variables();
        let mut wanted: Vec<u32> = scope.iter().map(|&v| own[v as usize]).collect();
        wanted.sort_unstable();
        let is_it = |function: &fangs_model::model::CostFunction| {
            let mut scope = function.scope.to_vec();
            scope.sort_unstable();
            scope == wanted
        };
        let names: Vec<String> = scope.iter().map(|&v| self.name(v)).collect();
        let place = self.network.functions().iter().position(is_it);
        match place.map(|place| (place, self.network.function_name(place))) {
            Some((_, Some(name))) => format!("function {name} ({})", names.join(", ")),
            Some((place, None)) => format!("function {place} ({})", names.join(", ")),
            None => names.join(", "),
        }
    }

    /// Returns the size of the tree, with each variable in no function counted as a root.
    pub fn size(&self, tree: &PseudoTree) -> TreeSize {
        let size = tree.size(&self.problem.domains);
        TreeSize { roots: size.roots + self.network.variables().len() - self.problem.variables(), ..size }
    }
}
