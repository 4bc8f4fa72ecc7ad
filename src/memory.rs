//! How much memory there is to plan with.

use std::fs::read_to_string;

/// Memory assumed where the system does not tell: 4 GiB.
const ASSUMED: u64 = 4 << 30;

/// Where containers state the memory they may use and the memory they use, of the second and the first generation.
const CONTAINERS: [(&str, &str); 2] = [
    ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory.current"),
    ("/sys/fs/cgroup/memory/memory.limit_in_bytes", "/sys/fs/cgroup/memory/memory.usage_in_bytes"),
];

/// Bytes of main memory that are free for use now: what Linux says is available, and no more than what is left of the
/// limit of the container that the process runs in. 4 GiB where neither is told.
pub fn available() -> u64 {
    let number = |path: &str| read_to_string(path).ok()?.trim().parse::<u64>().ok();
    let machine = read_to_string("/proc/meminfo").ok().and_then(|text| {
        let line = text.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
        line.split_whitespace().next()?.parse::<u64>().ok().map(|kibibytes| kibibytes << 10)
    });
    let containers = CONTAINERS.iter().filter_map(|(limit, used)| Some(number(limit)?.saturating_sub(number(used)?)));
    machine.into_iter().chain(containers).min().unwrap_or(ASSUMED)
}
