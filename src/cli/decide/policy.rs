//! The file of a policy.

use super::Config;
use crate::cli::output;
use fangs_base::Error;
use fangs_base::stop::Stop;
use fangs_base::terminal;
use fangs_decide::Solution;
use fangs_formats::read_decision;
use fangs_model::model::{Policy, PolicyFile, PolicyGraph, Rules};
use fangs_report::ReplacedFile;
use fangs_report::plot::policy_svg;
use std::path::Path;

/// The form in which a policy is written.
#[derive(Clone, Copy, Debug)]
enum Kind {
    Json,
    Tsv,
    Svg,
}

/// A file for a policy; its extension decides the form.
pub struct PolicyOutput {
    file: ReplacedFile,
    kind: Kind,
}

impl PolicyOutput {
    pub fn new(path: &Path) -> Result<Self, Error> {
        let extension = path.extension().map(|extension| extension.to_string_lossy().to_lowercase());
        let kind = match extension.as_deref() {
            Some("json") => Kind::Json,
            Some("tsv") => Kind::Tsv,
            Some("svg") => Kind::Svg,
            _ => return Err(Error::Usage(format!("{}: a policy is .json, .tsv or .svg", terminal::path(path)))),
        };
        Ok(PolicyOutput { file: output::as_usage(ReplacedFile::new(path))?, kind })
    }

    /// Writes the policy of a solution, if it has one.
    pub fn write(&mut self, config: &Config, solution: &Solution, stop: &Stop) -> Result<(), Error> {
        let Some(policy) = &solution.policy else { return Ok(()) };
        let text = match (self.kind, policy) {
            (Kind::Tsv, policy) => tsv(policy),
            (Kind::Svg, Policy::Graph(graph)) => policy_svg(graph, &config.source.to_string())?,
            (Kind::Svg, Policy::Joint(_)) => {
                return Err(Error::Usage("the policies of several agents are written as .json or .tsv".into()));
            }
            (Kind::Svg, Policy::Rules(_)) => {
                return Err(Error::Usage("the policy of a diagram is tables: write it as .json or .tsv".into()));
            }
            (Kind::Json, policy) => {
                // names are resolved again, because the problem itself is not kept
                let (decision, _) = read_decision(&config.source, config.format, &Stop::new())?;
                let options = config.options(&decision)?;
                let file = PolicyFile {
                    instance: config.source.to_string(),
                    kind: solution.kind.into(),
                    meu: solution.meu,
                    error_bound: solution.error_bound,
                    discount: options.discount,
                    belief: options.belief,
                    observe: options.observe,
                    policy: policy.clone(),
                };
                let text = serde_json::to_string_pretty(&file);
                text.map_err(|error| Error::Internal(format!("JSON: {error}")))? + "\n"
            }
        };
        self.file.write_to_end(text.into_bytes(), stop)
    }
}

/// Returns a table with one line per choice.
fn tsv(policy: &Policy) -> String {
    match policy {
        Policy::Rules(rules) => rows_of(rules),
        Policy::Graph(graph) => lines_of(graph),
        Policy::Joint(joint) => joint.agents.iter().map(lines_of).collect::<Vec<_>>().join("\n"),
    }
}

fn rows_of(rules: &Rules) -> String {
    let mut lines = vec!["decision\tsees\trow\tchoice\tcertain".to_string()];
    for rule in &rules.decisions {
        let sees = rule.sees.iter().map(ToString::to_string).collect::<Vec<_>>().join(" ");
        for (row, (choice, certain)) in rule.choices.iter().zip(&rule.certain).enumerate() {
            lines.push(format!("{}\t{sees}\t{row}\t{choice}\t{certain}", rule.name));
        }
    }
    lines.join("\n") + "\n"
}

fn lines_of(graph: &PolicyGraph) -> String {
    let mut lines = vec![[&["node", "step", "action"].map(String::from)[..], &graph.observations].concat().join("\t")];
    for (number, node) in graph.nodes.iter().enumerate() {
        let own = [number.to_string(), node.step.to_string(), graph.actions[node.action].clone()];
        let next: Vec<String> = node.next.iter().map(|to| to.map_or("-".into(), |to| to.to_string())).collect();
        lines.push([own.to_vec(), next].concat().join("\t"));
    }
    lines.join("\n") + "\n"
}
