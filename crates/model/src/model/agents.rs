//! The agents of a distributed problem.

/// The agents of a distributed problem and the variables that each owns. An agent knows its variables and the functions
/// that read them, and nothing else.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Agents {
    /// Names of the agents; an agent may own several variables, or none.
    pub names: Vec<Box<str>>,
    /// The owner of each variable, an index into `names`.
    pub owner: Vec<u32>,
    /// Pairs of agent and variable for the variables that the file assigns to an agent; `owner` agrees with them.
    pub hosts: Vec<(u32, u32)>,
    /// The initial value of each variable, if the file states one.
    pub initial: Vec<Option<u32>>,
}

impl Agents {
    /// Makes an agent for each variable, with the variable's name.
    pub fn of_variables(names: impl Iterator<Item = String>) -> Self {
        let names: Vec<Box<str>> = names.map(String::into_boxed_str).collect();
        let owner = (0..names.len() as u32).collect();
        Agents { owner, initial: vec![None; names.len()], hosts: Vec::new(), names }
    }

    /// Gives each variable without an owner to the first agent that owns none, in order. When no such agent is left, a
    /// new agent with the variable's name becomes the owner.
    pub fn complete(names: Vec<Box<str>>, given: Vec<Option<u32>>, variables: &[Box<str>]) -> Self {
        let mut agents = Agents { names, owner: Vec::new(), hosts: Vec::new(), initial: vec![None; given.len()] };
        let mut taken = vec![false; agents.names.len()];
        given.iter().flatten().for_each(|&agent| taken[agent as usize] = true);
        let mut free = (0..).zip(taken).filter(|(_, taken)| !taken).map(|(agent, _)| agent);
        for (owner, name) in given.into_iter().zip(variables) {
            let owner = owner.or_else(|| free.next()).unwrap_or_else(|| {
                agents.names.push(name.clone());
                agents.names.len() as u32 - 1
            });
            agents.owner.push(owner);
        }
        agents
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_without_an_owner_get_one() {
        let names = |names: &[&str]| names.iter().map(|&name| name.into()).collect::<Vec<Box<str>>>();
        let variables = names(&["a", "b", "c", "d"]);
        let agents = Agents::complete(names(&["p", "q"]), vec![None, Some(0), None, Some(0)], &variables);
        assert_eq!((agents.owner, agents.names), (vec![1, 0, 2, 0], names(&["p", "q", "c"])));
        let agents = Agents::of_variables(["x".to_string(), "y".into()].into_iter());
        assert_eq!((agents.owner, agents.names), (vec![0, 1], names(&["x", "y"])));
    }
}
