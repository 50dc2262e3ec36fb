use std::fs;

use anyhow::{Context, Result};

/// The resident memory of a process, as Linux prints it.
pub(super) fn resident(pid: u32) -> Result<String> {
    let status = fs::read_to_string(format!("/proc/{pid}/status"))?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    Ok(line.context("no VmRSS in /proc")?.trim().to_owned())
}
