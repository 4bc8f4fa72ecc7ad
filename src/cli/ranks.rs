//! Processes that `mpirun` has started work together: the first of them reports and writes all files.

use fangs_base::Error;
use fangs_base::memory;
use fangs_base::stop::Stop;
use fangs_bounds::bounds::Part;
use fangs_search::{Keeper, Options};
use std::sync::Arc;

/// This process among those that were started together; the default is a single process.
#[derive(Clone, Default)]
pub struct Ranks {
    #[cfg(feature = "mpi")]
    joined: Option<Arc<fangs_report::Ranks>>,
}

impl Ranks {
    /// Joins the other processes.
    #[cfg(feature = "mpi")]
    pub fn join(stop: &Stop) -> Result<Ranks, Error> {
        Ok(Ranks { joined: fangs_report::Ranks::join(stop)?.map(Arc::new) })
    }

    /// Refuses several processes, because without MPI they would write the same files.
    #[cfg(not(feature = "mpi"))]
    pub fn join(_: &Stop) -> Result<Ranks, Error> {
        let size = std::env::var("OMPI_COMM_WORLD_SIZE").ok().and_then(|size| size.parse().ok());
        match size {
            Some(2u32..) => Err(Error::Usage(
                "mpirun has started several processes, but this program was built without MPI: build it with \
                 `--features mpi`, or start processes with --exchange and files of their own"
                    .into(),
            )),
            _ => Ok(Ranks::default()),
        }
    }

    #[cfg(feature = "mpi")]
    fn joined(&self) -> Option<(Part, usize, usize)> {
        self.joined.as_ref().map(|ranks| (ranks.part(), ranks.here(), ranks.threads()))
    }

    #[cfg(not(feature = "mpi"))]
    fn joined(&self) -> Option<(Part, usize, usize)> {
        None
    }

    /// Returns the number of processes; `None` if there is only one.
    pub fn count(&self) -> Option<usize> {
        self.joined().map(|(part, ..)| part.of)
    }

    /// Returns whether this process reports.
    pub fn is_first(&self) -> bool {
        self.joined().is_none_or(|(part, ..)| part.place == 0)
    }

    /// Returns the keeper that exchanges elites and bounds with the other processes.
    pub fn keeper(&self) -> Option<Arc<dyn Keeper>> {
        #[cfg(feature = "mpi")]
        return self.joined.clone().map(|ranks| ranks as Arc<dyn Keeper>);
        #[cfg(not(feature = "mpi"))]
        None
    }

    /// Gives this process its seed and its parts of the bounds, the threads and the memory. If a certificate is wanted,
    /// the bounds are not divided, because a certificate needs all steps of a bound in one process.
    pub fn share_out(&self, options: &mut Options) -> Result<(), Error> {
        let Some((part, here, threads)) = self.joined() else { return Ok(()) };
        if options.rounds.is_some() {
            return Err(Error::Usage("--rounds: several ranks depend on the clock, leave it out with mpirun".into()));
        }
        options.seed = options.seed.wrapping_add(part.place as u64);
        if !options.certificate {
            options.bound_part = part;
        }
        let _ = options.threads.get_or_insert(threads);
        let _ = options.bound_memory.get_or_insert(memory::available() / 2 / here as u64);
        if part.place > 0 {
            // the first process ends the run
            options.stop.clear();
        }
        Ok(())
    }

    /// Leaves the group of processes, when all results are written.
    pub fn leave(&self) {
        #[cfg(feature = "mpi")]
        self.joined.iter().for_each(|ranks| ranks.leave());
    }
}
