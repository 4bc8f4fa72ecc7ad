//! How much memory there is to plan with.

/// Memory assumed where the system does not tell: 4 GiB.
const ASSUMED: u64 = 4 << 30;

/// Bytes of main memory that are free for use now, as Linux tells; 4 GiB elsewhere.
pub fn available() -> u64 {
    let told = std::fs::read_to_string("/proc/meminfo").ok().and_then(|text| {
        let line = text.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
        line.split_whitespace().next()?.parse::<u64>().ok()
    });
    told.map_or(ASSUMED, |kibibytes| kibibytes << 10)
}
