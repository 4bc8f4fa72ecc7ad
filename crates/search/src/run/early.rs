//! The bound of a large network without reductions, computed beside the first solution and the preparation of the
//! search.

use crate::bounds::early::{self, EarlyBound};
use crate::ledger::Ledger;
use crate::model::Network;
use crate::options::Options;
use crate::stop::{Cause, Stop};
use crate::threads;
use std::io;

/// A bound that is computed on a separate thread. Dropping it ends the computation.
pub(crate) struct EarlyBounding {
    left: Stop,
}

impl Drop for EarlyBounding {
    fn drop(&mut self) {
        self.left.set(Cause::Time);
    }
}

impl EarlyBounding {
    /// Returns whether the bound can be computed concurrently: not if the run must be repeatable or has one thread, nor
    /// if a certificate needs the bound's proof.
    pub fn suits(options: &Options) -> bool {
        options.threads() > 1 && options.rounds.is_none() && !options.certificate
    }

    /// Begins the computation, which gives the bound to the ledger.
    ///
    /// # Errors
    /// The error if no thread can be started.
    pub fn start(network: &Network, options: &Options, ledger: &Ledger, stop: &Stop) -> io::Result<EarlyBounding> {
        let left = stop.below();
        drop(threads::start("bound", {
            let (network, options, ledger, left) = (network.clone(), options.clone(), ledger.clone(), left.clone());
            move || {
                if let Err(what) = threads::caught(|| early_bound(&network, &options, &ledger, &left)) {
                    let message = format!("the first bound ended by an internal error ({what})");
                    ledger.lose(early::SOURCE, message);
                }
            }
        })?);
        Ok(EarlyBounding { left })
    }
}

/// Gives the bound of one pass of cost shifting to the ledger if the network is large.
pub(crate) fn early_bound(network: &Network, options: &Options, ledger: &Ledger, stop: &Stop) {
    let Ok(workers) = threads::pool(options.threads()) else { return };
    let bound = workers.install(|| early::bound(network, &options.bounder(), stop));
    if let Some(EarlyBound { lower, proof }) = bound {
        ledger.raise(lower, early::SOURCE, proof);
    }
}
