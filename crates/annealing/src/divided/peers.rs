//! How the parts of a state exchange messages.

use crate::error::Error;
use fangs_model::model::Share;
use std::sync::mpsc::{Receiver, Sender, channel};

/// The connection of a part to the other parts of a state.
pub trait Peers {
    /// Returns the part of this thread or process.
    fn share(&self) -> Share;

    /// Sends a message to each part, empties it, and returns the messages from all parts, by their numbers. All parts
    /// call it together, and each receives its own message, too.
    ///
    /// # Errors
    /// A part that has ended.
    fn exchange(&mut self, messages: &mut [Vec<u8>]) -> Result<Vec<Vec<u8>>, Error>;
}

/// Returns the sums of numbers of all parts, which call it together.
///
/// # Errors
/// Errors of the exchange.
pub fn sums<const N: usize>(peers: &mut dyn Peers, own: [i64; N]) -> Result<[i64; N], Error> {
    combined(peers, own, i64::saturating_add)
}

/// Combines numbers of all parts, in the order of the parts.
pub(super) fn combined<const N: usize>(
    peers: &mut dyn Peers,
    own: [i64; N],
    combine: fn(i64, i64) -> i64,
) -> Result<[i64; N], Error> {
    let text: Vec<u8> = own.iter().flat_map(|number| number.to_le_bytes()).collect();
    let mut messages = vec![text; peers.share().of];
    let received = peers.exchange(&mut messages)?;
    let numbers = |message: &Vec<u8>| -> [i64; N] {
        let number = |k: usize| message.get(8 * k..8 * k + 8).and_then(|bytes| bytes.try_into().ok());
        std::array::from_fn(|k| number(k).map_or(0, i64::from_le_bytes))
    };
    let all = received.iter().map(numbers);
    Ok(all.reduce(|a, b| std::array::from_fn(|k| combine(a[k], b[k]))).unwrap_or(own))
}

/// Parts that are threads of one process.
#[derive(Debug)]
pub struct ThreadPeers {
    share: Share,
    to: Vec<Sender<Vec<u8>>>,
    from: Vec<Receiver<Vec<u8>>>,
}

impl ThreadPeers {
    /// Returns the connected peers of `parts` threads.
    pub fn connected(parts: usize) -> Vec<ThreadPeers> {
        let new = |place| ThreadPeers { share: Share { place, of: parts }, to: Vec::new(), from: Vec::new() };
        let mut all: Vec<ThreadPeers> = (0..parts).map(new).collect();
        for from in 0..parts {
            for to in &mut all {
                let (sender, receiver) = channel();
                to.from.push(receiver);
                // kept until all receivers have one sender for each part
                to.to.push(sender);
            }
            let senders = all.iter_mut().filter_map(|to| to.to.pop()).collect();
            all[from].to = senders;
        }
        all
    }
}

impl Peers for ThreadPeers {
    fn share(&self) -> Share {
        self.share
    }

    fn exchange(&mut self, messages: &mut [Vec<u8>]) -> Result<Vec<Vec<u8>>, Error> {
        let gone = || Error::Internal("a thread with a part of the network has ended".into());
        for (to, message) in self.to.iter().zip(messages) {
            to.send(std::mem::take(message)).map_err(|_| gone())?;
        }
        self.from.iter().map(|from| from.recv().map_err(|_| gone())).collect()
    }
}
