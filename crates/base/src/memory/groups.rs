//! Memory limits by control groups, of both generations: those of the process's own group and of all its ancestors.

use std::path::{Path, PathBuf};

/// Reads a file of the system by its path; tests provide the contents.
pub(super) type Read<'a> = &'a dyn Fn(&Path) -> Option<String>;

/// The names of files and limits in one generation of control groups.
struct Generation {
    /// The name of its file system.
    system: &'static str,
    /// The controller's name in a line of `/proc/self/cgroup` and in the mount; empty in the second generation.
    controller: &'static str,
    limits: &'static [&'static str],
    used: &'static str,
    /// The key in `memory.stat` of the part of the used memory that is file cache, which the system frees when memory
    /// is short.
    cache: &'static str,
}

const GENERATIONS: [Generation; 2] = [
    Generation {
        system: "cgroup2",
        controller: "",
        // above `high`, the system slows the group down almost to a halt
        limits: &["memory.max", "memory.high"],
        used: "memory.current",
        cache: "inactive_file",
    },
    Generation {
        system: "cgroup",
        controller: "memory",
        limits: &["memory.limit_in_bytes"],
        used: "memory.usage_in_bytes",
        cache: "total_inactive_file",
    },
];

/// Returns the number of bytes left to the process by each group that limits it.
pub(super) fn left(read: Read<'_>) -> Vec<u64> {
    let texts = ["/proc/self/cgroup", "/proc/self/mountinfo"].map(|path| read(Path::new(path)));
    let [Some(groups), Some(mounts)] = texts else { return Vec::new() };
    let of_generation = |generation: &Generation| {
        let folders = folders(generation, &groups, &mounts);
        folders.iter().filter_map(|folder| generation.left(folder, read)).collect::<Vec<_>>()
    };
    GENERATIONS.iter().flat_map(of_generation).collect()
}

impl Generation {
    /// Returns the number of bytes left in a group; `None` if it has no limit.
    fn left(&self, folder: &Path, read: Read<'_>) -> Option<u64> {
        let number = |name: &&str| read(&folder.join(name))?.trim().parse::<u64>().ok();
        let limit = self.limits.iter().filter_map(number).min()?;
        let used = number(&self.used)?;
        let statistics = read(&folder.join("memory.stat")).unwrap_or_default();
        let cache = statistics.lines().find_map(|line| line.strip_prefix(self.cache)?.trim().parse::<u64>().ok());
        Some(limit.saturating_sub(used.saturating_sub(cache.unwrap_or(0))))
    }
}

/// Returns the visible folders of the process's group and of all its ancestors.
fn folders(generation: &Generation, groups: &str, mounts: &str) -> Vec<PathBuf> {
    let Some(group) = groups.lines().find_map(|line| group(generation, line)) else { return Vec::new() };
    let Some((root, mount)) = mounts.lines().find_map(|line| mount(generation, line)) else { return Vec::new() };
    // a container sees its own part of the groups; groups outside appear as the root
    let below = Path::new(group).strip_prefix(&root).unwrap_or(Path::new(""));
    let inside = below.components().all(|part| matches!(part, std::path::Component::Normal(_)));
    let own = if inside { mount.join(below) } else { mount.clone() };
    own.ancestors().take_while(|folder| folder.starts_with(&mount)).map(Path::to_path_buf).collect()
}

/// Returns the group in a line of `/proc/self/cgroup` (`4:memory:/user/a`, `0::/user/a`), if it is of this generation.
fn group<'a>(generation: &Generation, line: &'a str) -> Option<&'a str> {
    let mut parts = line.splitn(3, ':').skip(1);
    let (controllers, group) = (parts.next()?, parts.next()?);
    controllers.split(',').any(|controller| controller == generation.controller).then_some(group)
}

/// Returns the group that a line of `/proc/self/mountinfo` mounts and the mount point, if it is of this generation.
fn mount(generation: &Generation, line: &str) -> Option<(PathBuf, PathBuf)> {
    let (place, kind) = line.split_once(" - ")?;
    let mut kind = kind.split(' ');
    let (system, options) = (kind.next()?, kind.nth(1)?);
    let controls = generation.controller.is_empty() || options.split(',').any(|option| option == generation.controller);
    if system != generation.system || !controls {
        return None;
    }
    let mut place = place.split(' ').skip(3).map(|path| PathBuf::from(unescaped(path)));
    Some((place.next()?, place.next()?))
}

/// Returns a path with plain blanks; `mountinfo` writes them as `\040`.
fn unescaped(path: &str) -> String {
    let escapes = [("\\040", " "), ("\\011", "\t"), ("\\012", "\n"), ("\\134", "\\")];
    escapes.iter().fold(path.to_string(), |path, (escape, character)| path.replace(escape, character))
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: &str = "35 24 0:30 / /sys/fs/cgroup rw,nosuid shared:9 - cgroup2 cgroup2 rw,nsdelegate\n";
    const FIRST: &str = "\
31 23 0:28 / /sys/fs/cgroup rw,relatime - tmpfs tmpfs rw,mode=755
32 31 0:29 / /sys/fs/cgroup/cpu rw,relatime - cgroup cgroup rw,cpu
35 31 0:32 / /sys/fs/cgroup/memory rw,relatime - cgroup cgroup rw,memory
41 31 0:38 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw
";

    fn left_of(groups: &str, mounts: &str, files: &[(&str, &str)]) -> Vec<u64> {
        left(&|path| match path.to_str()? {
            "/proc/self/cgroup" => Some(groups.into()),
            "/proc/self/mountinfo" => Some(mounts.into()),
            path => files.iter().find(|(name, _)| *name == path).map(|(_, text)| text.to_string()),
        })
    }

    #[test]
    fn every_group_from_the_own_one_up_counts() {
        let files = [
            ("/sys/fs/cgroup/user/run/memory.max", "max\n"),
            ("/sys/fs/cgroup/user/run/memory.high", "max\n"),
            ("/sys/fs/cgroup/user/run/memory.current", "1000\n"),
            ("/sys/fs/cgroup/user/memory.max", "400000\n"),
            ("/sys/fs/cgroup/user/memory.high", "300000\n"),
            ("/sys/fs/cgroup/user/memory.current", "100000\n"),
            ("/sys/fs/cgroup/user/memory.stat", "anon 40000\ninactive_file 60000\nactive_file 0\n"),
            ("/sys/fs/cgroup/memory.max", "900000\n"),
            ("/sys/fs/cgroup/memory.current", "950000\n"),
        ];
        // the parent of the group, whose file cache does not count as used, and the root, which is full
        assert_eq!(left_of("0::/user/run\n", SECOND, &files), [260_000, 0]);
        assert_eq!(left_of("0::/\n", SECOND, &files), [0]);
        assert_eq!(left_of("0::/other\n", SECOND, &files), [0]);
    }

    #[test]
    fn the_first_generation_has_a_hierarchy_for_memory() {
        let groups = "9:name=systemd:/\n4:cpu,memory:/user/a b\n1:cpu:/elsewhere\n0::/\n";
        let files = [
            ("/sys/fs/cgroup/memory/user/a b/memory.limit_in_bytes", "419430400\n"),
            ("/sys/fs/cgroup/memory/user/a b/memory.usage_in_bytes", "419430400\n"),
            ("/sys/fs/cgroup/memory/user/a b/memory.stat", "inactive_file 1\ntotal_inactive_file 400\n"),
            ("/sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n"),
            ("/sys/fs/cgroup/memory/memory.usage_in_bytes", "0\n"),
        ];
        assert_eq!(left_of(groups, FIRST, &files), [400, 9223372036854771712]);
    }

    #[test]
    fn a_container_sees_its_part() {
        let files = [
            ("/groups here/memory.max", "500\n"),
            ("/groups here/memory.current", "100\n"),
            ("/groups here/job/memory.max", "300\n"),
            ("/groups here/job/memory.current", "100\n"),
        ];
        let mounts = "35 24 0:30 /docker/1f /groups\\040here ro - cgroup2 cgroup rw\n";
        assert_eq!(left_of("0::/docker/1f/job\n", mounts, &files), [200, 400]);
        assert_eq!(left_of("0::/docker/1f\n", mounts, &files), [400]);
        // a group outside of the mount: only the mount is readable
        assert_eq!(left_of("0::/elsewhere\n", mounts, &files), [400]);
        assert_eq!(left_of("0::/../elsewhere\n", SECOND, &[]), [0u64; 0]);
    }

    #[test]
    fn texts_of_another_kind_say_nothing() {
        for (groups, mounts) in
            [("", ""), ("0::/a", ""), ("", SECOND), ("x", "y"), ("4:memory", "1 2 3 - cgroup"), ("::", " - ")]
        {
            assert_eq!(left_of(groups, mounts, &[]), [0u64; 0], "{groups} {mounts}");
        }
    }
}
