//! The agents of a distributed problem.

/// Who owns which variable, as the files of distributed problems say. An agent knows its variables and the functions
/// that read them, and nothing else.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Agents {
    /// Their names; an agent may own several variables, or none.
    pub names: Vec<Box<str>>,
    /// The owner of each variable, an index into `names`.
    pub owner: Vec<u32>,
    /// The variables that the file itself puts on an agent, as pairs of agent and variable; `owner` follows them.
    pub hosts: Vec<(u32, u32)>,
    /// The value that each variable starts with, where the file says so.
    pub initial: Vec<Option<u32>>,
}

impl Agents {
    /// An agent for each variable, of its name.
    pub fn of_variables(names: impl Iterator<Item = String>) -> Self {
        let names: Vec<Box<str>> = names.map(String::into_boxed_str).collect();
        let owner = (0..names.len() as u32).collect();
        Agents { owner, initial: vec![None; names.len()], hosts: Vec::new(), names }
    }

    /// Gives each variable without an owner to the first agent that owns none, in their order; where none is left, to a
    /// new agent of the variable's name.
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
