//! Chromatic numbers against brute force and known graphs; first colorings and cliques separately.

use super::*;
use crate::Status;
use crate::rng::Rng;

fn of_edges(vertices: u32, edges: Vec<[u32; 2]>) -> Graph {
    Graph { name: "test".into(), vertices, edges, loops: Vec::new(), warnings: Vec::new() }
}

fn graph(vertices: u32, edge: impl Fn(u32, u32) -> bool) -> Graph {
    let pairs = (0..vertices).flat_map(|v| (0..v).map(move |u| [u, v]));
    of_edges(vertices, pairs.filter(|&[u, v]| edge(u, v)).collect())
}

fn near_of(vertices: usize, edges: &[[u32; 2]]) -> graph::Graph {
    graph::Graph::of_edges(vertices, edges, &Stop::new()).expect("no stop is set")
}

fn smallest_last(near: &graph::Graph) -> SmallestLast {
    SmallestLast::new(near, &Stop::new()).expect("no stop is set")
}

/// Returns a graph that has each edge with probability `percent` / 100.
fn random(rng: &mut Rng, vertices: u32, percent: u64) -> Graph {
    let drawn: Vec<bool> = (0..vertices * vertices).map(|_| rng.below(100) < percent).collect();
    graph(vertices, |u, v| drawn[(u * vertices + v) as usize])
}

fn queens(side: u32) -> Graph {
    graph(side * side, |u, v| {
        let (x, y) = ((u % side).abs_diff(v % side), (u / side).abs_diff(v / side));
        x == 0 || y == 0 || x == y
    })
}

/// Returns Mycielski's graph. Each step adds a copy of every vertex, adjacent to its neighbours, and one vertex
/// adjacent to all copies.
fn mycielski(steps: u32) -> Graph {
    let (mut vertices, mut edges) = (2, vec![[0, 1]]);
    for _ in 1..steps {
        edges = edges.iter().flat_map(|&[u, v]| [[u, v], [u, v + vertices], [v, u + vertices]]).collect();
        edges.extend((vertices..2 * vertices).map(|copy| [copy, 2 * vertices]));
        vertices = 2 * vertices + 1;
    }
    of_edges(vertices, edges)
}

fn petersen() -> Graph {
    graph(10, |u, v| match (u < 5, v < 5) {
        (true, true) => v - u == 1 || v - u == 4,
        (false, false) => v - u == 2 || v - u == 3,
        _ => v == u + 5,
    })
}

/// Returns the chromatic number by trying all colorings in which each vertex takes a used color or the first unused
/// one.
fn least(graph: &Graph) -> u32 {
    fn least_after(graph: &Graph, colors: &mut Vec<u32>, used: u32, most: u32) -> u32 {
        let v = colors.len() as u32;
        if used >= most || v == graph.vertices {
            return used.min(most);
        }
        (0..=used).fold(most, |most, color| {
            let clashes = graph.edges.iter().any(|&[a, b]| b.max(a) == v && colors[a.min(b) as usize] == color);
            if clashes {
                return most;
            }
            colors.push(color);
            let found = least_after(graph, colors, used.max(color + 1), most);
            let _ = colors.pop();
            found
        })
    }
    least_after(graph, &mut Vec::new(), 0, graph.vertices)
}

fn run(graph: &Graph, options: &Options) -> Summary {
    let mut last = (u32::MAX, 0);
    let summary = color(graph, options, &Stop::new(), &mut |event| {
        let side = |number: Option<Number>, unknown| number.map_or(unknown, |number| number.as_f64() as u32);
        let now = (side(event.cost, u32::MAX), side(event.bound, 0));
        assert!(now.0 <= last.0 && now.1 >= last.1 && now.1 <= now.0, "{now:?} after {last:?}");
        last = now;
        if let Some(colors) = &event.solution {
            assert!(check::monochromatic(&graph.edges, colors).next().is_none());
            assert_eq!(colors.iter().max().map_or(0, |&most| most + 1), now.0, "colors have no gaps");
        }
    });
    summary.expect("a run")
}

fn cpu() -> Options {
    Options { device: crate::device::Choice::Cpu.into(), threads: Some(2), ..Options::default() }
}

#[test]
fn small_graphs_have_the_least_number_of_colors() {
    let mut rng = Rng::new(1);
    for case in 0..150 {
        let vertices = rng.below(11) as u32;
        let percent = 10 + rng.below(80);
        let graph = random(&mut rng, vertices, percent);
        let seed = rng.draw();
        let summary = run(&graph, &Options { seed, ..cpu() });
        let least = i64::from(least(&graph));
        assert_eq!(summary.status, Status::Optimal, "case {case}");
        assert_eq!(
            (summary.cost, summary.bound),
            (Some(Number::Integer(least)), Some(Number::Integer(least))),
            "case {case}"
        );
    }
}

#[test]
fn known_graphs() {
    for (name, graph, least) in [
        ("queens 5", queens(5), 5),
        ("queens 6", queens(6), 7),
        ("mycielski 3", mycielski(3), 4),
        ("mycielski 4", mycielski(4), 5),
        ("petersen", petersen(), 3),
        ("complete", graph(40, |_, _| true), 40),
        ("bipartite", graph(60, |u, v| (u + v) % 2 == 1), 2),
        ("odd ring", graph(101, |u, v| v - u == 1 || v - u == 100), 3),
        ("no edges", graph(7, |_, _| false), 1),
        ("no vertices", graph(0, |_, _| false), 0),
    ] {
        let summary = run(&graph, &cpu());
        assert_eq!((summary.status, summary.cost), (Status::Optimal, Some(Number::Integer(least))), "{name}");
    }
}

#[test]
fn a_vertex_next_to_itself_has_no_color() {
    let looped = Graph { loops: vec![1], ..petersen() };
    let summary = run(&looped, &cpu());
    assert_eq!((summary.status, summary.stopped_by, summary.cost), (Status::Infeasible, StoppedBy::Infeasible, None));
}

#[test]
fn two_parts_never_get_a_third_color() {
    let mut rng = Rng::new(2);
    for _ in 0..300 {
        let graph = random(&mut rng, 40, 5);
        let parts: Vec<bool> = (0..40).map(|_| rng.below(2) == 1).collect();
        let edges =
            graph.edges.into_iter().filter(|&[u, v]| parts[u as usize] != parts[v as usize]).collect::<Vec<_>>();
        let near = near_of(40, &edges);
        let colors = dsatur(&near, 2, &Stop::new()).expect("two colors are enough");
        assert!(check::monochromatic(&edges, &colors).next().is_none());
    }
}

#[test]
fn cores_are_what_is_left_where_vertices_of_few_neighbours_go() {
    let mut rng = Rng::new(3);
    for _ in 0..200 {
        let percent = 5 + rng.below(40);
        let graph = random(&mut rng, 25, percent);
        let near = near_of(25, &graph.edges);
        let smallest_last = smallest_last(&near);
        for k in 0..25u32 {
            let mut left = vec![true; 25];
            let few = |left: &[bool]| {
                (0..25)
                    .find(|&v| left[v] && (near.neighbours(v).iter().filter(|&&u| left[u as usize]).count() as u32) < k)
            };
            while let Some(v) = few(&left) {
                left[v] = false;
            }
            let core: Vec<bool> = smallest_last.core.iter().map(|&core| core >= k).collect();
            assert_eq!(core, left);
        }
        let k = smallest_last.core.iter().max().map_or(1, |&most| most + 1);
        let mut colors = vec![NONE; 25];
        smallest_last.complete(&near, k, &mut colors);
        assert!(colors.iter().all(|&color| color < k) && check::monochromatic(&graph.edges, &colors).next().is_none());
    }
}

#[test]
fn the_largest_clique_is_found_in_the_end() {
    let mut rng = Rng::new(4);
    for _ in 0..100 {
        let percent = 10 + rng.below(85);
        let graph = random(&mut rng, 14, percent);
        let near = near_of(14, &graph.edges);
        let mut cliques = Cliques::new(&near, &smallest_last(&near), &Stop::new()).unwrap();
        while !cliques.search(&near, 1, &Stop::new()) {}
        let is_clique = |set: u32| {
            let members: Vec<u32> = (0..14).filter(|v| set >> v & 1 == 1).collect();
            members.iter().all(|&v| members.iter().all(|&u| u == v || near.neighbours(v as usize).contains(&u)))
        };
        let largest = (0..1u32 << 14).filter(|set| set.count_ones() as usize >= cliques.best().len());
        let found = cliques.best().iter().fold(0, |set, v| set | 1 << v);
        assert!(is_clique(found));
        assert_eq!(largest.filter(|&set| is_clique(set)).map(u32::count_ones).max(), Some(cliques.best().len() as u32));
    }
}

#[test]
fn branch_and_bound_decides_in_slices() {
    let mut rng = Rng::new(5);
    for _ in 0..200 {
        let percent = 20 + rng.below(70);
        let graph = random(&mut rng, 10, percent);
        let least = least(&graph);
        for k in 1..=10 {
            let edge = graph.edges.first().map_or(vec![0], |edge| edge.to_vec());
            let clique = if edge.len() > k as usize { Vec::new() } else { edge };
            let mut exact = Exact::new(near_of(10, &graph.edges), k, &clique);
            let answer = loop {
                if let Some(answer) = exact.search(1 + rng.below(50), &Stop::new()) {
                    break answer;
                }
            };
            match answer {
                Answer::Infeasible => assert!(k < least),
                Answer::Coloring(colors) => {
                    assert!(k >= least && colors.iter().all(|&color| color < k));
                    assert!(check::monochromatic(&graph.edges, &colors).next().is_none());
                }
            }
        }
    }
}

#[test]
fn rounds_do_the_same_on_any_number_of_threads() {
    let graph = random(&mut Rng::new(6), 60, 50);
    let with = |threads| {
        let options = Options { threads: Some(threads), rounds: Some(8), seed: 3, ..cpu() };
        let summary = run(&graph, &options);
        assert!(summary.rounds > 0, "the greedy coloring is not the best");
        (summary.cost, summary.bound, summary.solution, summary.rounds, summary.moves, summary.ratings)
    };
    assert_eq!(with(1), with(3));
}

#[test]
fn a_budget_or_a_target_ends_the_run_and_a_start_is_kept() {
    let graph = queens(8);
    let greedy = greedy_colors(&graph, &Stop::new()).expect("colors").coloring;
    let count = greedy.iter().max().map_or(0, |&most| most + 1);
    let stopped = |options: Options| {
        let summary = run(&graph, &options);
        (summary.stopped_by, summary.cost.map(|cost| cost.as_f64() as u32))
    };
    let few = Options { rounds: Some(1), bound: BoundChoice::None, ..cpu() };
    let (reason, cost) = stopped(few.clone());
    assert!(reason == StoppedBy::Rounds && cost <= Some(count));
    assert_eq!(stopped(Options { rounds: Some(0), ..cpu() }), (StoppedBy::Rounds, None));
    let first = StoppedBy::Target;
    assert_eq!(stopped(Options { target: Some(Number::Integer(count.into())), ..cpu() }), (first, Some(count)));
    assert_eq!(stopped(Options { gap: Some(0.9), ..cpu() }), (StoppedBy::Gap, Some(count)));
    let start: Vec<u32> = (0..64).rev().collect();
    let started =
        run(&graph, &Options { warm_starts: vec![start.into_iter().map(Some).collect()], rounds: Some(0), ..cpu() });
    assert_eq!(started.cost, Some(Number::Integer(64)));
    assert_eq!(started.solution, Some((0..64).collect()));
    let wrong = Options { warm_starts: vec![vec![Some(0); 64]], ..few };
    assert!(stopped(wrong).1 <= Some(count));
}
