//! The memory available for planning, and allocations that may fail.

mod groups;

use crate::error::Error;
use groups::Read;
use std::cell::Cell;
use std::path::Path;

/// The number of bytes assumed to be available if the system does not report it: 4 GiB.
const ASSUMED: u64 = 4 << 30;

/// Returns the number of bytes of available main memory. It is the system's figure (`MemAvailable`), but at most what
/// the limits of the process's control groups, address space and data leave; 4 GiB if there is no figure at all.
pub fn available() -> u64 {
    available_by(&system).unwrap_or(ASSUMED)
}

/// Returns the limit of the process's address space in bytes, which includes stacks of threads, and how much of it is
/// left; `None` if there is no limit.
pub fn address_space() -> Option<(u64, u64)> {
    limit_and_rest(&system, "Max address space", "VmSize:")
}

fn system(path: &Path) -> Option<String> {
    std::fs::read_to_string(path).ok()
}

fn available_by(read: Read<'_>) -> Option<u64> {
    let machine = kibibytes(read, "/proc/meminfo", "MemAvailable:");
    let limits = [("Max address space", "VmSize:"), ("Max data size", "VmData:")];
    let own = limits.iter().filter_map(|(limit, used)| Some(limit_and_rest(read, limit, used)?.1));
    machine.into_iter().chain(groups::left(read)).chain(own).min()
}

/// Returns a limit of the process and what is left of it, in bytes; `None` if there is no limit.
fn limit_and_rest(read: Read<'_>, limit: &str, used: &str) -> Option<(u64, u64)> {
    let limits = read(Path::new("/proc/self/limits"))?;
    let soft =
        limits.lines().find_map(|line| line.strip_prefix(limit)?.split_whitespace().next()?.parse::<u64>().ok())?;
    Some((soft, soft.saturating_sub(kibibytes(read, "/proc/self/status", used).unwrap_or(0))))
}

/// Returns the number of bytes that a line of a file states in kibibytes.
fn kibibytes(read: Read<'_>, path: &str, name: &str) -> Option<u64> {
    let text = read(Path::new(path))?;
    let rest = text.lines().find_map(|line| line.strip_prefix(name))?;
    rest.split_whitespace().next()?.parse::<u64>().ok().map(|kibibytes| kibibytes << 10)
}

thread_local! {
    static MAY_FAIL: Cell<bool> = const { Cell::new(false) };
}

/// Returns whether this thread handles a failure of its current allocation. An allocator that otherwise ends the
/// program then returns null.
pub fn may_fail() -> bool {
    MAY_FAIL.get()
}

/// Reserves capacity in a vector for `more` further entries.
///
/// # Errors
/// Returns [`Error::Memory`] if the memory is not available.
pub fn reserve<T>(vector: &mut Vec<T>, more: usize) -> Result<(), Error> {
    let before = MAY_FAIL.replace(true);
    let outcome = vector.try_reserve_exact(more);
    MAY_FAIL.set(before);
    outcome.map_err(|_| out_of(more.saturating_mul(size_of::<T>()) as u64))
}

/// Returns the error that `bytes` more bytes were not available.
pub fn out_of(bytes: u64) -> Error {
    Error::Memory(format!("{bytes} bytes more could not be had, {} are available", available()))
}

/// Refuses an amount of more than half of the available memory; `what` names its use, as the beginning of a sentence.
///
/// # Errors
/// Returns [`Error::Memory`] with both figures.
pub fn must_fit(bytes: u64, what: impl FnOnce() -> String) -> Result<(), Error> {
    // the common case needs no system call
    if bytes < ALWAYS {
        return Ok(());
    }
    let available = available();
    if bytes <= available / 2 {
        return Ok(());
    }
    Err(Error::Memory(format!(
        "{} would take {bytes} bytes, half of the {available} that are available are for that",
        what()
    )))
}

/// The number of bytes below which an amount is never checked.
const ALWAYS: u64 = 16 << 20;

#[cfg(test)]
mod tests {
    use super::*;

    const LIMITS: &str = "\
Limit                     Soft Limit           Hard Limit           Units     
Max data size             unlimited            unlimited            bytes     
Max address space         307200000            unlimited            bytes     
Max file locks            unlimited            unlimited            locks     
";

    /// Returns the available memory according to these files.
    fn available(files: &[(&str, &str)]) -> Option<u64> {
        available_by(&|path| files.iter().find(|(name, _)| Path::new(name) == path).map(|(_, text)| text.to_string()))
    }

    #[test]
    fn the_least_of_machine_and_limits_counts() {
        let meminfo = ("/proc/meminfo", "MemTotal: 2000000 kB\nMemAvailable:    1000000 kB\n");
        let status = ("/proc/self/status", "Name:\tfangs\nVmSize:\t  100000 kB\nVmData:\t   50000 kB\n");
        assert_eq!(available(&[]), None);
        assert_eq!(available(&[meminfo]), Some(1_000_000 << 10));
        assert_eq!(available(&[meminfo, status, ("/proc/self/limits", LIMITS)]), Some(307_200_000 - (100_000 << 10)));
        let data = LIMITS.replace("307200000", "unlimited").replacen("unlimited", "60000000", 1);
        assert_eq!(available(&[meminfo, status, ("/proc/self/limits", &data)]), Some(60_000_000 - (50_000 << 10)));
        let used_up = LIMITS.replace("307200000", "1000");
        assert_eq!(available(&[meminfo, status, ("/proc/self/limits", &used_up)]), Some(0));
        let none = LIMITS.replace("307200000", "unlimited");
        assert_eq!(available(&[meminfo, status, ("/proc/self/limits", &none)]), Some(1_000_000 << 10));
    }

    #[test]
    fn groups_count_too() {
        let meminfo = ("/proc/meminfo", "MemAvailable:    1000000 kB\n");
        let files = [
            meminfo,
            ("/proc/self/cgroup", "0::/a\n"),
            ("/proc/self/mountinfo", "35 24 0:30 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n"),
            ("/sys/fs/cgroup/a/memory.max", "419430400\n"),
            ("/sys/fs/cgroup/a/memory.current", "19430400\n"),
        ];
        assert_eq!(available(&files), Some(400_000_000));
    }

    #[test]
    fn what_cannot_be_had_is_an_error() {
        let mut vector: Vec<u64> = Vec::new();
        assert!(reserve(&mut vector, 3).is_ok() && vector.capacity() >= 3);
        let error = reserve(&mut vector, usize::MAX / 16).expect_err("no machine has so much");
        assert!(matches!(error, Error::Memory(_)) && !error.is_input(), "{error}");
        assert!(!may_fail());
        assert!(must_fit(ALWAYS - 1, || unreachable!("it is little")).is_ok());
        let error = must_fit(1 << 60, || "a tower".into()).expect_err("no machine has so much");
        assert!(error.to_string().contains("a tower would take 1152921504606846976 bytes"), "{error}");
    }
}
