//! The exchange of elites and bounds between processes that `mpirun` has started on one network. Each process is an
//! island: it sends its state to a few others, and none waits for another one. The first rank reports the results of
//! all, and when it ends, all end.
//!
//! One thread of a process makes all MPI calls. The state of a rank includes the states that it has received, so that
//! sending to the ranks at distances 1, 2, 4, … reaches all ranks within a few steps.

use crate::bounds::Part;
use crate::error::Error;
use crate::search::{Checkpoint, Extent, Keeper};
use crate::stop::{Cause, Stop};
use crate::threads;
use mpi::environment::Universe;
use mpi::request::scope;
use mpi::topology::{Color, Process, SimpleCommunicator};
use mpi::traits::{Communicator, Destination, MatchedReceiveVec, Source};
use mpi::{Rank, Tag, Threading};
use rustc_hash::{FxHashMap, FxHasher};
use std::cell::Cell;
use std::collections::BTreeSet;
use std::hash::{Hash, Hasher};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Environment variables of which launchers set one for the processes that they start.
const LAUNCHED: [&str; 4] = ["OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "PMI_RANK", "PMIX_RANK"];
/// The time between two checks for messages.
const LOOK: Duration = Duration::from_millis(2);
/// The minimum time between two messages of a rank.
const EVERY: Duration = Duration::from_millis(100);
/// The inverse of the share of time that making, writing and reading messages may take.
const SHARE: u32 = 50;
/// The number of elites in a message: a few different ones for crossover.
const ELITES: usize = 8;
/// The maximum length of a message in bytes: MPI counts them in 31 bits.
const LONGEST: usize = i32::MAX as usize;
/// The time for which the first rank waits for the last messages of others before its result.
const LAST_WORDS: Duration = Duration::from_millis(400);
/// The time for which the first rank waits at the end for other processes before it gives them up.
const PATIENCE: Duration = Duration::from_secs(10);

/// Tags of messages: the state of a rank; its last state, to the first rank; the first rank has ended; all ranks may
/// leave.
const KNOWN: Tag = 0;
const LAST: Tag = 1;
const OVER: Tag = 2;
const LEAVE: Tag = 3;

/// This process among those that were started together.
#[derive(Debug)]
pub struct Ranks {
    part: Part,
    /// The number of processes on this machine.
    here: usize,
    /// The number of processes that share the processors of this one.
    sharing: usize,
    mail: Arc<Mutex<Mail>>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

/// The data that the run and the MPI thread exchange.
#[derive(Debug)]
struct Mail {
    /// The state that waits to be sent.
    next: Option<Checkpoint>,
    /// Whether no state follows after `next`.
    is_last: bool,
    /// Whether the run of the first rank has ended.
    is_over: bool,
    /// The number of other ranks whose last messages have arrived, on the first rank.
    ended: usize,
    /// The newest state of each other rank.
    news: FxHashMap<Rank, Checkpoint>,
    troubles: Vec<String>,
    /// When the run last supplied its state.
    asked: Instant,
    /// The time that messages have taken since the run last supplied its state.
    busy: Duration,
}

/// The processes that the MPI thread finds when it begins.
struct Begun {
    part: Part,
    here: usize,
    sharing: usize,
}

impl Ranks {
    /// Joins the other processes if a launcher has started several, and returns `None` otherwise. `stop` is set once
    /// the first rank has ended.
    ///
    /// # Errors
    /// Returns an error if no thread can be started or the MPI library cannot be used.
    pub fn join(stop: &Stop) -> Result<Option<Ranks>, Error> {
        if !is_launched() {
            return Ok(None);
        }
        let mail = Mail {
            next: None,
            is_last: false,
            is_over: false,
            ended: 0,
            news: FxHashMap::default(),
            troubles: Vec::new(),
            asked: Instant::now(),
            busy: Duration::ZERO,
        };
        let (mail, (sender, receiver)) = (Arc::new(Mutex::new(mail)), channel());
        let cannot = |what: String| Error::Usage(format!("MPI: {what}; without mpirun the run is for itself"));
        let thread = {
            let (mail, stop) = (mail.clone(), stop.clone());
            threads::start("mpi", move || serve(&mail, &stop, &sender))
        };
        let thread = thread.map_err(|error| cannot(error.to_string()))?;
        let begun = receiver.recv().map_err(|_| cannot("the library does not begin".into()))?;
        let Begun { part, here, sharing } = begun;
        let ranks = Ranks { part, here, sharing, mail, thread: Mutex::new(Some(thread)) };
        if part.of > 1 {
            return Ok(Some(ranks));
        }
        ranks.leave();
        Ok(None)
    }

    /// Returns the rank of this process and the number of processes.
    pub fn part(&self) -> Part {
        self.part
    }

    /// Returns the number of processes on this machine.
    pub fn here(&self) -> usize {
        self.here
    }

    /// Returns the number of threads of this process if it uses a fair share of its processors.
    pub fn threads(&self) -> usize {
        let all = std::thread::available_parallelism().map_or(1, usize::from);
        (all / self.sharing.max(1)).max(1)
    }

    /// Ends the exchange after all results are reported: the first rank waits for the others, which wait for it.
    pub fn leave(&self) {
        let (mut mail, is_first) = (lock(&self.mail), self.part.place == 0);
        (mail.is_last, mail.is_over) = (true, is_first);
        drop(mail);
        let Some(thread) = lock(&self.thread).take() else { return };
        let begin = Instant::now();
        while !thread.is_finished() && (!is_first || begin.elapsed() < PATIENCE) {
            std::thread::sleep(LOOK);
        }
    }
}

impl Keeper for Ranks {
    fn extent(&self) -> Extent {
        Extent { elites: ELITES, drivers: false, time: EVERY / SHARE }
    }

    fn is_due(&self) -> bool {
        let mail = lock(&self.mail);
        mail.asked.elapsed() >= EVERY.max(mail.busy * SHARE)
    }

    fn keep(&self, checkpoint: Checkpoint, is_end: bool) -> Result<(), String> {
        let mut mail = lock(&self.mail);
        (mail.asked, mail.busy, mail.next) = (Instant::now(), Duration::ZERO, Some(checkpoint));
        mail.is_last |= is_end && self.part.place > 0;
        Ok(())
    }

    fn news(&self) -> Vec<Checkpoint> {
        std::mem::take(&mut lock(&self.mail).news).into_values().collect()
    }

    fn last_news(&self) -> Vec<Checkpoint> {
        if self.part.place == 0 {
            lock(&self.mail).is_over = true;
            let begin = Instant::now();
            while lock(&self.mail).ended + 1 < self.part.of && begin.elapsed() < LAST_WORDS {
                std::thread::sleep(LOOK);
            }
        }
        self.news()
    }

    fn troubles(&self) -> Vec<String> {
        std::mem::take(&mut lock(&self.mail).troubles)
    }
}

/// Sends and receives all messages of a process until all ranks leave.
fn serve(mail: &Mutex<Mail>, stop: &Stop, begun: &Sender<Begun>) {
    let Some((universe, _)) = mpi::initialize_with_threading(Threading::Funneled) else { return };
    let line = Line::new(universe, mail, stop);
    // the command waits for this message
    let _ = begun.send(line.begun());
    let (all, mut told, mut said) = (line.others(), None::<Checkpoint>, [false; 2]);
    while !line.leaves.get() {
        line.hear();
        let (next, is_last, is_over, ended) = {
            let mut mail = lock(mail);
            (mail.next.take(), mail.is_last, mail.is_over, mail.ended)
        };
        let text = next.as_ref().map(|next| line.text(next));
        let text = text.as_deref().unwrap_or_default();
        if line.rank == 0 && is_over && !std::mem::replace(&mut said[0], true) {
            line.say(&all, OVER, "");
        }
        if is_last && line.rank > 0 && !std::mem::replace(&mut said[1], true) {
            line.say(&[0], LAST, text);
        } else if next.as_ref().is_some_and(|next| told.as_ref().is_none_or(|told| !next.is_no_news_after(told))) {
            line.say(&line.next_ones(), KNOWN, text);
            told = next;
        }
        if is_last && line.rank == 0 && ended == all.len() {
            line.say(&all, LEAVE, "");
            line.leaves.set(true);
        }
        std::thread::sleep(LOOK);
    }
}

/// The MPI library, on the one thread that calls it. It is finalised when the value is dropped.
struct Line<'a> {
    world: SimpleCommunicator,
    rank: Rank,
    size: Rank,
    mail: &'a Mutex<Mail>,
    stop: &'a Stop,
    /// Whether all ranks leave.
    leaves: Cell<bool>,
    _universe: Universe,
}

impl<'a> Line<'a> {
    fn new(universe: Universe, mail: &'a Mutex<Mail>, stop: &'a Stop) -> Line<'a> {
        let world = universe.world();
        Line {
            rank: world.rank(),
            size: world.size(),
            world,
            mail,
            stop,
            leaves: Cell::new(false),
            _universe: universe,
        }
    }

    fn begun(&self) -> Begun {
        let here = self.world.split_shared(self.rank);
        let mut processors = FxHasher::default();
        if let Ok(set) = rustix::thread::sched_getaffinity(None) {
            (0..rustix::thread::CpuSet::MAX_CPU)
                .filter(|&cpu| set.is_set(cpu))
                .for_each(|cpu| cpu.hash(&mut processors));
        }
        let color = Color::with_value((processors.finish() & 0x7fff_ffff) as i32);
        let sharing = here.split_by_color(color).map_or(1, |sharing| sharing.size());
        let part = Part { place: self.rank as usize, of: self.size as usize };
        Begun { part, here: here.size() as usize, sharing: sharing as usize }
    }

    fn others(&self) -> Vec<Rank> {
        (0..self.size).filter(|&rank| rank != self.rank).collect()
    }

    /// Returns the ranks that this one sends its state to.
    fn next_ones(&self) -> Vec<Rank> {
        let steps = (0..Rank::BITS - 1).map(|power| 1 << power).take_while(|&step| step < self.size);
        steps.map(|step| (self.rank + step) % self.size).collect::<BTreeSet<_>>().into_iter().collect()
    }

    /// Returns the text of a state, without elites if MPI cannot count its bytes otherwise. The text is empty if that
    /// is not enough.
    fn text(&self, checkpoint: &Checkpoint) -> String {
        let fits = |checkpoint: &Checkpoint| checkpoint.to_text().ok().filter(|text| text.len() <= LONGEST);
        let begin = Instant::now();
        let text = fits(checkpoint).or_else(|| {
            let mut shorter = checkpoint.clone();
            shorter.elites.clear();
            fits(&shorter)
        });
        lock(self.mail).busy += begin.elapsed();
        text.unwrap_or_else(|| {
            lock(self.mail).troubles.push("what is known here is too long to be told to other ranks".into());
            String::new()
        })
    }

    /// Sends a message to some ranks, and receives messages meanwhile. Returns once all of them have begun to receive
    /// it, so that no message is under way when the ranks leave.
    fn say(&self, to: &[Rank], tag: Tag, text: &str) {
        let bytes = text.as_bytes();
        let to: Vec<Process<'_>> = to.iter().map(|&rank| self.world.process_at_rank(rank)).collect();
        scope(|scope| {
            let begin = |rank: &Process<'_>| rank.immediate_synchronous_send_with_tag(scope, bytes, tag);
            let mut sending: Vec<_> = to.iter().map(begin).collect();
            while !sending.is_empty() {
                sending = sending.into_iter().filter_map(|request| request.test().err()).collect();
                self.hear();
                std::thread::sleep(LOOK);
            }
        });
    }

    /// Receives all messages that have arrived.
    fn hear(&self) {
        while let Some(message) = self.world.any_process().immediate_matched_probe() {
            let begin = Instant::now();
            let (bytes, status) = message.matched_receive_vec::<u8>();
            let (from, tag) = (status.source_rank(), status.tag());
            match tag {
                KNOWN | LAST if !bytes.is_empty() => {
                    let text = String::from_utf8_lossy(&bytes);
                    let read = Checkpoint::from_text(&text);
                    let mut mail = lock(self.mail);
                    match read {
                        Ok(checkpoint) => drop(mail.news.insert(from, checkpoint)),
                        Err(what) => mail.troubles.push(format!("a message of rank {from} is not taken: {what}")),
                    }
                }
                OVER => self.stop.set(Cause::Signal),
                LEAVE => self.leaves.set(true),
                _ => {}
            }
            let mut mail = lock(self.mail);
            mail.ended += usize::from(tag == LAST);
            mail.busy += begin.elapsed();
        }
    }
}

/// Returns whether a launcher has started this process.
pub(crate) fn is_launched() -> bool {
    LAUNCHED.iter().any(|name| std::env::var_os(name).is_some())
}

/// Locks a mutex even if a thread has panicked while it held the lock; the data are consistent at all times.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
