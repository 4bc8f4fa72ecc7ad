//! FANG: generic successor generation guided by local heuristics (Köster, Groß, Krüger: "FANG: Fast and
//! Efficient Successor-State Generation for Heuristic Optimization on GPUs", sections 3.1 to 3.8).

mod heuristic;

pub use heuristic::LocalHeuristic;
