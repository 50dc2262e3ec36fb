use std::fs;
use std::time::Duration;

use anyhow::{Context, Result};

/// The resident memory of a process, as Linux prints it.
pub(super) fn resident(pid: u32) -> Result<String> {
    let status = fs::read_to_string(format!("/proc/{pid}/status"))?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    Ok(line.context("no VmRSS in /proc")?.trim().to_owned())
}

/// The processor time that all threads of a process have used.
pub(super) fn cpu(pid: u32) -> Result<Duration> {
    let mut nanoseconds = 0;
    for thread in fs::read_dir(format!("/proc/{pid}/task"))? {
        let times = fs::read_to_string(thread?.path().join("schedstat"))?;
        nanoseconds += times.split(' ').next().unwrap_or_default().parse::<u64>()?;
    }
    Ok(Duration::from_nanos(nanoseconds))
}
