//! The `.idid` format: an interactive dynamic influence diagram in TOML, whose frames are `.POMDP` and `.dpomdp` files
//! or texts.

use super::input::{Source, read_text};
use super::pomdp::{parse_pomdp, read_pomdp};
use crate::error::{Error, Warning};
use crate::model::{Idid, Other, Pomdp};
use crate::stop::Stop;
use crate::text::{Text, Wrong};
use std::borrow::Cow;
use std::ops::Range;
use std::path::Path;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

type Value<'a> = Spanned<DeValue<'a>>;

/// The keys of a diagram.
const KEYS: &[&str] = &["frame", "models", "horizon_1", "horizon_0", "belief"];

/// The maximum number of models, and of steps.
const MOST: i64 = 1_000_000;

/// The highest level, because files may refer to each other in a cycle.
const LEVELS: usize = 8;

/// Reads an interactive diagram.
///
/// # Errors
/// Returns an error if a file cannot be read or parsed, with line and column, and [`Error::Stopped`] if `stop` is set.
pub fn read_idid(source: &Source, stop: &Stop) -> Result<(Idid, Vec<Warning>), Error> {
    read_level(source, LEVELS, stop)
}

/// Reads an interactive diagram of level `most` or less.
fn read_level(source: &Source, most: usize, stop: &Stop) -> Result<(Idid, Vec<Warning>), Error> {
    let text = read_text(source, stop)?;
    let folder = match source {
        Source::File(path) => path.parent().map(Path::to_path_buf).unwrap_or_default(),
        Source::Stdin => Default::default(),
    };
    let text = Text { file: source.to_string(), text: String::from_utf8_lossy(&text).into_owned() };
    File { text: &text, folder: &folder, stop }.read(most)
}

/// Parses an interactive diagram from a text. The files of its frames are in `folder`; `name` names the text in
/// messages.
///
/// # Errors
/// Returns an error if the text or a file cannot be read or parsed, with line and column, and [`Error::Stopped`] if
/// `stop` is set.
pub fn parse_idid(text: &str, name: &str, folder: &Path, stop: &Stop) -> Result<(Idid, Vec<Warning>), Error> {
    let text = Text { file: name.into(), text: text.into() };
    File { text: &text, folder, stop }.read(LEVELS)
}

struct File<'a> {
    text: &'a Text,
    folder: &'a Path,
    stop: &'a Stop,
}

impl File<'_> {
    fn read(&self, most: usize) -> Result<(Idid, Vec<Warning>), Error> {
        let text = &self.text.text;
        let parsed = DeTable::parse(text).map_err(|error| {
            let at = error.span().unwrap_or(text.len()..text.len());
            self.wrong(at, "TOML", Some(error.message().lines().collect::<Vec<_>>().join(", ")))
        })?;
        self.diagram(parsed.get_ref(), 0..0, most)
    }

    /// Reads a diagram of level `most` or less from a table at position `place`.
    fn diagram(&self, table: &DeTable<'_>, place: Range<usize>, most: usize) -> Result<(Idid, Vec<Warning>), Error> {
        self.known(table, KEYS)?;
        let (frames, at) = self.table(self.get(table, "frame", place.clone())?, "a table with `i` and `j`")?;
        self.known(frames, &["i", "j"])?;
        let of_i = self.get(frames, "i", at.clone())?;
        let (own, mut warnings) = self.frame(of_i)?;
        let (other, told) = self.other(self.get(frames, "j", at)?, most)?;
        warnings.extend(told);
        self.match_frames(&own, &other, of_i.span())?;
        let (horizon, _) = self.count(table, "horizon_1", &place)?;
        let (other_horizon, at) = self.count(table, "horizon_0", &place)?;
        if other_horizon < horizon {
            let expected = format!("at least horizon_1 = {horizon}, as the other agent acts to the end");
            return Err(self.wrong(at, expected, None));
        }
        if let Other::Interactive(below) = &other
            && below.horizon != other_horizon
        {
            return Err(self.wrong(
                at,
                format!("{}, as the diagram of j has so many steps (its horizon_1)", below.horizon),
                None,
            ));
        }
        let models = self.models(self.get(table, "models", place)?, other.frame().states.len())?;
        let belief = match table.get("belief") {
            Some(value) => self.distribution(value, own.states.len())?,
            None => own.start.clone(),
        };
        let idid = Idid { name: self.text.file.clone(), frame: own, other, models, horizon, other_horizon, belief };
        Ok((idid, warnings))
    }

    /// Reads the problem of j: a frame, or a diagram in an `.idid` file or a table.
    fn other(&self, value: &Value<'_>, most: usize) -> Result<(Other, Vec<Warning>), Error> {
        let named = |value: Option<&Value<'_>>| match value.map(Spanned::get_ref) {
            Some(DeValue::String(name)) if name.ends_with(".idid") => Some(self.folder.join(name.as_ref())),
            _ => None,
        };
        let (file, table) = match value.get_ref() {
            DeValue::Table(table) if table.contains_key("frame") => (None, Some(table)),
            DeValue::Table(table) => (named(table.get("file")), None),
            _ => (named(Some(value)), None),
        };
        if (file.is_some() || table.is_some()) && most == 1 {
            return Err(self.wrong(value.span(), format!("a diagram of level {LEVELS} at most"), None));
        }
        let (diagram, warnings) = match (file, table) {
            (Some(path), _) => read_level(&Source::File(path), most - 1, self.stop)?,
            (None, Some(table)) => self.diagram(table, value.span(), most - 1)?,
            (None, None) => {
                let (process, warnings) = self.frame(value)?;
                return Ok((Other::Alone(process), warnings));
            }
        };
        Ok((Other::Interactive(diagram.into()), warnings))
    }

    /// Reads a frame: the name of a file, or a table with `file` or `text`.
    fn frame(&self, value: &Value<'_>) -> Result<(Pomdp, Vec<Warning>), Error> {
        const EXPECTED: &str = "\"file\", { file = \"…\" } or { text = \"\"\"…\"\"\" }";
        let file = |name: &str| read_pomdp(&Source::File(self.folder.join(name)), self.stop);
        match value.get_ref() {
            DeValue::String(name) => file(name),
            DeValue::Table(table) => {
                self.known(table, &["file", "text"])?;
                match (table.get("file").map(Spanned::get_ref), table.get("text").map(Spanned::get_ref)) {
                    (Some(DeValue::String(name)), None) => file(name),
                    (None, Some(DeValue::String(text))) => {
                        let (line, _) = self.text.place(value.span().start);
                        parse_pomdp(text, &format!("{} (text of line {line})", self.text.file), self.stop)
                    }
                    _ => Err(self.wrong(value.span(), EXPECTED, None)),
                }
            }
            _ => Err(self.wrong(value.span(), EXPECTED, None)),
        }
    }

    /// Checks that the second agent of i's frame has the actions and observations of j's own frame.
    fn match_frames(&self, own: &Pomdp, other: &Other, at: Range<usize>) -> Result<(), Error> {
        let [_, second] = &own.agents[..] else {
            let hint = Some(format!("it has {}", own.agents.len()));
            return Err(self.wrong(at, "a frame of two agents, i and then j (`agents: 2`)", hint));
        };
        if let Other::Alone(Pomdp { agents, .. }) = other
            && agents.len() != 1
        {
            return Err(self.wrong(at, "a process of one agent, or a diagram, as the frame of j", None));
        }
        let single = other.agent();
        for (of_i, of_j, what) in [
            (&second.actions, &single.actions, "actions"),
            (&second.observations, &single.observations, "observations"),
        ] {
            if of_i != of_j {
                let hint = Some(format!("{} against {}", of_i.join(" "), of_j.join(" ")));
                return Err(self.wrong(at, format!("the same {what} of j in both frames"), hint));
            }
        }
        Ok(())
    }

    /// Reads models, whose beliefs are over `n` states.
    fn models(&self, value: &Value<'_>, n: usize) -> Result<Vec<(Vec<f64>, f64)>, Error> {
        const EXPECTED: &str = "a list of { belief = […], weight = … }, or { count = K, spread = \"uniform\" }";
        match value.get_ref() {
            DeValue::Table(table) => {
                self.known(table, &["count", "spread"])?;
                let (count, _) = self.count(table, "count", &value.span())?;
                match table.get("spread").map(Spanned::get_ref) {
                    None => {}
                    Some(DeValue::String(spread)) if spread == "uniform" => {}
                    _ => return Err(self.wrong(value.span(), "spread = \"uniform\"", None)),
                }
                if n == 1 {
                    return Ok(vec![(vec![1.0], 1.0)]);
                }
                let belief = |k: usize| {
                    let first = (k as f64 + 0.5) / count as f64;
                    let mut belief = vec![(1.0 - first) / (n - 1) as f64; n];
                    belief[0] = first;
                    (belief, 1.0 / count as f64)
                };
                Ok((0..count).map(belief).collect())
            }
            DeValue::Array(list) if !list.is_empty() => {
                let mut models = Vec::new();
                for model in list.iter() {
                    let (table, at) = self.table(model, EXPECTED)?;
                    self.known(table, &["belief", "weight"])?;
                    let belief = self.distribution(self.get(table, "belief", at)?, n)?;
                    let weight = table.get("weight").map_or(Ok(1.0), |weight| self.number(weight))?;
                    if weight < 0.0 {
                        return Err(self.wrong(model.span(), "a weight of at least 0", None));
                    }
                    models.push((belief, weight));
                }
                let sum: f64 = models.iter().map(|(_, weight)| weight).sum();
                if !(sum > 0.0 && sum.is_finite()) {
                    return Err(self.wrong(value.span(), "weights with a positive sum", None));
                }
                models.iter_mut().for_each(|(_, weight)| *weight /= sum);
                Ok(models)
            }
            _ => Err(self.wrong(value.span(), EXPECTED, None)),
        }
    }

    fn distribution(&self, value: &Value<'_>, states: usize) -> Result<Vec<f64>, Error> {
        let expected = || format!("a list of {states} probabilities that sum to 1");
        let DeValue::Array(list) = value.get_ref() else { return Err(self.wrong(value.span(), expected(), None)) };
        let numbers = list.iter().map(|number| self.number(number)).collect::<Result<Vec<_>, _>>()?;
        let sum: f64 = numbers.iter().sum();
        if numbers.len() != states || numbers.iter().any(|&p| p < 0.0) || (sum - 1.0).abs() > 1e-6 {
            let hint = Some(format!("{} numbers that sum to {sum}", numbers.len()));
            return Err(self.wrong(value.span(), expected(), hint));
        }
        Ok(numbers)
    }

    fn number(&self, value: &Value<'_>) -> Result<f64, Error> {
        let text = match value.get_ref() {
            DeValue::Integer(number) => number.to_string(),
            DeValue::Float(number) => number.to_string(),
            _ => String::new(),
        };
        let number = text.parse().ok().filter(|number: &f64| number.is_finite());
        number.ok_or_else(|| self.wrong(value.span(), "a finite number", None))
    }

    fn count(&self, table: &DeTable<'_>, key: &str, at: &Range<usize>) -> Result<(usize, Range<usize>), Error> {
        let value = self.get(table, key, at.clone())?;
        let count = match value.get_ref() {
            DeValue::Integer(number) => number.to_string().parse::<i64>().ok(),
            _ => None,
        };
        let count = count.filter(|count| (1..=MOST).contains(count));
        let count = count.ok_or_else(|| self.wrong(value.span(), format!("a whole number from 1 to {MOST}"), None))?;
        Ok((count as usize, value.span()))
    }

    fn get<'t, 'b>(&self, table: &'t DeTable<'b>, key: &str, at: Range<usize>) -> Result<&'t Value<'b>, Error> {
        let end = self.text.text.len();
        let end = if at.is_empty() { end..end } else { at };
        table.get(key).ok_or_else(|| self.wrong(end, format!("the key `{key}`"), None))
    }

    fn table<'t, 'b>(&self, value: &'t Value<'b>, expected: &str) -> Result<(&'t DeTable<'b>, Range<usize>), Error> {
        match value.get_ref() {
            DeValue::Table(table) => Ok((table, value.span())),
            _ => Err(self.wrong(value.span(), expected, None)),
        }
    }

    /// Refuses unknown keys.
    fn known(&self, table: &DeTable<'_>, keys: &[&str]) -> Result<(), Error> {
        let unknown = |key: &&Spanned<Cow<'_, str>>| !keys.contains(&key.get_ref().as_ref());
        match table.keys().filter(unknown).min_by_key(|key| key.span().start) {
            Some(key) => Err(self.wrong(key.span(), format!("one of the keys {}", keys.join(", ")), None)),
            None => Ok(()),
        }
    }

    fn wrong(&self, at: Range<usize>, expected: impl Into<String>, hint: Option<String>) -> Error {
        self.text.error(Wrong::new(at, expected).hinted(hint))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::Rng;

    const TEXT: &str = r#"horizon_1 = 2
horizon_0 = 3
belief = [0.5, 0.5]
models = [ { belief = [0.25, 0.75], weight = 1 }, { belief = [0.5, 0.5], weight = 3 } ]
[frame.j]
text = """
values: reward
states: 2
actions: stay go
observations: dim bright
T: * identity
O: * uniform
"""
[frame.i]
text = """
agents: i j
values: reward
states: 2
actions:
look leave
stay go
observations:
dark light
dim bright
T: * : identity
O: * : uniform
"""
"#;

    fn parse(text: &str) -> Result<Idid, Error> {
        Ok(parse_idid(text, "t.idid", Path::new(""), &Stop::new())?.0)
    }

    #[test]
    fn a_diagram_is_read() {
        let idid = parse(TEXT).expect("a diagram");
        assert_eq!((idid.horizon, idid.other_horizon, &idid.belief[..]), (2, 3, &[0.5, 0.5][..]));
        assert_eq!(idid.models, [(vec![0.25, 0.75], 0.25), (vec![0.5, 0.5], 0.75)]);
        assert_eq!((idid.frame.actions(), idid.other.frame().actions(), idid.level()), (4, 2, 1));
        let models = TEXT.lines().find(|line| line.starts_with("models")).expect("models");
        let idid = parse(&TEXT.replace(models, "models = { count = 2, spread = \"uniform\" }")).expect("a diagram");
        assert_eq!(idid.models, [(vec![0.25, 0.75], 0.5), (vec![0.75, 0.25], 0.5)]);
    }

    #[test]
    fn frames_may_be_files() -> Result<(), Box<dyn std::error::Error>> {
        let folder = tempfile::tempdir()?;
        let texts: Vec<&str> = TEXT.split("\"\"\"").collect();
        std::fs::write(folder.path().join("j.POMDP"), texts[1])?;
        std::fs::write(folder.path().join("i.dpomdp"), texts[3])?;
        let head = TEXT.split("[frame.j]").next().unwrap_or_default();
        let text = format!("{head}frame = {{ i = \"i.dpomdp\", j = {{ file = \"j.POMDP\" }} }}\n");
        let (idid, _) = parse_idid(&text, "t", folder.path(), &Stop::new())?;
        let own = parse(TEXT)?;
        assert_eq!((&idid.frame.agents, idid.other.agent()), (&own.frame.agents, own.other.agent()));
        assert_eq!(idid.other.frame().states, own.other.frame().states);
        Ok(())
    }

    /// The problem of j may be a diagram, given in place or in a file, and cycles of files are refused.
    #[test]
    fn levels_nest() -> Result<(), Box<dyn std::error::Error>> {
        let texts: Vec<&str> = TEXT.split("\"\"\"").collect();
        let models = "models = { count = 2 }\n";
        let of_j = texts[3].replace("look leave\nstay go", "stay go\nlook leave");
        let of_j = of_j.replace("dark light\ndim bright", "dim bright\ndark light");
        let alone = texts[1].replace("stay go", "look leave").replace("dim bright", "dark light");
        let two = format!(
            "horizon_1 = 2\nhorizon_0 = 3\n{models}[frame]\ni = {{ text = \"\"\"{}\"\"\" }}\n[frame.j]\nhorizon_1 = 3\n\
             horizon_0 = 4\n{models}[frame.j.frame]\ni = {{ text = \"\"\"{of_j}\"\"\" }}\n\
             j = {{ text = \"\"\"{alone}\"\"\" }}\n",
            texts[3]
        );
        let idid = parse(&two)?;
        let Other::Interactive(below) = &idid.other else { panic!("a diagram") };
        assert_eq!((idid.level(), below.horizon, below.other_horizon, idid.models.len()), (2, 3, 4, 2));
        let error = parse(&two.replace("horizon_1 = 3", "horizon_1 = 2")).expect_err("j has three steps").to_string();
        assert!(error.contains("t.idid:2:13: found `3`, expected 2, as the diagram of j has so many steps"), "{error}");
        let error = parse(&two.replace("stay go\nlook leave", "go stay\nlook leave")).expect_err("other names");
        assert!(error.to_string().contains("the same actions of j in both frames"), "{error}");
        let folder = tempfile::tempdir()?;
        let path = folder.path().join("own.idid");
        let head = two.split("[frame.j]").next().unwrap_or_default();
        std::fs::write(&path, head.replace("[frame]\n", "[frame]\nj = \"own.idid\"\n"))?;
        let error = read_idid(&Source::File(path), &Stop::new()).expect_err("it names itself").to_string();
        assert!(error.contains("own.idid:5:5: ") && error.contains("expected a diagram of level 8 at most"), "{error}");
        Ok(())
    }

    #[test]
    fn errors_have_places() {
        for (from, to, message) in [
            ("horizon_1 = 2", "horizon_1 = 0", "t.idid:1:13: found `0`, expected a whole number from 1"),
            ("horizon_0 = 3", "horizon_0 = 1", "t.idid:2:13: found `1`, expected at least horizon_1 = 2"),
            ("horizon_0 = 3", "horizon = 3", "t.idid:2:1: found `horizon`, expected one of the keys frame, models"),
            ("belief = [0.5, 0.5]\n", "belief = [0.5]\n", "t.idid:3:10: found `[0.5]`, expected a list of 2"),
            ("weight = 1", "weight = -1", "expected a weight of at least 0"),
            ("stay go\nobs", "go stay\nobs", "expected the same actions of j in both frames (stay go against go stay)"),
            ("agents: i j\n", "agents: 3\n", "(text of line "),
            ("T: * : identity", "T: * : identical", "(text of line 14):10:8: found `identical`"),
            ("[frame.j]", "[frame.k]", "found `k`, expected one of the keys i, j"),
            ("models = [", "models = 3 # [", "expected a list of { belief"),
            ("horizon_1 = 2", "horizon_1 = = 2", "expected TOML"),
        ] {
            assert!(TEXT.contains(from), "{from}");
            let error = parse(&TEXT.replacen(from, to, 1)).expect_err(to).to_string();
            assert!(error.contains(message), "{error} for {to}");
        }
    }

    /// Mutated texts are read or refused, without a panic.
    #[test]
    fn mutated_texts_are_no_panic() {
        let mut rng = Rng::new(13);
        let mut read = 0;
        for _ in 0..3000 {
            let mut words: Vec<&str> = TEXT.split_inclusive(char::is_whitespace).collect();
            let (at, other) = (rng.index(words.len()), rng.index(words.len()));
            match rng.index(4) {
                0 => drop(words.remove(at)),
                1 => words.insert(at, words[other]),
                2 => words.swap(at, other),
                _ => words[at] = ["[", "= ", "9999999999999999999 ", "-1 ", "\"\"\"", "é ", "{ "][rng.index(7)],
            }
            match parse(&words.concat()) {
                Ok(_) => read += 1,
                Err(error) => assert!(error.is_input(), "{error}"),
            }
        }
        assert!(read > 100, "{read}");
    }
}
