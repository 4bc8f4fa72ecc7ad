use super::*;
use crate::model::Table;

fn entries(network: &Network, function: usize) -> Vec<Cost> {
    match &network.functions()[function].table {
        Table::Dense(costs) => costs.iter().collect(),
        Table::Sparse(_) => panic!("generated tables are dense"),
    }
}

fn is_connected(network: &Network) -> bool {
    let n = network.domains().len();
    let mut component: Vec<usize> = (0..n).collect();
    for _ in 0..n {
        for function in network.functions() {
            let least = function.scope.iter().map(|&v| component[v as usize]).min().unwrap();
            function.scope.iter().for_each(|&v| component[v as usize] = least);
        }
    }
    component.iter().all(|&c| c == 0)
}

fn degrees(network: &Network) -> Vec<usize> {
    let mut degrees = vec![0; network.domains().len()];
    for function in network.functions().iter().filter(|f| f.scope.len() == 2) {
        function.scope.iter().for_each(|&v| degrees[v as usize] += 1);
    }
    degrees
}

#[test]
fn every_diagram_has_working_defaults_and_follows_its_seed() {
    for kind in &DIAGRAMS {
        let text = |seed| generate_diagram(kind.name, &[], seed).expect("the defaults work");
        assert_eq!(text(7), text(7), "{}", kind.name);
        // nothing of the tiger problem is random
        assert_eq!(text(7) == text(8), kind.name == "idid-tiger", "{}", kind.name);
        assert!(generate_diagram(kind.name, &[("t1", "4"), ("t0", "3")], 1).is_err());
    }
}

#[test]
fn every_kind_has_working_defaults_and_follows_its_seed() {
    for kind in &KINDS {
        let text = |seed| {
            let network = generate(kind.name, &[], seed).unwrap();
            assert!(!network.functions().is_empty(), "{}", kind.name);
            let mut text = Vec::new();
            crate::formats::write(&network, crate::formats::Format::Wcsp, &mut text).unwrap();
            text
        };
        assert_eq!(text(7), text(7), "{}", kind.name);
        assert_ne!(text(7)[20..], text(8)[20..], "{}", kind.name);
    }
    let names: FxHashSet<_> = KINDS.iter().map(|kind| kind.name).collect();
    assert_eq!(names.len(), KINDS.len());
}

#[test]
fn random_networks_have_the_density_and_tightness_asked_for() {
    for (p1, edges) in [(0.2, 9), (0.3, 13), (0.9, 40), (1.0, 45)] {
        let network = random(10, 10, p1, 0.9, &mut Rng::new(3)).unwrap();
        assert_eq!(network.functions().len(), edges);
        assert!(is_connected(&network));
        for function in 0..edges {
            let costs = entries(&network, function);
            assert_eq!(costs.iter().filter(|&&cost| cost == FORBIDDEN).count(), 90);
            assert!(costs.iter().all(|&cost| cost == FORBIDDEN || (0..=100).contains(&cost)));
        }
    }
    assert!(random(10, 10, 0.1, 0.9, &mut Rng::new(3)).is_err());
}

#[test]
fn scale_free_networks_grow_by_two_edges_a_variable() {
    let network = scale_free(200, 2, 0.5, &mut Rng::new(1)).unwrap();
    assert_eq!(network.functions().len(), 2 * 198 + 1);
    assert!(is_connected(&network));
    assert!(degrees(&network).into_iter().max() > Some(12), "some variables become hubs");
}

#[test]
fn grids_have_degrees_two_to_four() {
    let network = grid(4, 4, 3, 0.0, &mut Rng::new(1)).unwrap();
    let degrees = degrees(&network);
    assert_eq!([2, 3, 4].map(|d| degrees.iter().filter(|&&degree| degree == d).count()), [4, 8, 4]);
    let torus = ising(4, true, 5, 0, &mut Rng::new(1)).unwrap();
    assert!(self::degrees(&torus).iter().all(|&degree| degree == 4));
}

#[test]
fn queens_attack_along_lines() {
    let network = queens(6, 0, &mut Rng::new(1)).unwrap();
    let solves = |a: &[u32]| network.functions().iter().all(|f| f.cost(network.domains(), a) == 0);
    assert!(solves(&[1, 3, 5, 0, 2, 4]));
    assert!(!solves(&[0, 1, 2, 3, 4, 5]) && !solves(&[1, 3, 5, 0, 2, 1]));
}

#[test]
fn spins_pay_for_broken_couplings() {
    let network = ising(2, false, 9, 9, &mut Rng::new(5)).unwrap();
    assert_eq!(network.functions().len(), 4 + 4);
    for function in 4..8 {
        let costs = entries(&network, function);
        assert!(costs[0] == costs[3] && costs[1] == costs[2] && costs[0].min(costs[1]) == 0);
    }
}

#[test]
fn wrong_parameters_are_named() {
    let error = |kind: &str, parameters: &[(&str, &str)]| generate(kind, parameters, 1).unwrap_err().to_string();
    assert!(error("cube", &[]).contains("random, scale-free, grid"));
    assert!(error("grid", &[("n", "3")]).contains("it has side, rows, d, p2"));
    for value in ["0", "-1", "1.5", "x", "1e99", "nan"] {
        assert!(error("random", &[("n", value)]).contains("a whole number from 1 to "), "{value}");
    }
    assert!(error("random", &[("p1", "1.5")]).contains("a number from 0 to 1"));
    assert!(error("random", &[("n", "10000000")]).contains("too large"));
    assert!(error("large-sparse", &[("n", "3"), ("functions", "4")]).contains("only 3 pairs"));
}

#[test]
fn clauses_forbid_one_combination_each_and_can_all_be_satisfied() {
    let network = sat(12, 40, 9, &mut Rng::new(2)).unwrap();
    let clauses: Vec<usize> =
        (0..network.functions().len()).filter(|&f| network.functions()[f].scope.len() == 3).collect();
    assert_eq!(clauses.len(), 40);
    assert!(clauses.iter().all(|&f| entries(&network, f).iter().filter(|&&cost| cost == FORBIDDEN).count() == 1));
    let allowed = |bits: u32| {
        let values: Vec<u32> = (0..12).map(|v| bits >> v & 1).collect();
        crate::check::evaluate(&network, &values).is_solution()
    };
    assert!((0..1 << 12).any(allowed));
    assert!(sat(2, 1, 0, &mut Rng::new(2)).is_err());
}

#[test]
fn a_latin_square_with_holes_can_be_completed() {
    for seed in 0..20 {
        let network = latin(4, 9, 5, &mut Rng::new(seed)).unwrap();
        assert_eq!(network.domains().len(), 9);
        let count: u32 = network.domains().iter().product();
        let values = |mut index: u32| -> Vec<u32> {
            let digit = |&domain: &u32| {
                let value = index % domain;
                index /= domain;
                value
            };
            network.domains().iter().map(digit).collect()
        };
        let allowed = (0..count).filter(|&index| crate::check::evaluate(&network, &values(index)).is_solution());
        assert!(allowed.count() > 0, "seed {seed}");
    }
    let full = latin(7, 49, 0, &mut Rng::new(1)).unwrap();
    assert!(full.functions().iter().filter(|f| f.scope.len() == 2).count() == 49 * 12 / 2);
    assert!(latin(2, 5, 0, &mut Rng::new(1)).is_err());
}

#[test]
fn stores_go_to_open_warehouses_at_a_cost_that_grows_with_the_distance() {
    let network = warehouse(5, 20, 1000, &mut Rng::new(4)).unwrap();
    assert_eq!(network.domains(), [[2; 5].as_slice(), [5; 20].as_slice()].concat());
    let of = |scope: &[u32]| -> Vec<Cost> {
        let place = network.functions().iter().position(|function| *function.scope == *scope).unwrap();
        entries(&network, place)
    };
    for v in 0..5 {
        assert!(of(&[v])[0] == 0 && (500..=1000).contains(&of(&[v])[1]));
        for store in 5..25 {
            let forbidden: Vec<bool> = of(&[v, store]).iter().map(|&cost| cost == FORBIDDEN).collect();
            assert_eq!(forbidden, (0..10).map(|entry| entry == v).collect::<Vec<_>>());
        }
    }
    // at most 40 times 1998 / 3
    assert!((5..25).all(|store| of(&[store]).iter().all(|&cost| (0..=26_666).contains(&cost))));
    assert!((5..25).any(|store| of(&[store]).windows(2).any(|pair| pair[0] != pair[1])));
    assert!(
        warehouse(0, 3, 5, &mut Rng::new(1)).is_err() && warehouse(10_000, 1_000_000, 5, &mut Rng::new(1)).is_err()
    );
}

/// Returns all assignments of a small network that have no forbidden entry.
fn feasible(network: &Network) -> Vec<(Cost, Vec<u32>)> {
    let count: u64 = network.domains().iter().map(|&domain| u64::from(domain)).product();
    assert!(count < 1 << 20, "{count} assignments");
    let values = |mut index: u64| -> Vec<u32> {
        let digit = |&domain: &u32| {
            let value = index % u64::from(domain);
            index /= u64::from(domain);
            value as u32
        };
        network.domains().iter().map(digit).collect()
    };
    let all = (0..count).map(|index| {
        let values = values(index);
        (crate::check::evaluate(network, &values).cost, values)
    });
    all.filter(|&(cost, _)| cost < network.top()).collect()
}

#[test]
fn links_have_partners_at_one_distance_and_what_is_hard_can_be_met() {
    for (partners, seed) in (0..24).map(|seed| (1 + seed % 2, u64::from(seed))) {
        let of = Frequency { n: 24, width: 6, bands: 4, partners, degree: 6, separation: 6, hard: 0.5, span: false };
        let network = frequency(of, &mut Rng::new(seed)).unwrap();
        let mut most = 0;
        for link in 0..12 {
            let tie = network.functions().iter().position(|f| *f.scope == [2 * link, 2 * link + 1]).unwrap();
            let d = network.domains()[2 * link as usize] as usize;
            for row in entries(&network, tie).chunks(d) {
                let allowed = row.iter().filter(|&&cost| cost == 0).count();
                assert!((1..=partners as usize).contains(&allowed), "seed {seed}");
                most = most.max(allowed);
            }
        }
        assert_eq!(most, partners as usize);
        let all = 0..network.functions().len();
        let costs: FxHashSet<Cost> = all.flat_map(|f| entries(&network, f)).collect();
        assert!(costs.iter().all(|cost| [0, 1, 10, 100, 1000, FORBIDDEN].contains(cost)), "{costs:?}");
        let span = Frequency { n: 4, width: 2, bands: 3, partners, degree: 3, separation: 4, hard: 0.0, span: true };
        let network = frequency(span, &mut Rng::new(seed)).unwrap();
        let (least, values) = feasible(&network).into_iter().min().expect("the hidden assignment");
        let table = network.functions().iter().position(|f| *f.scope == [4]).unwrap();
        assert_eq!(entries(&network, table)[values[4] as usize], least);
    }
    let of = Frequency { n: 40, width: 6, bands: 4, partners: 2, degree: 8, separation: 6, hard: 0.0, span: false };
    let interfering: usize =
        (0..20).map(|seed| frequency(of, &mut Rng::new(seed)).unwrap().functions().len() - 20).sum();
    // fewer than 8 * 40 / 2 each, because circles extend beyond the edge of the map
    assert!((1600..3200).contains(&interfering), "{interfering}");
    assert!(frequency(Frequency { n: 7, ..of }, &mut Rng::new(1)).is_err());
}

#[test]
fn lessons_and_shifts_follow_each_other() {
    for seed in 0..20 {
        let of = Timetable { lessons: 6, slots: 5, teachers: 2, precedences: 4, window: 2 };
        let network = timetable(of, 9, &mut Rng::new(seed)).unwrap();
        let all = feasible(&network);
        assert!(!all.is_empty() && all.len() < 15_625 / 4, "seed {seed}: {}", all.len());
        let (nurses, days) = (3, 3);
        let network = roster(nurses, days, 2, 9, &mut Rng::new(seed)).unwrap();
        let mut rng = Rng::new(seed);
        for _ in 0..200 {
            let mut values: Vec<u32> = (0..nurses * days).map(|_| rng.below(4) as u32).collect();
            let (shifts, mut missing) = (values.clone(), 0);
            for line in 0..days * 3 {
                let first = (nurses * days + line * nurses) as usize;
                let needed = network.domains()[first] - 1;
                let mut there = 0;
                for nurse in 0..nurses {
                    there += u32::from(shifts[(nurse * days + line / 3) as usize] == line % 3 + 1);
                    values.push(there.min(needed));
                }
                missing += needed.saturating_sub(there);
            }
            let tired = |row: &[u32]| {
                row.windows(2).any(|pair| pair[1] > 0 && pair[0] > pair[1]) || row.iter().all(|&shift| shift == 3)
            };
            let cost = crate::check::evaluate(&network, &values).cost;
            let is_tired = shifts.chunks(days as usize).any(tired);
            assert_eq!(cost >= network.top(), is_tired, "seed {seed}");
            let wishes = cost - 1000 * Cost::from(missing);
            assert!(is_tired || (0..=9 * Cost::from(nurses * days)).contains(&wishes), "seed {seed}: {wishes}");
            // a counter that miscounts
            let last = values.len() - 1;
            values[last] = (values[last] + 1) % network.domains()[last];
            assert!(crate::check::evaluate(&network, &values).cost >= network.top());
        }
    }
    let full = Timetable { lessons: 11, slots: 5, teachers: 2, precedences: 0, window: 1 };
    assert!(timetable(full, 9, &mut Rng::new(1)).is_err());
}

#[test]
fn permutations_routes_and_cliques_take_values_once() {
    for seed in 0..12 {
        assert_eq!(feasible(&permutation(4, 0.5, &mut Rng::new(seed)).unwrap()).len(), 24);
        // one trip for each order of the three other places
        let network = routes(4, &mut Rng::new(seed)).unwrap();
        let trips = feasible(&network);
        assert_eq!(trips.len(), 6, "seed {seed}");
        for (_, values) in trips {
            let mut at = 0;
            for step in 0..3 {
                at = values[at] as usize;
                assert_eq!(values[3 + at], step);
            }
            assert_eq!(values[at], 0);
        }
        let network = cliques(7, 4, 5, 3, 9, &mut Rng::new(seed)).unwrap();
        assert!(!feasible(&network).is_empty() && network.functions().len() > 7 + 6, "seed {seed}");
    }
    assert!(routes(2, &mut Rng::new(1)).is_err() && cliques(9, 3, 2, 4, 1, &mut Rng::new(1)).is_err());
}

#[test]
fn tied_networks_have_hidden_assignments() {
    let forbidden = |costs: &[Cost]| costs.iter().filter(|&&cost| cost == FORBIDDEN).count();
    let mut clashes = 0;
    for seed in 0..12 {
        let network = side_chains(6, 5, &mut Rng::new(seed)).unwrap();
        assert!(!feasible(&network).is_empty(), "seed {seed}");
        clashes += (0..network.functions().len()).map(|f| forbidden(&entries(&network, f))).sum::<usize>();
        let of = Parity { bits: 12, checks: 5, width: 4, noise: 0.1 };
        let network = parity(of, 9, &mut Rng::new(seed)).unwrap();
        let words = feasible(&network).len();
        assert!(words >= 1 << (12 - 5) && words.is_power_of_two(), "seed {seed}: {words}");
        let of = Quads { quads: 2, d: 5, partners: 2, functions: 9 };
        let network = quads(of, 9, &mut Rng::new(seed)).unwrap();
        // five values of the first variable of each group, and two of each next one
        assert_eq!(feasible(&network).len(), 40 * 40, "seed {seed}");
        let between = network.functions().iter().filter(|f| f.scope[0] / 4 != f.scope[1] / 4).count();
        assert_eq!((between, network.functions().len()), (9, 6 + 9));
    }
    assert!(clashes > 50, "{clashes}");
    assert!(parity(Parity { bits: 3, checks: 1, width: 4, noise: 0.0 }, 1, &mut Rng::new(1)).is_err());
    assert!(quads(Quads { quads: 2, d: 2, partners: 3, functions: 0 }, 1, &mut Rng::new(1)).is_err());
}
