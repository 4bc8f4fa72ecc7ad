//! Processes that `mpirun` has started, each with a part of one network.

use crate::error::Error;
use crate::model::Share;
use crate::search::Peers;
use mpi::datatype::{Partition, PartitionMut};
use mpi::environment::Universe;
use mpi::topology::SimpleCommunicator;
use mpi::traits::{Communicator, CommunicatorCollectives};

/// This process among those with the other parts. All calls of MPI are made by the thread that made it.
pub struct PartRanks {
    world: SimpleCommunicator,
    share: Share,
    // ends MPI after everything that uses it is gone
    _universe: Universe,
}

impl PartRanks {
    /// Meets the other processes. Returns `None` if no launcher has started any.
    ///
    /// # Errors
    /// An MPI library that cannot be used.
    pub fn join() -> Result<Option<PartRanks>, Error> {
        if !crate::ranks::is_launched() {
            return Ok(None);
        }
        let universe = mpi::initialize().ok_or_else(|| Error::Usage("MPI: the library does not begin".into()))?;
        let world = universe.world();
        let share = Share { place: world.rank() as usize, of: world.size() as usize };
        Ok(Some(PartRanks { world, share, _universe: universe }))
    }

    /// Returns the number of threads for this process if the processes of a machine divide its processors equally.
    pub fn threads(&self) -> usize {
        let here = self.world.split_shared(self.world.rank()).size();
        let all = std::thread::available_parallelism().map_or(1, usize::from);
        (all / here.max(1) as usize).max(1)
    }
}

impl Peers for PartRanks {
    fn share(&self) -> Share {
        self.share
    }

    fn exchange(&mut self, messages: &mut [Vec<u8>]) -> Result<Vec<Vec<u8>>, Error> {
        let too_long = || Error::Internal("MPI: a message has more bytes than it can count".into());
        let count = |message: &Vec<u8>| i32::try_from(message.len()).map_err(|_| too_long());
        let counts = messages.iter().map(count).collect::<Result<Vec<i32>, _>>()?;
        let mut incoming = vec![0i32; messages.len()];
        self.world.all_to_all_into(&counts[..], &mut incoming[..]);
        let starts = |counts: &[i32]| -> Option<(Vec<i32>, i32)> {
            let mut end = 0i32;
            let starts = counts.iter().map(|&count| {
                let start = end;
                end = end.checked_add(count)?;
                Some(start)
            });
            Some((starts.collect::<Option<_>>()?, end))
        };
        let (outgoing_starts, _) = starts(&counts).ok_or_else(too_long)?;
        let (incoming_starts, all) = starts(&incoming).ok_or_else(too_long)?;
        // never empty: Open MPI takes the address of an empty vector for MPI_IN_PLACE
        let (mut sent, mut received) = (messages.concat(), vec![0u8; all as usize + 1]);
        sent.push(0);
        {
            let sent = Partition::new(&sent[..], &counts[..], &outgoing_starts[..]);
            let mut received = PartitionMut::new(&mut received[..], &incoming[..], &incoming_starts[..]);
            self.world.all_to_all_varcount_into(&sent, &mut received);
        }
        messages.iter_mut().for_each(Vec::clear);
        let message = |(&start, &count): (&i32, &i32)| received[start as usize..(start + count) as usize].to_vec();
        Ok(incoming_starts.iter().zip(&incoming).map(message).collect())
    }
}
