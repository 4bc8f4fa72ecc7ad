//! Reads pyDCOP's YAML (its documentation, "DCOP file format"; details that it omits follow the reader of version
//! 0.1.1).

mod domains;

use super::draft::{Draft, VALUES, number};
use super::python::{self, Meaning};
use super::yaml::{self, Kind, Node};
use crate::error::Error;
use crate::memory;
use crate::model::{Agents, Network};
use crate::options::ReadOptions;
use crate::text::{Text, Wrong, names, quote};
use crate::tokens::Tokens;
use domains::{Domain, Typed, domains};
use rustc_hash::{FxHashMap, FxHashSet};

/// Reads a problem from one file.
pub(crate) fn read(tokens: &mut Tokens<'_>, options: &ReadOptions) -> Result<Network, Error> {
    let text = tokens.text()?;
    read_parts(&[text], options, tokens)
}

/// Reads a problem from one or several texts, each of which has different sections; `tokens` collects the warnings.
pub(crate) fn read_parts(texts: &[Text], options: &ReadOptions, tokens: &mut Tokens<'_>) -> Result<Network, Error> {
    let mut parts: FxHashMap<String, (Node, &Text)> = FxHashMap::default();
    for text in texts {
        let document = yaml::parse(text)?;
        let pairs = document.map("a mapping of objective, domains, variables, constraints and agents");
        for (key, value) in pairs.map_err(|wrong| text.error(wrong))? {
            let name = key.scalar("a name").map_err(|wrong| text.error(wrong))?;
            if let Some((_, other)) = parts.insert(name.into(), (value.clone(), text)) {
                let hint = format!("{} has it, too", other.file);
                return Err(text.error(key.wrong("a part that no other file has").hint(hint)));
            }
        }
    }
    let first = &texts[0];
    let (draft, fixed, unread) = (Draft::new(false), FxHashMap::default(), FxHashSet::default());
    let mut reader = Reader { parts, draft, fixed, all: Vec::new(), unread, tokens };
    reader.objective(first)?;
    let typed = reader.variables(first)?;
    reader.constraints(&typed)?;
    let agents = reader.agents()?;
    let agents = Agents { initial: typed.initial, ..agents };
    reader.draft.build(&first.file, agents, options.precision, reader.tokens.stop())
}

const TOO_MUCH: &str = "functions of at most 10^8 combinations of values in all";

/// Information for expressions about the domains of variables: each domain by its name.
struct Types {
    domains: FxHashMap<String, Domain>,
    /// The name of the domain of each variable.
    of: Vec<String>,
    initial: Vec<Option<u32>>,
    costs: Vec<(u32, Node)>,
}

struct Reader<'t, 'a, 'b> {
    parts: FxHashMap<String, (Node, &'t Text)>,
    draft: Draft,
    /// The value and its label of each external variable, which is constant, by name.
    fixed: FxHashMap<String, (Typed, Box<str>)>,
    /// The names of all variables, for hints.
    all: Vec<Box<str>>,
    /// Unknown keys for which a warning was given.
    unread: FxHashSet<String>,
    tokens: &'b mut Tokens<'a>,
}

impl<'t> Reader<'t, '_, '_> {
    /// Returns a section of the problem and its text.
    fn part(&self, name: &str) -> Option<(Node, &'t Text)> {
        self.parts.get(name).cloned()
    }

    fn objective(&mut self, first: &Text) -> Result<(), Error> {
        let Some((node, text)) = self.part("objective") else {
            return Err(first.error(Wrong::new(0..0, "`objective: min` or `objective: max`").found("none")));
        };
        self.draft.maximise = match node.scalar("min or max").map_err(|wrong| text.error(wrong))? {
            "min" => false,
            "max" => true,
            _ => return Err(text.error(node.wrong("min or max"))),
        };
        Ok(())
    }

    fn variables(&mut self, first: &Text) -> Result<Types, Error> {
        let domains = match self.part("domains") {
            Some((node, text)) => domains(&node).map_err(|wrong| text.error(wrong))?,
            None => FxHashMap::default(),
        };
        let mut types = Types { domains, of: Vec::new(), initial: Vec::new(), costs: Vec::new() };
        if let Some((node, text)) = self.part("external_variables") {
            self.external(&node, &types, text).map_err(|wrong| text.error(wrong))?;
        }
        let Some((node, text)) = self.part("variables") else {
            return Err(first.error(Wrong::new(0..0, "`variables`").found("none")));
        };
        let mut noise = None;
        let pairs = node.map("a mapping of variables").map_err(|wrong| text.error(wrong))?;
        for pair in self.tokens.stop().each(pairs) {
            let (key, own) = pair?;
            self.variable(key, own, &mut types, text).map_err(|wrong| text.error(wrong))?;
            noise = noise.or(own.get("noise_level").map(|node| node.at.start));
        }
        self.all = self.draft.variables.iter().filter_map(|variable| variable.name.clone()).collect();
        self.all.extend(self.fixed.keys().map(|name| name.as_str().into()));
        if let Some(at) = noise {
            let place = text.place(at);
            self.tokens.warn(place, "noise_level is left out: costs are those of the functions".into());
        }
        for (variable, cost) in std::mem::take(&mut types.costs) {
            let name = format!("cost_{}", self.all[variable as usize]);
            self.intention(&name, &cost, Some(vec![variable]), &types, text).map_err(|wrong| wrong.of(text))?;
        }
        Ok(types)
    }

    /// Warns once about each unknown key, because pyDCOP ignores them. An unknown key that resembles a missing one is
    /// an error.
    fn warn_of_others(&mut self, own: &Node, known: &[&str], what: &str, text: &Text) -> Result<(), Wrong> {
        let absent: Vec<&str> = known.iter().copied().filter(|known| own.get(known).is_none()).collect();
        for key in own.other_keys(known, what)? {
            let name = key.scalar("a name")?;
            let (_, hint) = names(absent.iter().copied(), name);
            let known = known.join(", ");
            if hint.is_some() {
                return Err(key.wrong(format!("one of {known} in {what}")).hinted(hint));
            }
            if self.unread.insert(format!("{name} of {what}")) {
                let told = format!("{} of {what} is left unread, its keys are {known}", quote(name));
                self.tokens.warn(text.place(key.at.start), told);
            }
        }
        Ok(())
    }

    fn external(&mut self, node: &Node, types: &Types, text: &Text) -> Result<(), Wrong> {
        for (key, own) in node.map("a mapping of external variables")? {
            let name = key.scalar("a name")?;
            self.warn_of_others(own, &["domain", "initial_value"], "an external variable", text)?;
            let (_, domain) = domain_of(own, types)?;
            let place = domain.place(own.must_get("initial_value", "an external variable")?)?;
            let _ = self.fixed.insert(name.into(), (domain.values[place].clone(), domain.labels[place].clone()));
        }
        Ok(())
    }

    fn variable(&mut self, key: &Node, own: &Node, types: &mut Types, text: &Text) -> Result<(), Wrong> {
        let name = key.scalar("a name")?;
        let known = ["domain", "initial_value", "cost_function", "noise_level"];
        self.warn_of_others(own, &known, "a variable", text)?;
        let (domain_name, domain) = domain_of(own, types)?;
        if self.fixed.contains_key(name) {
            return Err(key.wrong("a name that no external variable has"));
        }
        let Some(variable) = self.draft.variable(name, domain.labels.clone().into()) else {
            return Err(key.wrong(format!("domains of at most {VALUES} values in all")));
        };
        let initial = own.get("initial_value").filter(|node| !node.is_empty());
        let initial = initial.map(|node| domain.place(node).map(|place| place as u32)).transpose()?;
        if let Some(cost) = own.get("cost_function") {
            types.costs.push((variable, cost.clone()));
        }
        types.of.push(domain_name);
        types.initial.push(initial);
        Ok(())
    }

    fn constraints(&mut self, types: &Types) -> Result<(), Error> {
        let Some((node, text)) = self.part("constraints") else { return Ok(()) };
        for (key, own) in node.map("a mapping of constraints").map_err(|wrong| text.error(wrong))? {
            self.tokens.stop().check()?;
            self.constraint(key, own, types, text).map_err(|wrong| wrong.of(text))?;
        }
        Ok(())
    }

    fn constraint(&mut self, key: &Node, own: &Node, types: &Types, text: &Text) -> Result<(), Trouble> {
        let name = key.scalar("a name")?;
        let kind = own.must_get("type", "the constraint")?;
        match kind.scalar("intention or extensional")? {
            "intention" => {
                self.warn_of_others(own, &["type", "function", "variables"], "a constraint by intention", text)?;
                let scope = match own.get("variables") {
                    Some(list) => Some(self.scope(list)?.0.into_iter().flatten().collect()),
                    None => None,
                };
                self.intention(name, own.must_get("function", "the constraint")?, scope, types, text)
            }
            "extensional" => {
                let known = ["type", "variables", "default", "values"];
                self.warn_of_others(own, &known, "an extensional constraint", text)?;
                self.extensional(name, own)
            }
            _ => Err(kind.wrong("intention or extensional").into()),
        }
    }

    /// Returns the variables of a list, with `None` for external ones, and the labels of the external variables'
    /// values.
    #[allow(clippy::type_complexity, reason = "two lists side by side, used once")]
    fn scope(&self, list: &Node) -> Result<(Vec<Option<u32>>, Vec<Option<&str>>), Wrong> {
        let (mut scope, mut fixed) = (Vec::new(), Vec::new());
        for node in list.items() {
            let name = node.scalar("the name of a variable")?.trim();
            let variable = self.draft.places.get(name).copied();
            let label = self.fixed.get(name).map(|(_, label)| &**label);
            if variable.is_none() && label.is_none() {
                let (_, hint) = names(self.all.iter().map(|name| &**name), name);
                return Err(node.wrong("the name of a variable").hinted(hint));
            }
            if variable.is_some() && scope.contains(&variable) {
                return Err(node.wrong("each variable once"));
            }
            scope.push(variable);
            fixed.push(label);
        }
        Ok((scope, fixed))
    }

    /// Tabulates an expression over the variables that it reads, or over those given.
    fn intention(
        &mut self,
        name: &str,
        node: &Node,
        scope: Option<Vec<u32>>,
        types: &Types,
        text: &Text,
    ) -> Result<(), Trouble> {
        let source = node.scalar("an expression")?;
        // a position in the expression translates to the file only if the file has the expression verbatim
        let placed = |wrong: Wrong| match node.verbatim(text) {
            Some(start) => Wrong { at: start + wrong.at.start..start + wrong.at.end, ..wrong },
            None => {
                let found = wrong.found.clone().unwrap_or_else(|| quoted(source, &wrong));
                Wrong { at: node.at.clone(), ..wrong }.found(found)
            }
        };
        let meaning = |name: &str| match (self.draft.places.get(name), self.fixed.get(name)) {
            (Some(&variable), _) => Some(Meaning::Variable(variable)),
            (None, Some((value, _))) => Some(Meaning::Fixed(value.value())),
            (None, None) => None,
        };
        let expression = python::parse(source, &meaning, &self.all).map_err(placed)?;
        let scope = scope.unwrap_or_else(|| expression.variables.clone());
        if let Some(&other) = expression.variables.iter().find(|variable| !scope.contains(variable)) {
            let name = self.draft.variables[other as usize].name.as_deref().unwrap_or_default();
            return Err(node.wrong("an expression over the constraint's variables").found(format!("`{name}`")).into());
        }
        let domains: Vec<&[Typed]> = scope.iter().map(|&v| &types.domains[&types.of[v as usize]].values[..]).collect();
        let Some(entries) = self.draft.room(&scope) else {
            return Err(node.wrong(TOO_MUCH).into());
        };
        let mut numbers = Vec::new();
        memory::reserve(&mut numbers, entries)?;
        let mut digits = vec![0usize; scope.len()];
        for entry in self.tokens.stop().each(0..entries) {
            let _ = entry?;
            let value = |variable: u32| {
                let place = scope.iter().position(|&v| v == variable).expect("the scope has what is read");
                domains[place][digits[place]].value()
            };
            let number = expression.number(&value).map_err(placed)?;
            self.draft.admits(number).map_err(|expected| node.wrong(expected).found(number.to_string()))?;
            numbers.push(number);
            for place in (0..digits.len()).rev() {
                digits[place] += 1;
                if digits[place] < domains[place].len() {
                    break;
                }
                digits[place] = 0;
            }
        }
        self.draft.dense(name, scope, numbers);
        Ok(())
    }

    fn extensional(&mut self, name: &str, own: &Node) -> Result<(), Trouble> {
        let (scope, fixed) = self.scope(own.must_get("variables", "the constraint")?)?;
        let fixed: Vec<Option<String>> = fixed.into_iter().map(|label| label.map(String::from)).collect();
        let cost = |node: &Node, draft: &Draft| {
            let found = number(node.scalar("a cost")?.trim());
            let found = found.ok_or_else(|| node.wrong("a cost"))?;
            draft.admits(found).map_err(|expected| node.wrong(expected)).map(|()| found)
        };
        let default = match own.get("default").filter(|node| !node.is_empty()) {
            Some(node) => cost(node, &self.draft)?,
            None => 0.0,
        };
        let kept: Vec<u32> = scope.iter().copied().flatten().collect();
        let (mut tuples, mut numbers) = (Vec::new(), Vec::new());
        for (key, list) in own.must_get("values", "the constraint")?.map("a mapping of costs to values")? {
            let cost = cost(key, &self.draft)?;
            self.tokens.stop().check()?;
            for tuple in list.scalar("values such as `R G | G R`")?.split('|') {
                let labels: Vec<&str> = tuple.split_whitespace().collect();
                if labels.len() != scope.len() {
                    let expected = format!("{} values between `|`, one for each variable", scope.len());
                    return Err(list.wrong(expected).found(quote(tuple.trim())).into());
                }
                if fixed.iter().zip(&labels).any(|(fixed, label)| fixed.as_deref().is_some_and(|fixed| fixed != *label))
                {
                    continue;
                }
                for (&variable, label) in scope.iter().zip(labels) {
                    let Some(variable) = variable else { continue };
                    tuples.push(self.draft.value(variable, label).ok_or_else(|| {
                        let name = self.draft.variables[variable as usize].name.as_deref().unwrap_or_default();
                        list.wrong(format!("a value of {name}")).found(quote(label))
                    })?);
                }
                numbers.push(cost);
            }
        }
        if !self.draft.has_room(numbers.len() as u64) {
            return Err(own.wrong(TOO_MUCH).into());
        }
        Ok(self.draft.listed(name, kept, default, tuples, numbers)?)
    }

    fn agents(&mut self) -> Result<Agents, Error> {
        let (mut agents, mut hosts) = (Vec::new(), Vec::new());
        if let Some((node, text)) = self.part("agents") {
            let keys = match &node.kind {
                Kind::Map(pairs) => pairs.iter().map(|(key, _)| key.clone()).collect(),
                _ => node.items().to_vec(),
            };
            for key in keys {
                agents.push(key.scalar("the name of an agent").map_err(|wrong| text.error(wrong))?.into());
            }
        }
        let hints = self.part("distribution_hints");
        let must = hints.as_ref().and_then(|(node, text)| Some((node.get("must_host")?, *text)));
        let mut given = vec![None; self.draft.variables.len()];
        if let Some((node, text)) = must {
            self.must_host(node, &agents, &mut given, &mut hosts).map_err(|wrong| text.error(wrong))?;
        }
        let variables = self.draft.variables.iter().map(|variable| variable.name.clone().unwrap_or_default());
        Ok(Agents { hosts, ..Agents::complete(agents, given, &variables.collect::<Vec<_>>()) })
    }

    /// Reads which agent hosts which variable; hosted functions are ignored because functions belong to their
    /// variables.
    fn must_host(
        &self,
        node: &Node,
        agents: &[Box<str>],
        given: &mut [Option<u32>],
        hosts: &mut Vec<(u32, u32)>,
    ) -> Result<(), Wrong> {
        let constraints = self.part("constraints");
        for (key, list) in node.map("a mapping of agents to what they host")? {
            let name = key.scalar("the name of an agent")?;
            let Some(agent) = agents.iter().position(|known| **known == *name) else {
                let (_, hint) = names(agents.iter().map(|name| &**name), name);
                return Err(key.wrong("the name of an agent").hinted(hint));
            };
            for hosted in list.items() {
                let name = hosted.scalar("the name of a variable or a constraint")?;
                match self.draft.places.get(name) {
                    Some(&variable) if given[variable as usize].is_some() => {
                        return Err(hosted.wrong("a variable that no other agent hosts"));
                    }
                    Some(&variable) => {
                        given[variable as usize] = Some(agent as u32);
                        hosts.push((agent as u32, variable));
                    }
                    None if constraints.as_ref().is_some_and(|(node, _)| node.get(name).is_some()) => {}
                    None => return Err(hosted.wrong("the name of a variable or a constraint")),
                }
            }
        }
        Ok(())
    }
}

/// An error at a position of the file, or another error.
enum Trouble {
    Wrong(Wrong),
    Error(Error),
}

impl From<Wrong> for Trouble {
    fn from(wrong: Wrong) -> Self {
        Trouble::Wrong(wrong)
    }
}

impl From<Error> for Trouble {
    fn from(error: Error) -> Self {
        Trouble::Error(error)
    }
}

impl Trouble {
    fn of(self, text: &Text) -> Error {
        match self {
            Trouble::Wrong(wrong) => text.error(wrong),
            Trouble::Error(error) => error,
        }
    }
}

fn quoted(source: &str, wrong: &Wrong) -> String {
    match source.get(wrong.at.clone()).filter(|part| !part.is_empty()) {
        Some(part) => quote(part),
        None => "the end of the expression".into(),
    }
}

fn domain_of<'t>(own: &Node, types: &'t Types) -> Result<(String, &'t Domain), Wrong> {
    let node = own.must_get("domain", "the variable")?;
    let name = node.scalar("the name of a domain")?;
    match types.domains.get(name) {
        Some(domain) => Ok((name.into(), domain)),
        None => {
            let (_, hint) = names(types.domains.keys().map(String::as_str), name);
            Err(node.wrong("the name of a domain").hinted(hint))
        }
    }
}
