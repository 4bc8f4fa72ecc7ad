//! Heuristics in files: their weights against direct evaluation of random expressions, on the CPU and on a device; and
//! the messages about broken files.

#![allow(unsafe_code, reason = "launches of kernels")]

mod broken;
mod device;
mod lines;
mod random;

use fangs_base::rng::Rng;
use fangs_heuristics::language::{Heuristic, Scratch};
use fangs_model::model::Variable;
use random::{Sample, Visit};
use std::io::Write;
use tempfile::TempDir;

/// Domain sizes from one value to more than the lanes of a vector register.
const DOMAINS: [usize; 9] = [1, 2, 3, 4, 7, 8, 9, 17, 30];

/// The variables, and the tables `priority` and `wish` of random samples.
struct Setting {
    folder: TempDir,
    variables: Vec<Variable>,
    priority: Vec<f64>,
    wishes: Vec<Vec<f64>>,
}

impl Setting {
    fn new(rng: &mut Rng) -> Setting {
        let folder = TempDir::new().expect("there is room for a folder");
        let variables: Vec<Variable> =
            DOMAINS.iter().map(|&domain| Variable { domain: domain as u32, name: None, values: None }).collect();
        let priority: Vec<f64> = DOMAINS.iter().map(|_| rng.unit() * 9.0 - 3.0).collect();
        let wishes: Vec<Vec<f64>> =
            DOMAINS.iter().map(|&n| (0..n).map(|_| rng.below(9) as f64 * 0.25).collect()).collect();
        let file = |name: &str| std::fs::File::create(folder.path().join(name)).expect("files can be made");
        let mut of_variables = file("priority.csv");
        writeln!(of_variables, "variable,priority").unwrap();
        for (variable, priority) in priority.iter().enumerate() {
            writeln!(of_variables, "{variable},{priority:?}").unwrap();
        }
        let mut of_values = file("wish.csv");
        let mut wishes = wishes;
        for (variable, wishes) in wishes.iter_mut().enumerate() {
            for (value, wish) in wishes.iter_mut().enumerate() {
                // some values use the default
                if (variable + value) % 5 == 0 {
                    *wish = -2.5;
                } else {
                    writeln!(of_values, "{variable},{value},{wish:?}").unwrap();
                }
            }
        }
        Setting { folder, variables, priority, wishes }
    }

    fn heuristic(&self, sample: &Sample) -> Heuristic {
        let path = |name: &str| self.folder.path().join(name).display().to_string();
        let text = sample.text(&path("priority.csv"), &path("wish.csv"));
        Heuristic::parse("sample", &text, &self.variables).unwrap_or_else(|error| panic!("{error}\n{text}"))
    }

    fn visit(&self, rng: &mut Rng, variable: usize) -> Visit {
        Visit::random(rng, variable, DOMAINS[variable], self.priority[variable], &self.wishes[variable])
    }
}

#[test]
fn columns_come_to_what_a_walk_over_the_tree_does() {
    let mut rng = Rng::new(5);
    let setting = Setting::new(&mut rng);
    let mut scratch = Scratch::default();
    let (mut strange, mut spread) = (0, 0);
    for number in 0..3000 {
        let sample = Sample::random(&mut rng);
        let heuristic = setting.heuristic(&sample);
        for (variable, &domain) in DOMAINS.iter().enumerate() {
            let visit = setting.visit(&mut rng, variable);
            let mut weights = vec![u32::MAX; domain];
            let weighed = heuristic.weigh(variable, &visit, &mut scratch, &mut weights);
            let (expected, nonsense) = sample.weights(&visit);
            let text = || format!("sample {number}, variable {variable}\n{}\n{visit:?}", sample.text("", ""));
            assert_eq!((&weights, weighed.nonsense), (&expected, nonsense), "{}", text());
            assert_eq!(weighed.sum, expected.iter().map(|&weight| u64::from(weight)).sum::<u64>());
            assert_eq!(heuristic.active(variable, &visit, &mut scratch), sample.is_active(&visit), "{}", text());
            strange += usize::from(nonsense.is_some());
            spread += usize::from(weights.iter().any(|&weight| weight > 0 && weight < 1 << 20));
        }
    }
    assert!(strange > 500 && spread > 5000, "{strange} without a number, {spread} with several weights");
}
