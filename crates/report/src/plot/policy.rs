//! Policy graphs as pictures: a column for each step, a box for each node, and an arrow to each next node with the
//! observations that lead there.

use super::style::color;
use super::svg::{Anchor, FONT_SIZE, Style, Svg, width_of};
use crate::error::Error;
use crate::model::PolicyGraph;
use std::collections::BTreeMap;

/// Largest number of nodes of a picture: more cannot be distinguished.
const MOST: usize = 400;
/// Sizes in units of the picture.
const BOX: f64 = 30.0;
const ROW: f64 = 62.0;
const MARGIN: f64 = 24.0;

/// Draws a policy graph as SVG.
///
/// # Errors
/// Fails if the graph has more nodes than a picture shows.
pub fn policy_svg(graph: &PolicyGraph, title: &str) -> Result<String, Error> {
    if graph.nodes.len() > MOST {
        return Err(Error::Usage(format!(
            "the policy has {} nodes, a picture shows at most {MOST}: write it as .json or .tsv",
            graph.nodes.len()
        )));
    }
    // several observations may lead to the same node
    let mut arrows: BTreeMap<(usize, usize), Vec<&str>> = BTreeMap::new();
    for (number, node) in graph.nodes.iter().enumerate() {
        for (seen, to) in node.next.iter().enumerate() {
            arrows.extend(to.map(|to| ((number, to), Vec::new())).filter(|(key, _)| !arrows.contains_key(key)));
            if let Some(label) = to.and_then(|to| arrows.get_mut(&(number, to))) {
                label.push(&graph.observations[seen]);
            }
        }
    }
    let all = graph.observations.len();
    let label = |seen: &Vec<&str>| if seen.len() == all && all > 1 { "any".into() } else { seen.join(", ") };
    let widest = |texts: &mut dyn Iterator<Item = String>| texts.map(|text| width_of(&text)).fold(0.0, f64::max);
    let wide = widest(&mut graph.nodes.iter().map(|node| graph.actions[node.action].clone())) + 18.0;
    let gap = widest(&mut arrows.values().map(label)).clamp(60.0, 420.0) + 40.0;
    let mut rows = vec![0usize; graph.horizon];
    let row: Vec<usize> = graph
        .nodes
        .iter()
        .map(|node| {
            rows[node.step] += 1;
            rows[node.step] - 1
        })
        .collect();
    let tallest = rows.iter().copied().max().unwrap_or(1) as f64;
    let (top, left) = (MARGIN + 34.0, MARGIN);
    let corner = |number: usize| {
        let step = graph.nodes[number].step;
        let free = (tallest - rows[step] as f64) * ROW / 2.0;
        (left + step as f64 * (wide + gap), top + 20.0 + free + row[number] as f64 * ROW)
    };
    let width = 2.0 * MARGIN + graph.horizon as f64 * wide + (graph.horizon.max(1) - 1) as f64 * gap;
    let height = top + 20.0 + tallest * ROW + MARGIN;
    let mut svg = Svg::default();
    svg.title(width / 2.0, MARGIN + 4.0, title);
    for step in 0..graph.horizon {
        let middle = left + step as f64 * (wide + gap) + wide / 2.0;
        svg.text(middle, top + 4.0, Anchor::Middle, &format!("step {step}"));
    }
    for (&(from, to), seen) in &arrows {
        let ((x, y), (u, v)) = (corner(from), corner(to));
        let (begin, end) = ((x + wide, y + BOX / 2.0), (u, v + BOX / 2.0));
        svg.path(&[begin, end], false, Style::line("#777", 1.2));
        let length = ((end.0 - begin.0).powi(2) + (end.1 - begin.1).powi(2)).sqrt();
        let (dx, dy) = ((end.0 - begin.0) / length, (end.1 - begin.1) / length);
        let side = |s: f64| (end.0 - 9.0 * dx - s * dy, end.1 - 9.0 * dy + s * dx);
        svg.path(&[end, side(3.5), side(-3.5)], true, Style::area("#777", 1.0));
        // nearer to the start, where fewer arrows cross
        let (x, y) = (begin.0 + 0.42 * (end.0 - begin.0), begin.1 + 0.42 * (end.1 - begin.1) - 4.0);
        svg.text(x, y, Anchor::Middle, &label(seen));
    }
    for (number, node) in graph.nodes.iter().enumerate() {
        let (x, y) = corner(number);
        let outline = [(x, y), (x + wide, y), (x + wide, y + BOX), (x, y + BOX)];
        let own = color(node.action);
        svg.path(&outline, true, Style { fill: Some(("#fff", 1.0)), stroke: None, dashed: false });
        svg.path(&outline, true, Style { fill: Some((own, 0.14)), stroke: Some((own, 1.6)), dashed: false });
        svg.text(x + wide / 2.0, y + BOX / 2.0 + FONT_SIZE / 3.0, Anchor::Middle, &graph.actions[node.action]);
    }
    Ok(svg.finish(width, height))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::PolicyNode;

    fn graph(nodes: Vec<PolicyNode>) -> PolicyGraph {
        let names = |names: [&str; 2]| names.map(String::from).to_vec();
        PolicyGraph { horizon: 2, actions: names(["wait", "<go>"]), observations: names(["red", "green"]), nodes }
    }

    #[test]
    fn a_picture_has_a_box_a_node_and_an_arrow_a_next_node() {
        let leaf = |action| PolicyNode { step: 1, action, next: vec![None, None] };
        let root = PolicyNode { step: 0, action: 0, next: vec![Some(1), Some(2)] };
        let svg = policy_svg(&graph(vec![root.clone(), leaf(0), leaf(1)]), "light").expect("a small graph");
        for text in ["light", "step 1", "&lt;go&gt;", ">red<", ">green<"] {
            assert!(svg.contains(text), "{text}: {svg}");
        }
        assert_eq!((svg.matches("Z\"").count(), svg.contains("NaN")), (2 + 2 * 3, false));
        let same = PolicyNode { next: vec![Some(1), Some(1)], ..root };
        assert!(policy_svg(&graph(vec![same, leaf(1)]), "").expect("a small graph").contains(">any<"));
        assert!(policy_svg(&graph(vec![leaf(0); MOST + 1]), "").is_err());
    }
}
