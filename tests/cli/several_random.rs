//! `solve --all`, `--count`, `--best` and `--diverse` of random networks against enumeration.

use super::*;
use serde_json::json;
use std::collections::BTreeSet;

/// A network of pairs of few costs, and its solutions with their costs, by cost.
struct Case {
    text: String,
    solutions: Vec<(u64, Vec<u64>)>,
}

impl Case {
    /// Creates a random network whose totals must stay below `top`. Some variables are in no function.
    fn new(seed: u64, top: u64) -> Case {
        let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
        let mut below = |limit: u64| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            state % limit
        };
        let domains: Vec<u64> = (0..2 + below(4)).map(|_| 1 + below(3)).collect();
        let count = domains.len() as u64;
        let mut tables = Vec::new();
        for _ in 0..1 + below(5) {
            let first = below(count);
            let scope = [first as usize, ((first + 1 + below(count - 1)) % count) as usize];
            let entries = scope.map(|v| domains[v]).iter().product::<u64>();
            tables.push((scope, (0..entries).map(|_| below(3) * below(2)).collect::<Vec<u64>>()));
        }
        let sizes: Vec<String> = domains.iter().map(u64::to_string).collect();
        let largest = domains.iter().max().unwrap_or(&1);
        let mut text = format!("pairs {count} {largest} {} {top}\n{}\n", tables.len(), sizes.join(" "));
        for ([a, b], entries) in &tables {
            text += &format!("2 {a} {b} 0 {}\n", entries.len());
            for (at, cost) in (0..).zip(entries) {
                text += &format!("{} {} {cost}\n", at / domains[*b], at % domains[*b]);
            }
        }
        let mut solutions = Vec::new();
        for code in 0..domains.iter().product::<u64>() {
            let mut rest = code;
            let values: Vec<u64> = domains.iter().map(|size| (rest % size, rest /= size).0).collect();
            let entry = |[a, b]: &[usize; 2]| (values[*a] * domains[*b] + values[*b]) as usize;
            let cost: u64 = tables.iter().map(|(scope, entries)| entries[entry(scope)]).sum();
            if cost < top {
                solutions.push((cost, values));
            }
        }
        solutions.sort_unstable();
        Case { text, solutions }
    }

    /// Returns cases of which some are infeasible, each with a file.
    fn all() -> impl Iterator<Item = Result<(Case, TempDir, PathBuf)>> {
        (1..=40).map(|seed| {
            let case = Case::new(seed, [1000, 1000, 1][seed as usize % 3]);
            let (folder, path) = folder_with("pairs.wcsp", &case.text)?;
            Ok((case, folder, path))
        })
    }

    fn costs(&self) -> Vec<u64> {
        self.solutions.iter().map(|(cost, _)| *cost).collect()
    }

    fn optimal(&self) -> BTreeSet<Vec<u64>> {
        let least = self.solutions.first().map(|(cost, _)| *cost);
        self.solutions.iter().filter(|(cost, _)| Some(*cost) == least).map(|(_, values)| values.clone()).collect()
    }

    fn code(&self) -> i32 {
        if self.solutions.is_empty() { 4 } else { 0 }
    }
}

/// Runs `solve --json` on the CPU; expects an exit code.
fn solve(path: &Path, options: &[&str], code: i32) -> Result<Value> {
    object(fangs().arg("solve").arg(path).args(["--json", "--device", "cpu"]).args(options), code)
}

/// Returns the listed solutions in their order; expects as many as `count`, and each only once.
fn listed(found: &Value) -> Result<Vec<Vec<u64>>> {
    let list = found["solutions"].as_array().ok_or("no list")?;
    let values = |own: &Value| own["solution"].as_array().into_iter().flatten().filter_map(Value::as_u64).collect();
    let all: Vec<Vec<u64>> = list.iter().map(values).collect();
    assert_eq!(
        (found["count"].to_string(), all.iter().collect::<BTreeSet<_>>().len()),
        (all.len().to_string(), all.len())
    );
    Ok(all)
}

fn set(solutions: Vec<Vec<u64>>) -> BTreeSet<Vec<u64>> {
    solutions.into_iter().collect()
}

fn costs(found: &Value) -> Vec<u64> {
    found["solutions"].as_array().into_iter().flatten().filter_map(|own| own["cost"].as_u64()).collect()
}

#[test]
fn all_solutions_and_their_number_are_those_of_enumeration() -> Result {
    let mut met = [0; 3];
    for case in Case::all() {
        let (case, _folder, path) = case?;
        let optimal = case.optimal();
        let found = solve(&path, &["--all"], case.code())?;
        assert_eq!((set(listed(&found)?), &found["complete"]), (optimal.clone(), &json!(true)), "{}", case.text);
        let feasible = solve(&path, &["--all=feasible"], case.code())?;
        assert_eq!(set(listed(&feasible)?), case.solutions.iter().map(|(_, values)| values.clone()).collect());
        for (option, number) in [("--count", optimal.len()), ("--count=feasible", case.solutions.len())] {
            let found = solve(&path, &[option], case.code())?;
            assert_eq!((&found["count"], &found["complete"]), (&json!(number), &json!(true)), "{}", case.text);
        }
        met[optimal.len().min(2)] += 1;
        if optimal.len() > 1 {
            let found = solve(&path, &["--all", "--most", "1"], 0)?;
            assert!(optimal.is_superset(&set(listed(&found)?)) && found["count"] == 1, "{found}");
            assert_eq!(found["complete"], json!(false));
        }
    }
    assert!(met.iter().all(|&count| count > 3), "{met:?}");
    Ok(())
}

#[test]
fn the_best_solutions_are_those_of_enumeration() -> Result {
    for (case, most) in Case::all().zip([1, 2, 5, 300].into_iter().cycle()) {
        let (case, _folder, path) = case?;
        let found = solve(&path, &["--best", &most.to_string()], case.code())?;
        let wanted: Vec<u64> = case.costs().into_iter().take(most).collect();
        assert_eq!((costs(&found), &found["complete"]), (wanted, &json!(true)), "{}", case.text);
        for own in listed(&found)?.into_iter().zip(costs(&found)) {
            assert!(case.solutions.contains(&(own.1, own.0)), "{}", case.text);
        }
    }
    Ok(())
}

#[test]
fn each_diverse_solution_is_the_best_at_its_distance() -> Result {
    let mut ended = [0; 2];
    for (case, seed) in Case::all().zip(0usize..) {
        let (case, _folder, path) = case?;
        let Some((_, first)) = case.solutions.first() else { continue };
        // some runs compare only the first two variables
        let on = if seed % 2 == 0 { 0..first.len() } else { 0..2 };
        let distance = 1 + seed % 2;
        let far = |a: &[u64], b: &[u64]| on.clone().filter(|&v| a[v] != b[v]).count() >= distance;
        let (distance_text, names) = (distance.to_string(), on.clone().map(|v| v.to_string()).collect::<Vec<_>>());
        let options = ["--diverse", "4", "--distance", &distance_text, "--diverse-on", &names.join(",")];
        let found = solve(&path, &options, 0)?;
        let own = listed(&found)?;
        for (place, cost) in costs(&found).into_iter().enumerate() {
            let differs = |values: &[u64]| own[..place].iter().all(|earlier| far(earlier, values));
            let best = case.solutions.iter().find(|(_, values)| differs(values)).map(|(cost, _)| *cost);
            assert!(Some(cost) == best && differs(&own[place]), "{place}: {found}\n{}", case.text);
            assert!(case.solutions.contains(&(cost, own[place].clone())));
        }
        let is_more = case.solutions.iter().any(|(_, values)| own.iter().all(|earlier| far(earlier, values)));
        assert!(own.len() == 4 || !is_more, "{found}\n{}", case.text);
        assert_eq!(found["complete"], json!(true));
        ended[usize::from(own.len() == 4)] += 1;
    }
    assert!(ended.iter().all(|&count| count > 3), "{ended:?}");
    Ok(())
}

#[test]
fn costs_are_those_of_the_file() -> Result {
    // maximised decimals below 0
    let text = r#"{"problem": {"name": "n", "mustbe": ">-10.00"},
        "variables": {"a": ["x", "y"], "b": ["x", "y"]},
        "functions": {"f": {"scope": ["a", "b"], "costs": [-2.5, -1.25, -1.25, -3.0]}}}"#;
    let (_folder, path) = folder_with("n.cfn", text)?;
    let found = solve(&path, &["--all"], 0)?;
    assert_eq!((set(listed(&found)?), &found["cost"]), ([vec![0, 1], vec![1, 0]].into(), &json!(-1.25)));
    let names = found["solutions"].as_array().into_iter().flatten().map(|own| own["assignment"].to_string());
    let wanted = [r#"{"a":"x","b":"y"}"#, r#"{"a":"y","b":"x"}"#].map(String::from);
    assert_eq!(names.collect::<BTreeSet<_>>(), wanted.into());
    let found = solve(&path, &["--best", "4"], 0)?;
    let own = found["solutions"].as_array().into_iter().flatten().filter_map(|own| own["cost"].as_f64());
    assert_eq!(own.collect::<Vec<_>>(), [-1.25, -1.25, -2.5, -3.0]);
    // two equal largest products, whose logarithm is rounded
    let (_folder, path) = folder_with("n.uai", "MARKOV\n2\n2 2\n1\n2 0 1\n4\n0.1 0.3 0.3 0.2\n")?;
    assert_eq!(set(listed(&solve(&path, &["--all"], 0)?)?), [vec![0, 1], vec![1, 0]].into());
    Ok(())
}
