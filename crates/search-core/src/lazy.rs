//! What is made once for a core.

use crate::error::Error;
use std::sync::{Mutex, OnceLock, PoisonError};

/// What is made when it is first asked for, unless that is stopped.
#[derive(Debug)]
pub(super) struct Lazy<T> {
    made: OnceLock<T>,
    /// Held by who makes it: others wait.
    making: Mutex<()>,
}

impl<T> Default for Lazy<T> {
    fn default() -> Self {
        Lazy { made: OnceLock::new(), making: Mutex::default() }
    }
}

impl<T> Lazy<T> {
    pub fn made(&self) -> Option<&T> {
        self.made.get()
    }

    pub fn get(&self, make: impl FnOnce() -> Result<T, Error>) -> Result<&T, Error> {
        if let Some(made) = self.made.get() {
            return Ok(made);
        }
        let making = self.making.lock().unwrap_or_else(PoisonError::into_inner);
        let made = match self.made.get() {
            Some(made) => made,
            None => {
                let made = make()?;
                self.made.get_or_init(|| made)
            }
        };
        drop(making);
        Ok(made)
    }
}
