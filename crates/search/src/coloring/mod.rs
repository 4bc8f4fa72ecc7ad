//! Graph coloring with the least number of colors. Greedy colorings come first. Then the number of colors decreases by
//! one at a time, as long as the search finds an assignment without conflicts. This is the search of any network, on a
//! network that counts conflicts; it begins with the last coloring, whose smallest class is distributed over the other
//! colors. Proofs that no fewer colors are enough alternate with it: larger cliques, and a branch and bound.
//!
//! A budget of rounds covers the whole run. Each number of colors takes as many rounds as it needs, and the next one
//! has the rest.

mod clique;
mod dsatur;
mod exact;
#[cfg(test)]
mod tests;

use super::event::{Event, EventKind, StoppedBy, Summary};
use super::ledger::{Ending, Ledger, Pulse, Totals};
use super::options::Options;
use super::run::Run;
use super::run::clock::Clock;
use super::run::goal::reached;
use super::run::handover::DeviceHandover;
use super::run::initial::{WARM_START, assignments};
use super::run::publisher::EventPublisher;
use super::run::solve::{check_start, checked, search, summary};
use crate::bounds::BoundChoice;
use crate::check;
use crate::error::Error;
use crate::graph;
use crate::model::{Cost, FORBIDDEN, Network, Number};
use crate::stop::{Cause, Stop};
use crate::tuning::tuning;
use clique::Cliques;
use dsatur::{NONE, SmallestLast, dsatur};
use exact::{Answer, Exact};
use fangs_model::coloring::{Graph, conflicts};
use rustc_hash::FxHashSet;
use std::time::Instant;

/// Searches for a coloring with the least number of colors. `observe` receives every event as it happens, with the
/// number of colors as the cost. Setting `stop` from any thread ends the run. The solution has a color, from 0, for
/// each vertex.
///
/// # Errors
/// The errors of [`solve`](super::solve), and [`Error::Usage`] if a certificate is requested.
pub fn color(graph: &Graph, options: &Options, stop: &Stop, observe: &mut dyn FnMut(&Event)) -> Result<Summary, Error> {
    color_by(&Clock::start(Instant::now(), options.time, stop), graph, options, stop, observe)
}

/// Like [`color`], but takes a running clock; see [`solve_by`](super::solve_by).
///
/// # Errors
/// The errors of [`color`].
pub fn color_by(
    clock: &Clock,
    graph: &Graph,
    options: &Options,
    stop: &Stop,
    observe: &mut dyn FnMut(&Event),
) -> Result<Summary, Error> {
    let _ = checked(options)?;
    if options.certificate {
        return Err(Error::Usage("the least number of colors has no certificate: a number of colors has".into()));
    }
    let palette = graph.palette(stop)?;
    for start in &options.warm_starts {
        check_start(&palette, start)?;
        if start.contains(&None) {
            return Err(Error::Usage("a start of a graph colors every vertex: this one leaves some out".into()));
        }
    }
    let mut publisher = EventPublisher::new(&palette, clock, options, stop, observe);
    let (graph, own, ledger) = (graph.clone(), options.clone(), publisher.ledger().clone());
    let work = move |stop: &Stop, pulse: Pulse<'_>| Coloring::new(&graph, &own, ledger, stop, pulse)?.run().map(Some);
    let (threads, outcome) = search(options, work, stop, &mut publisher);
    summary(publisher, threads, stop, outcome)
}

/// The coloring, the clique and the bound that [`greedy_colors`] returns.
#[derive(Clone, Debug)]
pub struct Colors {
    /// A color, from 0, for each vertex.
    pub coloring: Vec<u32>,
    /// The vertices of a clique.
    pub clique: Vec<u32>,
    /// Lower bound on the number of colors.
    pub bound: Cost,
    /// The degeneracy of the graph: the largest minimum degree of its subgraphs.
    pub degeneracy: u32,
}

/// Returns a coloring by greedy choices and a large clique.
///
/// # Errors
/// [`Error::Stopped`]; [`Error::Internal`] for a bug.
pub fn greedy_colors(graph: &Graph, stop: &Stop) -> Result<Colors, Error> {
    let options = Options::default();
    let timer = Clock::start(Instant::now(), None, stop).timer();
    let ledger = Ledger::new(&graph.palette(stop)?, timer, &options, stop);
    let pulse = &mut || ();
    let mut coloring = Coloring::new(graph, &options, ledger, stop, pulse)?;
    coloring.begin()?;
    Ok(Colors {
        coloring: coloring.best(),
        bound: coloring.ledger.proved(),
        clique: coloring.cliques.best().to_vec(),
        degeneracy: coloring.smallest_last.core.iter().copied().max().unwrap_or(0),
    })
}

/// The state of a coloring run.
struct Coloring<'a> {
    graph: &'a Graph,
    palette: Network,
    near: graph::Graph,
    smallest_last: SmallestLast,
    cliques: Cliques,
    options: &'a Options,
    stop: &'a Stop,
    /// The best coloring, with the number of its colors as its cost, and the lower bound on it.
    ledger: Ledger,
    pulse: Pulse<'a>,
    totals: Totals,
    /// The device of the last search, if there was one.
    device: Option<String>,
    /// Notes already reported, because each number of colors would repeat them.
    told: FxHashSet<String>,
}

/// A decision on whether a number of colors is enough.
enum Decision {
    Coloring(Vec<u32>),
    Infeasible,
}

/// The branch and bound on a k-core, which alternates with the search.
struct Proof {
    core: Vec<u32>,
    exact: Exact,
    vertices: usize,
    /// Work so far, including that of the clique search.
    spent: u64,
}

impl Proof {
    fn new(
        vertices: usize,
        core: Vec<u32>,
        edges: &[[u32; 2]],
        k: u32,
        clique: &[u32],
        stop: &Stop,
    ) -> Result<Self, Error> {
        let mut local = vec![NONE; vertices];
        core.iter().zip(0..).for_each(|(&v, index)| local[v as usize] = index);
        let edges: Vec<[u32; 2]> = edges.iter().map(|edge| edge.map(|v| local[v as usize])).collect();
        let clique: Vec<u32> = clique.iter().map(|&v| local[v as usize]).filter(|&v| v != NONE).collect();
        let exact = Exact::new(graph::Graph::of_edges(core.len(), &edges, stop)?, k, &clique);
        Ok(Proof { core, exact, vertices, spent: 0 })
    }

    /// Continues for half of `work`; the clique search has the other half.
    fn search(&mut self, work: u64, stop: &Stop) -> Option<(Decision, String)> {
        self.spent += work;
        let decision = match self.exact.search(work / 2, stop)? {
            Answer::Infeasible => Decision::Infeasible,
            Answer::Coloring(colors) => {
                let mut solution = vec![NONE; self.vertices];
                self.core.iter().zip(colors).for_each(|(&v, color)| solution[v as usize] = color);
                Decision::Coloring(solution)
            }
        };
        Some((decision, "dsatur-exact".into()))
    }
}

impl<'a> Coloring<'a> {
    fn new(
        graph: &'a Graph,
        options: &'a Options,
        ledger: Ledger,
        stop: &'a Stop,
        pulse: Pulse<'a>,
    ) -> Result<Self, Error> {
        options.activity.step("first solution");
        Ok(Coloring {
            palette: graph.palette(stop)?,
            cliques: Cliques::default(),
            near: graph::Graph::of_edges(graph.vertices as usize, &graph.edges, stop)?,
            graph,
            smallest_last: SmallestLast::default(),
            options,
            stop,
            ledger,
            pulse,
            totals: Totals::default(),
            device: None,
            told: FxHashSet::default(),
        })
    }

    fn run(mut self) -> Result<Ending, Error> {
        if !self.graph.loops.is_empty() {
            self.raise(self.palette.top(), "loop");
        }
        for start in &self.options.warm_starts {
            let start: Vec<u32> = start.iter().copied().flatten().collect();
            if self.is_coloring(&start) {
                self.found(&start, WARM_START)?;
            }
        }
        if self.options.rounds != Some(0) && self.finished().is_none() {
            self.begin()?;
        }
        let stopped_by = loop {
            match self.finished() {
                Some(reason) => break reason,
                None => self.lessen()?,
            }
        };
        let device = match self.device {
            Some(device) => device,
            None => {
                self.ledger.note(DeviceHandover::missed(&self.options.device, self.stop)?);
                "cpu".into()
            }
        };
        let (z, induced_width, values, values_forbidden) = Default::default();
        Ok(Ending { stopped_by, totals: self.totals, z, induced_width, values, values_forbidden, device })
    }

    /// Computes the first colorings and the first bounds.
    fn begin(&mut self) -> Result<(), Error> {
        let mut colors = vec![NONE; self.near.len()];
        for (color, class) in self.near.greedy_classes(self.stop)?.iter().enumerate() {
            class.iter().for_each(|&v| colors[v as usize] = color as u32);
        }
        self.found(&colors, "greedy")?;
        // a coloring with equally many colors would not be reported, and on a bipartite graph DSATUR never needs a
        // third (Brelaz)
        if let Some(colors) = dsatur(&self.near, self.upper().saturating_sub(1).max(2), self.stop) {
            self.found(&colors, "dsatur")?;
        }
        if self.upper() > 2 {
            self.stop.check()?;
            self.raise(3, "odd cycle");
        }
        self.smallest_last = SmallestLast::new(&self.near, self.stop)?;
        self.cliques = Cliques::new(&self.near, &self.smallest_last, self.stop)?;
        self.search_cliques(
            tuning().coloring.first_cliques * (self.graph.vertices as u64 + self.graph.edges.len() as u64),
        );
        Ok(())
    }

    fn finished(&self) -> Option<StoppedBy> {
        if let Some(reason) = reached(&self.palette, self.options, &self.ledger) {
            return Some(reason);
        }
        if self.options.rounds.is_some_and(|rounds| self.totals.rounds >= rounds) {
            return Some(StoppedBy::Rounds);
        }
        self.stop.cause().map(StoppedBy::from)
    }

    /// Searches for a coloring with one color less, until it is found or refuted or the budget is spent.
    fn lessen(&mut self) -> Result<(), Error> {
        let k = self.upper() - 1;
        let start = self.shared_out();
        if self.is_coloring(&start) {
            return self.found(&start, "greedy");
        }
        // vertices outside the k-core can always be colored afterwards
        let in_core = |v: &u32| self.smallest_last.core[*v as usize] >= k;
        let core: Vec<u32> = (0..self.graph.vertices).filter(in_core).collect();
        if core.is_empty() {
            return self.complete(k, vec![NONE; self.near.len()], "smallest-last");
        }
        if k > u32::from(u16::MAX) {
            return Err(Error::Usage(format!("{k} colors: the search takes up to {}", u16::MAX)));
        }
        let edges: Vec<[u32; 2]> = self.graph.edges.iter().copied().filter(|edge| edge.iter().all(in_core)).collect();
        match self.decide(k, start, core, &edges)? {
            Some((Decision::Coloring(colors), source)) => self.complete(k, colors, &source)?,
            Some((Decision::Infeasible, source)) => self.raise(self.ledger.upper(), &source),
            None if self.finished().is_some() => {}
            None => return Err(Error::Internal(format!("{k} colors: the search ended without a reason"))),
        }
        Ok(())
    }

    /// Decides whether `k` colors are enough for the edges of a k-core. Returns the decision and its source; `None` if
    /// the budget is spent first.
    fn decide(
        &mut self,
        k: u32,
        start: Vec<u32>,
        core: Vec<u32>,
        edges: &[[u32; 2]],
    ) -> Result<Option<(Decision, String)>, Error> {
        let network = conflicts(&self.graph.name, self.graph.vertices, edges, k, self.stop)?.build();
        let options = Options {
            rounds: self.options.rounds.map(|rounds| rounds - self.totals.rounds),
            warm_starts: vec![start.into_iter().map(Some).collect()],
            target: Some(Number::Integer(0)),
            gap: None,
            // each number of colors has its own network
            facts: false,
            ..self.options.clone()
        };
        let mut proof = (options.bound != BoundChoice::None)
            .then(|| Proof::new(self.near.len(), core, edges, k, self.cliques.best(), self.stop))
            .transpose()?;
        let (before, over) = (self.totals, self.stop.below());
        let ledger = Ledger::new(&network, self.ledger.timer(), &options, &over);
        let mut decided = None;
        let mut pulse = || {
            for event in ledger.take_events() {
                let source = &*event.source;
                match (event.kind, event.message) {
                    (EventKind::Solution, _) if decided.is_none() && event.cost == Some(Number::Integer(0)) => {
                        let colors = event.solution.iter().flat_map(|colors| colors.iter().copied()).collect();
                        decided = Some((Decision::Coloring(colors), source.into()));
                    }
                    (EventKind::Bound, _) if decided.is_none() => {
                        decided = Some((Decision::Infeasible, source.into()));
                        over.set(Cause::Signal);
                    }
                    (EventKind::Note, Some(message)) if self.told.insert(message.to_string()) => {
                        self.ledger.note(message.to_string());
                    }
                    (EventKind::Warning, Some(message)) => self.ledger.lose(source, message.to_string()),
                    _ => {}
                }
            }
            let Some(totals) = ledger.take_progress() else { return };
            self.totals = before.and(&totals);
            self.progress();
            let Some(proof) = proof.as_mut().filter(|_| decided.is_none()) else { return };
            let work = (totals.ratings / tuning().coloring.proof_share).saturating_sub(proof.spent);
            self.search_cliques(work / 2);
            decided = proof.search(work, self.stop);
            if self.ledger.proved() > k.into() {
                decided = Some((Decision::Infeasible, "clique".into()));
            }
            if decided.is_some() {
                over.set(Cause::Signal);
            }
        };
        let first = assignments(&network, &options, 0, &ledger, &over);
        let ended = Run::new(&network, &options, &ledger, first, &over, &mut pulse)
            .and_then(|run| run.map(Run::run).transpose());
        pulse();
        match ended {
            Ok(None) => {}
            Ok(Some(ending)) => {
                self.totals = before.and(&ending.totals);
                self.device = Some(ending.device);
            }
            Err(Error::Stopped) => {}
            Err(error) => return Err(error),
        }
        Ok(decided)
    }

    /// Returns the number of colors of the best coloring; [`NONE`] before the first one.
    fn upper(&self) -> u32 {
        let upper = self.ledger.upper();
        if upper < FORBIDDEN { upper as u32 } else { NONE }
    }

    /// Returns the best coloring.
    fn best(&self) -> Vec<u32> {
        self.ledger.lock().known.least().map(|best| best.assignment.to_vec()).unwrap_or_default()
    }

    /// Notes the counters of a round.
    fn progress(&mut self) {
        self.ledger.progress(self.totals);
        (self.pulse)();
    }

    /// Returns the best coloring with one color less. The vertices of the smallest class each take the color that the
    /// fewest of their neighbours have.
    fn shared_out(&self) -> Vec<u32> {
        let (upper, best) = (self.upper(), self.best());
        let mut sizes = vec![0u32; upper as usize];
        best.iter().for_each(|&color| sizes[color as usize] += 1);
        let last = upper - 1;
        let smallest = (0..upper).min_by_key(|&color| (sizes[color as usize], color)).unwrap_or(last);
        let renamed = |&color: &u32| match color {
            color if color == smallest => NONE,
            color if color == last => smallest,
            color => color,
        };
        let mut colors: Vec<u32> = best.iter().map(renamed).collect();
        for v in 0..colors.len() {
            if colors[v] == NONE {
                let mut near = vec![0u32; last as usize];
                for &u in self.near.neighbours(v) {
                    if let Some(near) = near.get_mut(colors[u as usize] as usize) {
                        *near += 1;
                    }
                }
                colors[v] = (0..last).min_by_key(|&color| near[color as usize]).unwrap_or(0);
            }
        }
        colors
    }

    /// Completes a coloring of the `k`-core to the whole graph and keeps it.
    fn complete(&mut self, k: u32, mut colors: Vec<u32>, source: &str) -> Result<(), Error> {
        self.smallest_last.complete(&self.near, k, &mut colors);
        self.found(&colors, source)
    }

    fn search_cliques(&mut self, work: u64) {
        let _ = self.cliques.search(&self.near, work, self.stop);
        self.raise(self.cliques.best().len() as Cost, "clique");
    }

    fn is_coloring(&self, colors: &[u32]) -> bool {
        self.graph.loops.is_empty() && check::monochromatic(&self.graph.edges, colors).next().is_none()
    }

    /// Keeps a coloring if it is better than the incumbent.
    fn found(&mut self, colors: &[u32], source: &str) -> Result<(), Error> {
        if colors.contains(&NONE) || !self.is_coloring(colors) {
            return Err(Error::Internal(format!("{source}: no coloring")));
        }
        let mut names = vec![NONE; colors.len()];
        let mut count = 0;
        let mut name = |&color: &u32| {
            let name = &mut names[color as usize];
            if *name == NONE {
                (*name, count) = (count, count + 1);
            }
            *name
        };
        let renamed: Vec<u32> = colors.iter().map(&mut name).collect();
        let (cost, proved) = (Cost::from(count), self.ledger.proved());
        if cost < proved {
            return Err(Error::Internal(format!("{source}: {count} colors are below the proven bound {proved}")));
        }
        self.ledger.count(self.totals);
        if self.ledger.offer(cost, Number::Integer(cost), &renamed, source) {
            (self.pulse)();
        }
        Ok(())
    }

    fn raise(&mut self, bound: Cost, source: &str) {
        if bound > self.ledger.proved() {
            self.ledger.count(self.totals);
            self.ledger.raise(bound, source, None);
            (self.pulse)();
        }
    }
}
