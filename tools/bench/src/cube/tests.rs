//! Compares the published propagation, computed on the host as its kernels do, with that of Fangs.

use super::schedule::{Act, Message};
use super::*;
use crate::model::Potentials;
use crate::rng::Rng;
use fangs_testing::product;
use std::convert::Infallible;

fn prepared(potentials: &Potentials) -> Prepared {
    Prepared::new(potentials, &Evidence::default(), &Options::default(), &Stop::new()).expect("a plan")
}

/// Returns every table at the end and the result.
fn on_host(tree: &JunctionTree<'_>, schedule: &Schedule) -> (Vec<Vec<f64>>, Found) {
    let mut products = 0;
    let whole: Vec<Vec<f64>> = (0..tree.cliques.len())
        .map(|clique| {
            let (table, factors) = tree.table(clique);
            products += factors;
            table
        })
        .collect();
    let own = |table: &schedule::Table| published::lay_out(tree, &whole[table.clique], table).to_vec();
    let mut tables: Vec<Vec<f64>> = schedule.tables.iter().map(own).collect();
    let mut separators: Vec<Vec<f64>> =
        schedule.separators.iter().map(|&entries| vec![1.0; entries as usize]).collect();
    for act in &schedule.acts {
        match *act {
            Act::Message(Message { from, to, separator, reduced, scattered }) => {
                for (row, entry) in separators[separator].iter_mut().enumerate() {
                    let own = |size: u32| row * size as usize..(row + 1) * size as usize;
                    let sum: f64 = tables[from][own(reduced)].iter().sum();
                    let ratio = if *entry == 0.0 { 0.0 } else { sum / *entry };
                    tables[to][own(scattered)].iter_mut().for_each(|own| *own *= ratio);
                    *entry = sum;
                }
            }
            Act::Rearrange { from, to } => {
                let terms = published::terms(tree, &schedule.tables[from], &schedule.tables[to]);
                tables[to] = (0..tables[to].len() as u64).map(|row| tables[from][terms.place(row)]).collect();
            }
        }
    }
    let table = |clique: usize| Ok::<_, Infallible>(tables[schedule.last[clique]].clone());
    let Ok(found) = Found::new(tree, schedule, products, table);
    (tables, found)
}

#[test]
fn the_published_propagation_comes_to_our_sums_and_posteriors() {
    let mut rng = Rng::new(81);
    let (mut possible, mut forests, mut rearranged) = (0, 0, 0);
    for case in 0..400 {
        let potentials = product(&mut rng, 1 + case % 14);
        let prepared = prepared(&potentials);
        let own = prepared.run(&Stop::new()).expect("it fits");
        let Some((sliced, plan)) = prepared.planned() else { continue };
        if own.ln_z == f64::NEG_INFINITY {
            continue;
        }
        let tree = JunctionTree::new(sliced, plan);
        let schedule = Schedule::new(&tree);
        let (tables, mut found) = on_host(&tree, &schedule);
        agrees("random", &found, &own).unwrap_or_else(|error| panic!("case {case}: {error}"));
        assert_eq!(found.posteriors.len(), sliced.variables.len(), "case {case}: each variable has a posterior");
        // timed runs begin with the tables that the first run left, and all tables of a clique agree
        for (table, entries) in schedule.tables.iter().zip(&tables) {
            let last = schedule.last[table.clique];
            let terms = published::terms(&tree, &schedule.tables[last], table);
            assert!((0..).zip(entries).all(|(row, entry)| tables[last][terms.place(row)] == *entry), "case {case}");
        }
        possible += 1;
        forests += usize::from(tree.cliques.iter().filter(|clique| clique.parent.is_none()).count() > 1);
        rearranged += usize::from(schedule.acts.len() > schedule.messages().count());
        // incorrect results are rejected
        if let Some((_, values)) = found.posteriors.iter_mut().find(|(_, values)| values.len() > 1) {
            values.iter_mut().for_each(|value| *value = 0.9 * *value + 0.01);
            assert!(agrees("random", &found, &own).is_err(), "case {case}");
        }
        found.z = found.z.times(crate::model::Scaled::new(1.0 + 1e-9));
        assert!(agrees("random", &found, &own).is_err(), "case {case}");
    }
    assert!(possible > 200 && forests > 20 && rearranged > 50, "{possible} {forests} {rearranged}");
}

#[test]
fn cliques_are_maximal_and_separators_what_both_have() {
    let mut rng = Rng::new(82);
    let mut merged = 0;
    for case in 0..200 {
        let prepared = prepared(&product(&mut rng, 2 + case % 20));
        let Some((sliced, plan)) = prepared.planned() else { continue };
        let tree = JunctionTree::new(sliced, plan);
        let within = |a: &[u32], b: &[u32]| a.iter().all(|p| b.contains(p));
        for (index, clique) in tree.cliques.iter().enumerate() {
            assert!(clique.functions.iter().all(|(_, scope)| within(scope, &clique.scope)), "case {case}");
            let others = tree.cliques.iter().enumerate().filter(|&(other, _)| other != index);
            assert!(!others.into_iter().any(|(_, other)| within(&clique.scope, &other.scope)), "case {case}");
            let Some((parent, separator)) = &clique.parent else { continue };
            let both = clique.scope.iter().filter(|p| tree.cliques[*parent].scope.contains(p));
            assert!(*parent > index && both.eq(separator.iter()), "case {case}");
        }
        let functions: usize = tree.cliques.iter().map(|clique| clique.functions.len()).sum();
        assert_eq!(functions, sliced.functions.len(), "case {case}");
        merged += plan.steps.len() - tree.cliques.len();
    }
    assert!(merged > 200, "{merged}");
}

#[test]
fn figures_stand_beside_the_networks_of_the_paper() {
    let mut rng = Rng::new(83);
    let options = CubeOptions { gpu: None, cpu: true, memory: 1 << 30, repeats: 1 };
    for (name, figure) in [("nets/Munin1.bif.gz", Some(193.0)), ("water.uai", Some(12.0)), ("munin", None)] {
        let mut potentials = product(&mut rng, 6);
        potentials.name = name.into();
        let row = cube(&potentials, options, &Stop::new()).expect("it fits");
        assert_eq!(row.paper_device_ms, figure, "{name}");
        assert!(row.cpu_ms.is_some() && row.device_ms.is_none() && row.published_ms.is_none(), "{row:?}");
    }
}
