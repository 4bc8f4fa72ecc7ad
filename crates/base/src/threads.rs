//! All threads start here. Where the system allows no more (limits of processes, of address space), fewer do the work.

use crate::error::Error;
use crate::memory;
use crate::stop::Stop;
use rayon::prelude::*;
use rayon::{ThreadPool, ThreadPoolBuilder};
use std::any::Any;
use std::io;
use std::ops::{Deref, DerefMut};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::thread::{self, Builder, JoinHandle, Scope, ScopedJoinHandle};
use std::time::Duration;

/// Address space of a thread's stack.
const STACK: u64 = 2 << 20;
/// Of the address space that is left one part in SHARE may become stacks of a pool; the rest is for their work.
const SHARE: u64 = 4;

/// A counted thread: with `FANGS_MOST_THREADS`, tests of the installed program check that a run works with fewer, as
/// limits of the system do not hold for every user.
struct Alive;

static ALIVE: AtomicUsize = AtomicUsize::new(0);

impl Alive {
    fn new() -> io::Result<Alive> {
        static MOST: OnceLock<Option<usize>> = OnceLock::new();
        let most = MOST.get_or_init(|| std::env::var("FANGS_MOST_THREADS").ok()?.parse().ok());
        let before = ALIVE.fetch_add(1, Ordering::Relaxed);
        let alive = Alive;
        match most {
            Some(most) if before >= *most => {
                Err(refused(io::Error::new(io::ErrorKind::WouldBlock, "FANGS_MOST_THREADS says so")))
            }
            _ => Ok(alive),
        }
    }
}

impl Drop for Alive {
    fn drop(&mut self) {
        let _ = ALIVE.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Starts a thread.
///
/// # Errors
/// The system allows no more.
pub fn start<T: Send + 'static>(name: &str, work: impl FnOnce() -> T + Send + 'static) -> io::Result<JoinHandle<T>> {
    let alive = Alive::new()?;
    let begun = Builder::new().name(name.into()).spawn(move || {
        let _alive = alive;
        work()
    });
    begun.map_err(refused)
}

/// Fewer parts than this are freed sooner than a thread starts.
const MANY: usize = 1 << 16;

/// Frees what has so many parts in memory; many on one thread of their own, as a million take tenths of a second, and
/// threads that free side by side wait for each other.
pub fn free<T: Send + 'static>(large: T, parts: usize) {
    const NAME: &str = "free";
    if parts >= MANY && thread::current().name() != Some(NAME) {
        // where none can be started it is freed here
        let _ = start(NAME, || drop(large));
    }
}

/// A list that is freed on a thread of its own where it is long.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Large<T: Send + 'static>(Vec<T>);

impl<T: Send + 'static> Drop for Large<T> {
    fn drop(&mut self) {
        let list = std::mem::take(&mut self.0);
        let parts = list.len();
        free(list, parts);
    }
}

impl<T: Send + 'static> Default for Large<T> {
    fn default() -> Self {
        Large(Vec::new())
    }
}

impl<T: Send + 'static> From<Vec<T>> for Large<T> {
    fn from(list: Vec<T>) -> Self {
        Large(list)
    }
}

impl<T: Send + 'static> FromIterator<T> for Large<T> {
    fn from_iter<I: IntoIterator<Item = T>>(items: I) -> Self {
        Large(items.into_iter().collect())
    }
}

impl<T: Send + 'static> Deref for Large<T> {
    type Target = Vec<T>;

    fn deref(&self) -> &Vec<T> {
        &self.0
    }
}

impl<T: Send + 'static> DerefMut for Large<T> {
    fn deref_mut(&mut self) -> &mut Vec<T> {
        &mut self.0
    }
}

impl<'a, T: Send + 'static> IntoIterator for &'a Large<T> {
    type Item = &'a T;
    type IntoIter = std::slice::Iter<'a, T>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.iter()
    }
}

/// An item to be worked on, or what came of it.
enum Place<T, R> {
    Item(T),
    Taken,
    Result(R),
}

/// What comes of each item, in order: all threads of the pool take items, one after the other. One item should be
/// worth a thread's while, some microseconds at the least.
///
/// Rayon compiles dozens of functions for each loop over each type of items. Here there is one loop, over places.
pub fn map<T: Send, R: Send>(items: impl IntoIterator<Item = T>, work: impl Fn(T) -> R + Sync) -> Vec<R> {
    let places: Vec<Mutex<Place<T, R>>> = items.into_iter().map(|item| Mutex::new(Place::Item(item))).collect();
    each(places.len(), &|place| {
        let mut place = places[place].lock().unwrap_or_else(PoisonError::into_inner);
        if let Place::Item(item) = std::mem::replace(&mut *place, Place::Taken) {
            *place = Place::Result(work(item));
        }
    });
    let results = places.into_iter().map(|place| match place.into_inner().unwrap_or_else(PoisonError::into_inner) {
        Place::Result(result) => result,
        Place::Item(_) | Place::Taken => unreachable!("a loop ends after all of its items, or panics"),
    });
    results.collect()
}

/// What comes of each item, in order, or an error: then what has not begun is left out.
///
/// # Errors
/// Those of the work.
pub fn try_map<T: Send, R: Send, E: Send>(
    items: impl IntoIterator<Item = T>,
    work: impl Fn(T) -> Result<R, E> + Sync,
) -> Result<Vec<R>, E> {
    let failed = AtomicBool::new(false);
    let results = map(items, |item| {
        let result = (!failed.load(Ordering::Relaxed)).then(|| work(item));
        let _ = failed.fetch_or(matches!(result, Some(Err(_))), Ordering::Relaxed);
        result
    });
    results.into_iter().flatten().collect()
}

fn each(count: usize, work: &(dyn Fn(usize) + Sync)) {
    (0..count).into_par_iter().for_each(work);
}

/// Items of a part of a long list: some milliseconds.
const PART: usize = 1 << 14;

/// What parts of a list come to, in order: side by side on a thread of a pool, one after the other on others. What is
/// short comes to its end, whatever the flag says.
///
/// # Errors
/// [`Error::Stopped`].
pub fn finish_in_parts<T: Sync, R: Send>(
    items: &[T],
    stop: &Stop,
    of: impl Fn(&[T]) -> R + Sync,
) -> Result<Vec<R>, Error> {
    let of = |part: &[T]| {
        let result = of(part);
        if part.len() == PART && stop.is_set() { Err(Error::Stopped) } else { Ok(result) }
    };
    match rayon::current_thread_index() {
        Some(_) if items.len() > PART => items.par_chunks(PART).map(of).collect(),
        _ => items.chunks(PART).map(of).collect(),
    }
}

fn refused(error: io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("no thread can be started: {error}"))
}

/// Starts a thread that ends with a scope.
///
/// # Errors
/// The system allows no more.
pub fn start_in<'scope, T: Send + 'scope>(
    scope: &'scope Scope<'scope, '_>,
    name: &str,
    work: impl FnOnce() -> T + Send + 'scope,
) -> io::Result<ScopedJoinHandle<'scope, T>> {
    let alive = Alive::new()?;
    let begun = Builder::new().name(name.into()).spawn_scoped(scope, move || {
        let _alive = alive;
        work()
    });
    begun.map_err(refused)
}

/// Starts a thread, or gives the work back where the system allows no more.
pub fn start_or_return<W: FnOnce() + Send + 'static>(name: &str, work: W) -> Option<W> {
    let here = Arc::new(Mutex::new(Some(work)));
    let take = |place: &Mutex<Option<W>>| place.lock().unwrap_or_else(PoisonError::into_inner).take();
    let there = here.clone();
    match start(name, move || take(&there).into_iter().for_each(|work| work())) {
        Ok(_) => None,
        Err(_) => take(&here),
    }
}

/// Whether one more thread can be started.
pub fn any_left() -> bool {
    startable(1) > 0
}

/// A pool of `wanted` threads, or of fewer where the system allows no more. One thread is then left for other uses.
///
/// # Errors
/// The system allows none at all.
pub fn pool(wanted: usize) -> io::Result<ThreadPool> {
    let mut count = fitting(wanted);
    loop {
        let mut started = Vec::new();
        let built = ThreadPoolBuilder::new()
            .num_threads(count)
            .spawn_handler(|thread| {
                let begun = start("worker", || thread.run());
                begun.map(|handle| started.push(handle))
            })
            .build();
        match built {
            Ok(pool) => return Ok(pool),
            Err(error) if started.is_empty() => return Err(io::Error::other(error)),
            // the threads started so far end at once, which frees their places
            Err(_) => {
                count = (started.len() - 1).max(1);
                started.into_iter().for_each(|handle| drop(handle.join()));
            }
        }
    }
}

/// `wanted` threads, or those whose stacks fit into the address space.
fn fitting(wanted: usize) -> usize {
    let most = memory::address_space().map_or(u64::MAX, |(_, left)| left / SHARE / STACK);
    wanted.min(usize::try_from(most).unwrap_or(usize::MAX)).max(1)
}

/// A pool of the calling thread alone.
pub fn pool_of_this() -> io::Result<ThreadPool> {
    ThreadPoolBuilder::new().num_threads(1).use_current_thread().build().map_err(io::Error::other)
}

/// Gives parallel work outside of any pool `wanted` threads, by default one for each processor, or fewer where the
/// system allows no more. Only the first call counts, and it must precede any parallel work.
///
/// # Errors
/// The threads exist already.
pub fn share(wanted: Option<usize>) -> io::Result<()> {
    let all = || std::thread::available_parallelism().map_or(1, usize::from);
    let wanted = fitting(wanted.unwrap_or_else(all));
    let builder = match startable(wanted) {
        0 => ThreadPoolBuilder::new().num_threads(1).use_current_thread(),
        some if some < wanted => ThreadPoolBuilder::new().num_threads((some - 1).max(1)),
        _ => ThreadPoolBuilder::new().num_threads(wanted),
    };
    builder.build_global().map_err(io::Error::other)
}

/// How many of `wanted` threads can be started: rayon can build its global pool only once, and panics without one.
fn startable(wanted: usize) -> usize {
    let gate = Arc::new(Mutex::new(()));
    let closed = gate.lock();
    let wait = |_| {
        let gate = gate.clone();
        start("probe", move || drop(gate.lock())).ok()
    };
    let started: Vec<JoinHandle<()>> = (0..wanted).map_while(wait).collect();
    drop(closed);
    let count = started.len();
    started.into_iter().for_each(|handle| drop(handle.join()));
    if count < wanted {
        // the system takes a moment to stop counting threads that have ended
        std::thread::sleep(Duration::from_millis(10));
    }
    count
}

/// Calls a function that may panic; returns the panic's message instead.
pub fn caught<R>(work: impl FnOnce() -> R) -> Result<R, String> {
    catch_unwind(AssertUnwindSafe(work)).map_err(|panic| message(&*panic))
}

/// Panics where `FANGS_PANIC` names the place, for tests of the installed program.
pub fn panic_on_purpose(place: &str) {
    static PLACE: OnceLock<Option<String>> = OnceLock::new();
    let named = PLACE.get_or_init(|| std::env::var("FANGS_PANIC").ok());
    if named.as_deref().is_some_and(|named| named == place) {
        panic!("FANGS_PANIC is {place}");
    }
}

/// The message of a panic.
pub fn message(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().copied().or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    text.unwrap_or("no message").to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pool_has_the_threads_that_there_are() {
        let pool = pool(3).expect("three threads can be started");
        assert_eq!((pool.current_num_threads(), pool.install(rayon::current_num_threads)), (3, 3));
        assert_eq!(startable(5), 5);
    }

    #[test]
    fn long_lists_are_freed_elsewhere() {
        struct Part(std::sync::mpsc::Sender<std::thread::ThreadId>);
        impl Drop for Part {
            fn drop(&mut self) {
                let _ = self.0.send(std::thread::current().id());
            }
        }
        for (parts, elsewhere) in [(MANY, true), (MANY - 1, false)] {
            let (sender, freed) = std::sync::mpsc::channel();
            let list: Large<Part> = (0..parts).map(|_| Part(sender.clone())).collect();
            assert_eq!(list.len(), parts);
            drop((list, sender));
            // until all of them are gone
            let threads: Vec<_> = freed.iter().collect();
            assert_eq!(threads.len(), parts);
            assert!(threads.iter().all(|&thread| (thread != std::thread::current().id()) == elsewhere));
        }
    }

    #[test]
    fn a_thread_may_be_a_pool_of_its_own() {
        let alone = start("alone", || {
            let pool = pool_of_this().expect("it is in no pool yet");
            let here = std::thread::current().id();
            pool.install(|| rayon::join(|| std::thread::current().id() == here, || std::thread::current().id() == here))
        });
        assert_eq!(alone.expect("a thread").join().expect("it does not panic"), (true, true));
    }

    #[test]
    fn results_are_in_the_order_of_items_and_an_error_ends_the_work() {
        let squares: Vec<usize> = (0..1000).map(|item| item * item).collect();
        assert_eq!(map(0..1000, |item| item * item), squares);
        assert_eq!(try_map(0..1000, |item| Ok::<_, usize>(item * item)), Ok(squares));
        assert!(try_map(0..1000, |item| if item < 990 { Ok(item) } else { Err(item) }).is_err_and(|item| item >= 990));
    }

    #[test]
    fn panics_are_told() {
        assert_eq!(caught(|| 3), Ok(3));
        assert_eq!(caught(|| panic!("on purpose")), Err::<(), _>("on purpose".into()));
        assert_eq!(caught(|| panic!("{} on purpose", 2)), Err::<(), _>("2 on purpose".into()));
        assert_eq!(caught(|| std::panic::panic_any(7)), Err::<(), _>("no message".into()));
        assert!(start_or_return("test", || ()).is_none());
    }
}
