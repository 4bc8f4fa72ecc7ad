//! The built-in heuristics: a file in `list/` and two lines here for each.

mod boltzmann;
mod coloring;
mod frequency;
mod min_conflicts;
mod mini_bucket;
mod radio;
mod satellite;
mod swap;

pub use boltzmann::Boltzmann;
pub use coloring::{Coloring, Kempe};
pub use frequency::Frequency;
pub use min_conflicts::MinConflicts;
pub use mini_bucket::MiniBucket;
pub use radio::Radio;
pub use satellite::Satellite;
pub use swap::{Exchange, Swap};

use super::ValueHeuristic;
use super::language::names;
use std::sync::Arc;

/// Returns all heuristics for networks.
pub fn all() -> Vec<Arc<dyn ValueHeuristic>> {
    vec![
        Arc::new(MinConflicts),
        Arc::new(Boltzmann),
        Arc::new(MiniBucket),
        Arc::new(Frequency),
        Arc::new(Coloring),
        Arc::new(Radio),
        Arc::new(Satellite),
        Arc::new(Swap),
    ]
}

/// Returns the heuristic with a name, or `None` if there is none.
pub fn find(name: &str) -> Option<Arc<dyn ValueHeuristic>> {
    all().into_iter().find(|heuristic| heuristic.name() == name)
}

/// Returns the names of all heuristics, and a hint at the one that was probably meant.
pub fn meant(text: &str) -> (String, Option<String>) {
    let all = all();
    names(all.iter().map(|heuristic| heuristic.name()), text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique_and_described() {
        let all = all();
        for (place, heuristic) in all.iter().enumerate() {
            assert!(all[..place].iter().all(|other| other.name() != heuristic.name()));
            assert!(heuristic.about().lines().count() > 1, "{} says what it does", heuristic.name());
            assert!(heuristic.name().bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'-'));
        }
        assert!(find("boltzmann").is_some() && find("magic").is_none());
        assert_eq!(meant("min-conflict").1.as_deref(), Some("did you mean `min-conflicts`?"));
        assert_eq!(meant("magic").1, None);
    }
}
