//! The first solution of the heuristic `satellite`, which needs the context of a search.

use super::SearchContext;
use crate::heuristics::find;
use crate::model::{Cost, CostFunction, FORBIDDEN, Problem, Table};
use crate::rng::Rng;
use std::sync::Arc;

#[test]
fn photographs_come_in_until_each_other_one_clashes() {
    let satellite = find("satellite").expect("it is in the list");
    let mut rng = Rng::new(1);
    for _ in 0..50 {
        let n = 5 + rng.index(20);
        // a photograph costs nothing if taken, and its weight if not
        let unary = (0..n).map(|_| vec![0, 1 + rng.below(9) as Cost]).collect();
        let clash = Table::dense(vec![FORBIDDEN, 0, 0, 0]);
        let pairs = (0..n as u32).flat_map(|v| (0..v).map(move |u| [u, v])).filter(|_| rng.below(3) == 0);
        let functions = pairs.map(|pair| CostFunction { scope: pair.into(), table: clash.clone() }).collect();
        let problem = Problem { domains: vec![2; n], unary, functions, constant: 0, top: FORBIDDEN };
        assert!(satellite.fits(&problem).is_ok());
        let context = SearchContext::new(&Arc::new(problem), 10 * n as Cost, None, &mut rng);
        let mut values = vec![0; n];
        satellite.start().expect("it has one").start(&context.view(&vec![0; n]), &mut rng, &mut values);
        let is_in = |v: usize| values[v] == 0;
        let meets = |v: usize| context.graph.neighbours(v).iter().any(|&u| is_in(u as usize));
        assert!((0..n).all(|v| is_in(v) != meets(v)), "{values:?}");
    }
}
