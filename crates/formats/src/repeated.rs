//! Warnings about repeated peculiarities of a file.

use super::tokens::{Place, Tokens};

/// A repeated peculiarity of a file, reported once: its first position, and how often it occurs.
#[derive(Default)]
pub(super) struct Repeated {
    first: Option<Place>,
    times: u64,
}

impl Repeated {
    pub(super) fn note(&mut self, place: Place) {
        let _ = self.first.get_or_insert(place);
        self.times += 1;
    }

    pub(super) fn is_noted(&self) -> bool {
        self.times > 0
    }

    pub(super) fn warn(&self, tokens: &mut Tokens<'_>, message: impl FnOnce(u64) -> String) {
        if let Some(place) = self.first {
            tokens.warn(place, message(self.times));
        }
    }
}
