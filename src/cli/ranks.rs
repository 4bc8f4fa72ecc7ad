//! Processes that `mpirun` has started work as one: the first of them reports and writes all files.

use fangs_base::Error;
use fangs_base::memory;
use fangs_base::stop::Stop;
use fangs_bounds::bounds::Part;
use fangs_search::{Keeper, Options};
use std::sync::Arc;

/// This process among those that were started together; alone where it was not.
#[derive(Clone, Default)]
pub struct Ranks {
    #[cfg(feature = "mpi")]
    joined: Option<Arc<fangs_report::Ranks>>,
}

impl Ranks {
    /// Meets the others.
    #[cfg(feature = "mpi")]
    pub fn join(stop: &Stop) -> Result<Ranks, Error> {
        Ok(Ranks { joined: fangs_report::Ranks::join(stop)?.map(Arc::new) })
    }

    /// Several that know nothing of each other would write the same files.
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

    /// How many there are, where there are several.
    pub fn count(&self) -> Option<usize> {
        self.joined().map(|(part, ..)| part.of)
    }

    /// Whether this one reports.
    pub fn is_first(&self) -> bool {
        self.joined().is_none_or(|(part, ..)| part.place == 0)
    }

    /// What tells the others what is known here.
    pub fn keeper(&self) -> Option<Arc<dyn Keeper>> {
        #[cfg(feature = "mpi")]
        return self.joined.clone().map(|ranks| ranks as Arc<dyn Keeper>);
        #[cfg(not(feature = "mpi"))]
        None
    }

    /// Each has a seed, a part of the bounds, of the threads and of the memory of its own. A certificate needs all that
    /// leads to a bound in one process.
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
            // the first one ends the run
            options.stop.clear();
        }
        Ok(())
    }

    /// Ends it, when all results are out.
    pub fn leave(&self) {
        #[cfg(feature = "mpi")]
        self.joined.iter().for_each(|ranks| ranks.leave());
    }
}
