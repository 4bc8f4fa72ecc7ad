//! Start of all threads. If the system allows no more threads (limits of processes, of address space), fewer do the
//! work.

use crate::error::Error;
use crate::faults::ThreadSlot;
use crate::memory;
use crate::stop::Stop;
use rayon::prelude::*;
use rayon::{ThreadPool, ThreadPoolBuilder};
use std::any::Any;
use std::io;
use std::ops::{Deref, DerefMut};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, Builder, JoinHandle, Scope, ScopedJoinHandle};
use std::time::Duration;

/// The number of bytes of address space of a thread's stack.
const STACK: u64 = 2 << 20;
/// The inverse of the fraction of the remaining address space that the stacks of a pool may take; the rest is for their
/// work.
const SHARE: u64 = 4;

/// Starts a thread.
///
/// # Errors
/// Returns an error if the system allows no more threads.
pub fn start<T: Send + 'static>(name: &str, work: impl FnOnce() -> T + Send + 'static) -> io::Result<JoinHandle<T>> {
    let slot = ThreadSlot::take().map_err(refused)?;
    let begun = Builder::new().name(name.into()).spawn(move || {
        let _slot = slot;
        work()
    });
    begun.map_err(refused)
}

/// The number of parts below which freeing takes less time than starting a thread.
const MANY: usize = 1 << 16;

/// Frees a value that has `parts` allocations. If there are many, one separate thread frees them all, because a
/// million take tenths of a second, and threads that free concurrently wait for each other.
pub fn free<T: Send + 'static>(large: T, parts: usize) {
    const NAME: &str = "free";
    if parts >= MANY && thread::current().name() != Some(NAME) {
        // if no thread can be started, it is freed here
        let _ = start(NAME, || drop(large));
    }
}

/// A list that is freed on a background thread if it is long.
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

/// An item to be processed, or its result.
enum Place<T, R> {
    Item(T),
    Taken,
    Result(R),
}

/// Returns the result of each item, in order. All threads of the pool take items one after the other. An item should
/// take at least some microseconds, to be worth a thread's time.
///
/// Rayon compiles dozens of functions for each loop over each type of items. Here there is a single loop, over indices.
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

/// Returns the result of each item, in order, or an error. After an error, items that have not begun are skipped.
///
/// # Errors
/// Returns an error of `work`.
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

/// The number of items of a part of a long list: some milliseconds.
const PART: usize = 1 << 14;

/// Returns the results of consecutive parts of a list, in order. On a thread of a pool, parts are processed in
/// parallel, otherwise sequentially. A list shorter than one part is always completed, even if `stop` is set.
///
/// # Errors
/// Returns [`Error::Stopped`] if `stop` is set.
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
/// Returns an error if the system allows no more threads.
pub fn start_in<'scope, T: Send + 'scope>(
    scope: &'scope Scope<'scope, '_>,
    name: &str,
    work: impl FnOnce() -> T + Send + 'scope,
) -> io::Result<ScopedJoinHandle<'scope, T>> {
    let slot = ThreadSlot::take().map_err(refused)?;
    let begun = Builder::new().name(name.into()).spawn_scoped(scope, move || {
        let _slot = slot;
        work()
    });
    begun.map_err(refused)
}

/// Starts a thread. Returns the work if the system allows no more threads.
pub fn start_or_return<W: FnOnce() + Send + 'static>(name: &str, work: W) -> Option<W> {
    let here = Arc::new(Mutex::new(Some(work)));
    let take = |place: &Mutex<Option<W>>| place.lock().unwrap_or_else(PoisonError::into_inner).take();
    let there = here.clone();
    match start(name, move || take(&there).into_iter().for_each(|work| work())) {
        Ok(_) => None,
        Err(_) => take(&here),
    }
}

/// Returns whether one more thread can be started.
pub fn any_left() -> bool {
    startable(1) > 0
}

/// Returns a pool of `wanted` threads, or of fewer if the system allows no more. In that case one thread is left for
/// other uses.
///
/// # Errors
/// Returns an error if no thread at all can be started.
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
            // the threads started so far end at once, which releases them for the next attempt
            Err(_) => {
                count = (started.len() - 1).max(1);
                started.into_iter().for_each(|handle| drop(handle.join()));
            }
        }
    }
}

/// Returns `wanted`, or the number of threads whose stacks fit into the address space if that is less.
fn fitting(wanted: usize) -> usize {
    let most = memory::address_space().map_or(u64::MAX, |(_, left)| left / SHARE / STACK);
    wanted.min(usize::try_from(most).unwrap_or(usize::MAX)).max(1)
}

/// Returns a pool of the calling thread alone.
pub fn pool_of_this() -> io::Result<ThreadPool> {
    ThreadPoolBuilder::new().num_threads(1).use_current_thread().build().map_err(io::Error::other)
}

/// Sets the number of threads of the global pool to `wanted`, by default one for each processor, or fewer if the system
/// allows no more. Only the first call has an effect, and it must precede any parallel work outside of other pools.
///
/// # Errors
/// Returns an error if the global pool already exists.
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

/// Returns how many of `wanted` threads can be started. This is tested first because rayon can build its global pool
/// only once, and panics without one.
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

/// Calls a function that may panic. Returns the panic's message in that case.
pub fn caught<R>(work: impl FnOnce() -> R) -> Result<R, String> {
    catch_unwind(AssertUnwindSafe(work)).map_err(|panic| message(&*panic))
}

/// Returns the message of a panic.
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
