//! Values that are made once for a problem.

use crate::error::Error;
use std::sync::{Mutex, OnceLock, PoisonError};

/// A value that is made at the first call, unless that is stopped.
#[derive(Debug)]
pub(super) struct Lazy<T> {
    made: OnceLock<T>,
    /// Held by the thread that makes the value, while others wait.
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
