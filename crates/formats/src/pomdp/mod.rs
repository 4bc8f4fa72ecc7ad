//! The formats `.POMDP` (Cassandra) and `.dpomdp` (the MADP toolbox). Both have one grammar, in which `agents:` makes
//! actions and observations joint ones.
//!
//! The preamble (`discount values states actions observations agents start`) is followed by lines `T:`, `O:` and `R:`,
//! each of which states an entry, a row or a matrix. Later lines override earlier ones. Fields are names or numbers,
//! and `*` means all.

mod rewards;
mod select;
mod table;
#[cfg(test)]
mod tests;
mod words;

use super::input::{Source, read_text};
use crate::error::{Error, Warning};
use crate::memory;
use crate::model::{Agent, Pomdp};
use crate::stop::Stop;
use rewards::{Amount, Reward, expected};
use select::select;
use table::{Given, ROUNDED, Table, sums_to};
use words::{Word, Words};

/// The maximum number of states, of joint actions, or of joint observations.
const MOST: usize = 1 << 20;
/// Words that stand for the numbers of a row or a matrix.
const WORDS: [&str; 3] = ["uniform", "identity", "reset"];

/// Reads a POMDP of one or several agents; the file extension does not matter.
///
/// # Errors
/// Returns an error if the file cannot be read or parsed, with line and column, and [`Error::Stopped`] if `stop` is
/// set.
pub fn read_pomdp(source: &Source, stop: &Stop) -> Result<(Pomdp, Vec<Warning>), Error> {
    let text = read_text(source, stop)?;
    parse_pomdp(&String::from_utf8_lossy(&text), &source.to_string(), stop)
}

/// Parses a POMDP from a text; `name` names it in messages.
///
/// # Errors
/// Returns an error if the text cannot be parsed, with line and column, and [`Error::Stopped`] if `stop` is set.
pub fn parse_pomdp(text: &str, name: &str, stop: &Stop) -> Result<(Pomdp, Vec<Warning>), Error> {
    let words = Words::new(text, name);
    let mut reader = Reader {
        words,
        stop,
        agents: Vec::new(),
        several: false,
        discount: None,
        cost: false,
        states: Vec::new(),
        actions: Vec::new(),
        observations: Vec::new(),
        start: None,
    };
    reader.preamble()?;
    reader.body(name)
}

/// The preamble while it is read.
struct Reader<'a> {
    words: Words<'a>,
    stop: &'a Stop,
    agents: Vec<String>,
    several: bool,
    discount: Option<f64>,
    cost: bool,
    states: Vec<String>,
    /// The actions of each agent.
    actions: Vec<Vec<String>>,
    observations: Vec<Vec<String>>,
    start: Option<Vec<f64>>,
}

impl<'a> Reader<'a> {
    fn preamble(&mut self) -> Result<(), Error> {
        while let Some(word) = self.words.peek(0) {
            if matches!(word.text, "T" | "O" | "R") && self.words.is(1, ":") {
                break;
            }
            let _ = self.words.take();
            match word.text {
                "start" => {
                    let start = self.start()?;
                    self.start = Some(start);
                    continue;
                }
                "discount" | "values" | "states" | "actions" | "observations" | "agents" => self.words.colon()?,
                _ => {
                    let expected = "discount, values, states, actions, observations, agents, start, T, O or R";
                    return Err(self.words.error(Some(word), expected, None));
                }
            }
            match word.text {
                "discount" => {
                    let place = self.words.peek(0);
                    let discount = self.words.number("a discount")?;
                    if !(0.0..=1.0).contains(&discount) {
                        return Err(self.words.error(place, "a discount from 0 to 1", None));
                    }
                    self.discount = Some(discount);
                }
                "values" => {
                    let kind = self.words.expect("reward or cost")?;
                    self.cost = match kind.text {
                        "reward" | "rewards" => false,
                        "cost" | "costs" => true,
                        _ => return Err(self.words.error(Some(kind), "reward or cost", None)),
                    };
                }
                "agents" => {
                    self.agents = self.list("an agent")?;
                    self.several = true;
                }
                "states" => self.states = self.list("a state")?,
                "actions" => self.actions = self.lists("an action")?,
                _ => self.observations = self.lists("an observation")?,
            }
        }
        for (known, what) in [
            (self.states.is_empty(), "states"),
            (self.actions.is_empty(), "actions"),
            (self.observations.is_empty(), "observations"),
        ] {
            if known {
                return Err(self.words.error(self.words.peek(0), format!("`{what}:` before it"), None));
            }
        }
        Ok(())
    }

    /// Reads a list of names up to the next keyword, or their number.
    fn list(&mut self, what: &str) -> Result<Vec<String>, Error> {
        let mut words = Vec::new();
        while let Some(word) = self.words.peek(0) {
            let starts = word.text == "start" && (self.words.is(1, "include") || self.words.is(1, "exclude"));
            if self.words.is(1, ":") || starts {
                break;
            }
            words.extend(self.words.take());
        }
        self.names(&words, what)
    }

    /// Reads a list for each agent, one in each line; for a single agent it is a [`list`](Self::list).
    fn lists(&mut self, what: &str) -> Result<Vec<Vec<String>>, Error> {
        if !self.several {
            return Ok(vec![self.list(what)?]);
        }
        let mut lists = Vec::new();
        let mut joint = 1usize;
        for _ in 0..self.agents.len() {
            let first = self.words.expect(what)?;
            let mut words = vec![first];
            while self.words.peek(0).is_some_and(|word| word.line == first.line) {
                words.extend(self.words.take());
            }
            let names = self.names(&words, what)?;
            joint = joint.saturating_mul(names.len());
            if joint > MOST {
                return Err(self.words.error(Some(first), format!("at most {MOST} joint ones"), None));
            }
            lists.push(names);
        }
        Ok(lists)
    }

    /// Returns the names, or numbers as names if only their count is given.
    fn names(&self, words: &[Word<'a>], what: &str) -> Result<Vec<String>, Error> {
        let [first, ..] = words else { return Err(self.words.error(self.words.peek(0), what, None)) };
        if let ([count], true) = (words, first.is_number()) {
            return match count.text.parse::<usize>() {
                Ok(count @ 1..=MOST) => Ok((0..count).map(|number| number.to_string()).collect()),
                _ => Err(self.words.error(Some(*count), format!("a number from 1 to {MOST}, or names"), None)),
            };
        }
        let mut known = rustc_hash::FxHashSet::default();
        for word in words {
            if word.is_number() || word.text == "*" || WORDS.contains(&word.text) {
                return Err(self.words.error(Some(*word), format!("the name of {what}"), None));
            }
            if !known.insert(word.text) {
                return Err(self.words.error(Some(*word), "a name that is not listed yet", None));
            }
        }
        if words.len() > MOST {
            return Err(self.words.error(Some(*first), format!("at most {MOST} names"), None));
        }
        Ok(words.iter().map(|word| word.text.to_string()).collect())
    }

    /// Reads the initial distribution.
    fn start(&mut self) -> Result<Vec<f64>, Error> {
        if self.states.is_empty() {
            return Err(self.words.error(self.words.peek(0), "`states:` before `start`", None));
        }
        let n = self.states.len();
        if let Some(how @ ("include" | "exclude")) = self.words.peek(0).map(|word| word.text) {
            let _ = self.words.take();
            self.words.colon()?;
            let mut chosen = self.listed_states()?;
            if how == "exclude" {
                chosen.iter_mut().for_each(|chosen| *chosen = !*chosen);
            }
            return self.uniform_over(&chosen);
        }
        self.words.colon()?;
        let word = self.words.peek(0);
        // names are states; a single number is a state too, unless there is just one state
        let is_list =
            word.is_some_and(|word| !WORDS.contains(&word.text) && (!word.is_number() || n > 1 && self.listed() == 1));
        if is_list {
            let chosen = self.listed_states()?;
            return self.uniform_over(&chosen);
        }
        match self.given(n, false)? {
            Given::Uniform => Ok(vec![1.0 / n as f64; n]),
            Given::Numbers(numbers, place) => {
                let sum: f64 = numbers.iter().sum();
                if (sum - 1.0).abs() > ROUNDED.1 {
                    return Err(self.words.error(Some(place), "probabilities that sum to 1", Some(sums_to(sum))));
                }
                Ok(numbers)
            }
            Given::Identity | Given::Reset => Err(self.words.error(word, "uniform, a state or probabilities", None)),
        }
    }

    /// Returns the number of words before the next keyword, counting at most two.
    fn listed(&self) -> usize {
        let is_one = |ahead: usize| {
            let includes = self.words.is(ahead + 1, "include") || self.words.is(ahead + 1, "exclude");
            let starts = includes && self.words.is(ahead, "start");
            self.words.peek(ahead).is_some() && !self.words.is(ahead + 1, ":") && !starts
        };
        (0..2).take_while(|&ahead| is_one(ahead)).count()
    }

    /// Consumes states up to the next keyword. Returns for each state whether it is listed.
    fn listed_states(&mut self) -> Result<Vec<bool>, Error> {
        let mut chosen = vec![false; self.states.len()];
        while self.listed() > 0 {
            for state in self.selection(0, "a state")? {
                chosen[state] = true;
            }
        }
        Ok(chosen)
    }

    /// Returns the uniform distribution over the chosen states.
    fn uniform_over(&self, chosen: &[bool]) -> Result<Vec<f64>, Error> {
        let count = chosen.iter().filter(|&&chosen| chosen).count();
        if count == 0 {
            return Err(self.words.error(self.words.peek(0), "a state that the process may start in", None));
        }
        Ok(chosen.iter().map(|&chosen| if chosen { 1.0 / count as f64 } else { 0.0 }).collect())
    }

    /// Consumes `count` numbers, or a word that stands for them.
    fn given(&mut self, count: usize, square: bool) -> Result<Given<'a>, Error> {
        let Some(first) = self.words.peek(0) else {
            return Err(self.words.error(None, "uniform or probabilities", None));
        };
        let word = match first.text {
            "uniform" => Some(Given::Uniform),
            "identity" if square => Some(Given::Identity),
            "reset" => Some(Given::Reset),
            _ => None,
        };
        if let Some(word) = word {
            let _ = self.words.take();
            return Ok(word);
        }
        let mut numbers = Vec::new();
        for place in 0..count {
            if place % 1024 == 0 {
                self.stop.check()?;
            }
            numbers.push(self.probability()?);
        }
        Ok(Given::Numbers(numbers, first))
    }

    fn probability(&mut self) -> Result<f64, Error> {
        let place = self.words.peek(0);
        let number = self.words.number("a probability")?;
        // sums of rows are checked at the end, because later lines may change them
        if number >= 0.0 { Ok(number) } else { Err(self.words.error(place, "a probability of at least 0", None)) }
    }

    /// Consumes a colon, and returns whether another field follows: in files of several agents a colon may precede
    /// numbers too.
    fn field(&mut self, words: usize) -> bool {
        if !self.words.takes_colon() {
            return false;
        }
        if !self.several {
            return true;
        }
        let Some(first) = self.words.peek(0) else { return true };
        !WORDS.contains(&first.text) && (!first.is_number() || self.words.is(words, ":"))
    }

    /// Returns the indices of states (list 0), joint actions (1) or joint observations (2) that a field selects.
    fn selection(&mut self, list: usize, what: &str) -> Result<Vec<usize>, Error> {
        let states = [std::mem::take(&mut self.states)];
        let lists: &[Vec<String>] = match list {
            0 => &states,
            1 => &self.actions,
            _ => &self.observations,
        };
        let chosen = select(&mut self.words, lists, what);
        let [states] = states;
        self.states = states;
        chosen
    }

    fn body(mut self, name: &str) -> Result<(Pomdp, Vec<Warning>), Error> {
        let n = self.states.len();
        let joint = |lists: &[Vec<String>]| lists.iter().map(Vec::len).product::<usize>();
        let (actions, observed) = (joint(&self.actions), joint(&self.observations));
        let rows = (actions as u64).saturating_mul(n as u64);
        memory::must_fit(rows.saturating_mul(96), || format!("{actions} actions in {n} states"))?;
        let start = self.start.clone();
        let uniform = || vec![1.0 / n as f64; n];
        let mut start = start.unwrap_or_else(uniform);
        let mut transitions = Table::new(actions, n, n);
        let mut seen = Table::new(actions, n, observed);
        let mut rewards: Vec<Reward> = Vec::new();
        while let Some(word) = self.words.take() {
            self.stop.check()?;
            match word.text {
                "start" => {
                    start = self.start()?;
                    continue;
                }
                "T" | "O" | "R" => self.words.colon()?,
                _ => return Err(self.words.error(Some(word), "T:, O: or R:", None)),
            }
            let chosen = self.selection(1, "an action")?;
            match word.text {
                "T" => self.probabilities(&mut transitions, &chosen, &start, 0)?,
                "O" => self.probabilities(&mut seen, &chosen, &start, 2)?,
                _ => {
                    let reward = self.reward(chosen, n, observed)?;
                    rewards.push(reward);
                }
            }
        }
        let mut warnings = Vec::new();
        let transitions = transitions.finish(&self.words, &self.states, "transition", &mut warnings)?;
        let seen = seen.finish(&self.words, &self.states, "observation", &mut warnings)?;
        let sign = if self.cost { -1.0 } else { 1.0 };
        let mut folded = Vec::new();
        for action in 0..actions {
            self.stop.check()?;
            let own = expected(action, &rewards, &transitions[action], &seen[action], observed);
            folded.push(own.into_iter().map(|reward| sign * reward).collect());
        }
        let unnamed = || vec![String::new()];
        let names = if self.several { self.agents } else { unnamed() };
        let own = names.into_iter().zip(self.actions).zip(self.observations);
        let agents = own.map(|((name, actions), observations)| Agent { name, actions, observations }).collect();
        let discount = self.discount.unwrap_or(1.0);
        let pomdp = Pomdp {
            name: name.into(),
            states: self.states,
            agents,
            discount,
            start,
            transitions,
            observations: seen,
            rewards: folded,
        };
        Ok((pomdp, warnings))
    }

    /// Reads the rest of a line `T:` or `O:`; `list` determines what its columns are.
    fn probabilities(&mut self, table: &mut Table, actions: &[usize], start: &[f64], list: usize) -> Result<(), Error> {
        let (rows, columns) = (table.rows, table.columns);
        let all: Vec<usize> = (0..rows).collect();
        if !self.field(1) {
            let given = self.given(rows * columns, list == 0)?;
            return table.set(&self.words, actions, &all, given, start);
        }
        let chosen = self.selection(0, "a state")?;
        let (width, what) = if list == 0 { (1, "a state") } else { (self.observations.len(), "an observation") };
        if !self.field(width) {
            let given = match self.given(columns, false)? {
                Given::Numbers(row, place) if chosen.len() > 1 => Given::Numbers(row.repeat(chosen.len()), place),
                given => given,
            };
            return table.set(&self.words, actions, &chosen, given, start);
        }
        let into = self.selection(list, what)?;
        let _ = self.words.takes_colon();
        let number = self.probability()?;
        for &action in actions {
            for &row in &chosen {
                into.iter().for_each(|&column| table.put(action, row, column, number));
            }
        }
        Ok(())
    }

    /// Reads the rest of a line `R:`.
    fn reward(&mut self, actions: Vec<usize>, n: usize, observed: usize) -> Result<Reward, Error> {
        let all = |chosen: Vec<usize>| (chosen.len() == 1 || n == 1).then(|| chosen[0]);
        if !self.field(1) {
            return Err(self.words.error(self.words.peek(0), "a colon and a state", None));
        }
        let state = all(self.selection(0, "a state")?);
        let mut reward = Reward { actions, state, next: None, seen: None, amount: Amount::One(0.0) };
        if !self.field(1) {
            reward.amount = Amount::Matrix(self.numbers(n * observed)?);
            return Ok(reward);
        }
        reward.next = all(self.selection(0, "a state")?);
        if !self.field(self.observations.len()) {
            reward.amount = Amount::Row(self.numbers(observed)?);
            return Ok(reward);
        }
        let chosen = self.selection(2, "an observation")?;
        reward.seen = (chosen.len() < observed).then_some(chosen);
        let _ = self.words.takes_colon();
        reward.amount = Amount::One(self.words.number("a reward")?);
        Ok(reward)
    }

    fn numbers(&mut self, count: usize) -> Result<Vec<f64>, Error> {
        let mut numbers = Vec::new();
        for place in 0..count {
            if place % 1024 == 0 {
                self.stop.check()?;
            }
            numbers.push(self.words.number("a reward")?);
        }
        Ok(numbers)
    }
}
