//! Whether the system holds the process back: the CPU limit of its control group, read at the scrape. Shows nothing where
//! there is none.

use std::fs;

/// What a limit has done since the group was made.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Throttling {
    pub(super) periods: u64,
    pub(super) throttled_periods: u64,
    pub(super) throttled_s: f64,
}

/// Of the process's own group, by version 2 or version 1 of cgroups.
pub(super) fn throttling() -> Option<Throttling> {
    let groups = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    let text = files(&groups).into_iter().find_map(|file| fs::read_to_string(file).ok())?;
    parse(&text)
}

/// Where the numbers may be, by lines such as `0::/system.slice/jari.service` or `4:cpu,cpuacct:/docker/1f2e`. In a
/// container the group's own folder is often the root of what can be seen.
fn files(groups: &str) -> Vec<String> {
    let mut files = Vec::new();
    for line in groups.lines() {
        let mut parts = line.splitn(3, ':').skip(1);
        let (Some(controllers), Some(path)) = (parts.next(), parts.next()) else { continue };
        let path = path.trim_end_matches('/');
        let root = match controllers {
            "" => "/sys/fs/cgroup".to_owned(),
            _ if controllers.split(',').any(|one| one == "cpu") => {
                format!("/sys/fs/cgroup/{controllers}")
            }
            _ => continue,
        };
        files.push(format!("{root}{path}/cpu.stat"));
        files.push(format!("{root}/cpu.stat"));
    }
    files
}

fn parse(stat: &str) -> Option<Throttling> {
    let number = |name: &str| -> Option<u64> {
        let mut lines = stat.lines().filter_map(|line| line.split_once(' '));
        lines.find(|(key, _)| *key == name)?.1.trim().parse().ok()
    };
    // Version 2 tells microseconds, version 1 nanoseconds.
    let throttled_s = number("throttled_usec")
        .map(|micros| micros as f64 / 1e6)
        .or_else(|| number("throttled_time").map(|nanos| nanos as f64 / 1e9))?;
    Some(Throttling {
        periods: number("nr_periods")?,
        throttled_periods: number("nr_throttled")?,
        throttled_s,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_versions_are_read() {
        let wanted = Throttling { periods: 10, throttled_periods: 3, throttled_s: 1.5 };
        let two = "usage_usec 5\nnr_periods 10\nnr_throttled 3\nthrottled_usec 1500000\n";
        let one = "nr_periods 10\nnr_throttled 3\nthrottled_time 1500000000\n";
        assert_eq!((parse(two), parse(one)), (Some(wanted), Some(wanted)));
        // A version 2 group without a limit.
        assert_eq!(parse("usage_usec 5\nuser_usec 3\nsystem_usec 2\n"), None);
    }

    #[test]
    fn the_groups_own_file_comes_first() {
        let own = "/sys/fs/cgroup/system.slice/jari.service/cpu.stat";
        assert_eq!(files("0::/system.slice/jari.service\n")[0], own);
        assert_eq!(files("0::/\n")[0], "/sys/fs/cgroup/cpu.stat");
        let one = "5:memory:/a\n4:cpu,cpuacct:/docker/1f\n";
        assert_eq!(files(one)[0], "/sys/fs/cgroup/cpu,cpuacct/docker/1f/cpu.stat");
        assert!(files("garbage").is_empty());
    }
}
