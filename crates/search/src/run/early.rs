//! The bound of a large network without reductions, computed beside the first solution and the preparation of the
//! search.

use super::messages::{Message, Totals};
use crate::bounds::early::{self, EarlyBound};
use crate::model::{Cost, Network};
use crate::options::Options;
use crate::scheduler::bounds::bounder_options;
use crate::stop::{Cause, Stop};
use crate::threads;
use std::io;
use std::sync::{Arc, OnceLock};
use std::thread::JoinHandle;

/// A bound that is computed on a separate thread. Dropping it ends the computation.
pub(crate) struct EarlyBounding {
    thread: Option<JoinHandle<Option<EarlyBound>>>,
    lower: Arc<OnceLock<Cost>>,
    totals: Totals,
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

    /// Begins the computation.
    ///
    /// # Errors
    /// The error if no thread can be started.
    pub fn start(network: &Network, options: &Options, stop: &Stop) -> io::Result<EarlyBounding> {
        let (left, lower) = (stop.below(), Arc::new(OnceLock::new()));
        let thread = threads::start("bound", {
            let (network, options, left, lower) = (network.clone(), options.clone(), left.clone(), Arc::clone(&lower));
            move || {
                let bound = bound(&network, &options, &left)?;
                let _ = lower.set(bound.lower);
                Some(bound)
            }
        })?;
        Ok(EarlyBounding { thread: Some(thread), lower, totals: Totals::resumed(options), left })
    }

    /// Returns the cell that will contain the bound.
    pub fn lower(&self) -> &Arc<OnceLock<Cost>> {
        &self.lower
    }

    /// Returns the message with the bound, once, after it is computed.
    pub fn arrived(&mut self) -> Option<Message> {
        // the thread ends once the bound is in the cell
        let thread = self.thread.take_if(|thread| thread.is_finished() || self.lower.get().is_some())?;
        match thread.join() {
            Ok(bound) => Some(message(bound?, self.totals)),
            Err(panic) => {
                let message = format!("the first bound ended by an internal error ({})", threads::message(&*panic));
                Some(Message::Lost { source: early::SOURCE.into(), message })
            }
        }
    }
}

/// Reports and returns the bound of one pass of cost shifting; `None` if the network is not large.
pub(crate) fn early_bound(
    network: &Network,
    options: &Options,
    stop: &Stop,
    tell: &mut dyn FnMut(Message),
) -> Option<Cost> {
    let bound = bound(network, options, stop)?;
    let lower = bound.lower;
    tell(message(bound, Totals::resumed(options)));
    Some(lower)
}

fn bound(network: &Network, options: &Options, stop: &Stop) -> Option<EarlyBound> {
    let workers = threads::pool(options.threads()).ok()?;
    workers.install(|| early::bound(network, &bounder_options(options), options.certificate, stop))
}

fn message(EarlyBound { lower, proof }: EarlyBound, totals: Totals) -> Message {
    Message::Bound { bound: lower, source: early::SOURCE.into(), totals, proof: proof.map(Box::new) }
}
