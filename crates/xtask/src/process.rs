use std::env;
use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::Instant;

use anyhow::{Context, Result, bail};
use emulators::workspace::{root, target, tools};

/// Cargo, as this program was started with it, at the root of the workspace.
pub(crate) fn cargo() -> Command {
    let mut cargo = Command::new(env::var_os("CARGO").unwrap_or_else(|| OsString::from("cargo")));
    // Whatever a configuration of Cargo says, it builds where everybody here looks for it.
    cargo.current_dir(root()).env("CARGO_TARGET_DIR", target());
    // Also in place of somebody's own: the same commit gives the same bytes.
    cargo.env("RUSTC_WRAPPER", root().join(".cargo/mostly-unused.sh"));
    cargo
}

/// Runs a command to its end, and fails if it fails.
pub(crate) fn run(command: &mut Command) -> Result<()> {
    let status = command.status().with_context(|| format!("could not start {command:?}"))?;
    if !status.success() {
        bail!("{command:?} failed: {status}");
    }
    Ok(())
}

/// Runs a command to its end beside others, and fails if it fails. What it says is printed at the end, and until then in a file
/// below `target`.
pub(crate) fn run_beside_others(name: &str, command: &mut Command) -> Result<()> {
    let folder = target().join("test-output");
    fs::create_dir_all(&folder)?;
    let log = folder.join(name.replace([' ', '/'], "-")).with_extension("log");
    let output = File::create(&log).with_context(|| format!("could not write {}", log.display()))?;
    let begun = Instant::now();
    let status = command.stdin(Stdio::null()).stdout(output.try_clone()?).stderr(output).status();
    let status = status.with_context(|| format!("could not start {command:?}"))?;
    let took = begun.elapsed();
    let mut stdout = io::stdout().lock();
    writeln!(stdout, "     Running {name} ({took:.1?})")?;
    stdout.write_all(&fs::read(&log)?)?;
    if !status.success() {
        writeln!(stdout, "      Failed {name}: {status}; what it said is in {}", log.display())?;
        bail!("{name} failed: {status}");
    }
    Ok(())
}

/// The folder of one of cargo's own tools, at this version. It is installed under the build directory.
pub(crate) fn cargo_tool(name: &str, version: &str) -> Result<PathBuf> {
    let folder = tools().join("bin");
    // Cargo's own list: not every tool says its version.
    let list = fs::read_to_string(tools().join(".crates.toml")).unwrap_or_default();
    let is_current = folder.join(name).exists() && list.contains(&format!("\"{name} {version} "));
    if !is_current {
        eprintln!("installing {name} {version} under {} (once)", tools().display());
        // It runs for a second, so optimising it would take longer than it saves.
        let mut install = cargo();
        install.args(["install", name, "--locked", "--debug", "--version", version, "--root"]).arg(tools());
        // It is compiled in a folder of its own, which is removed.
        run(install.env("CARGO_PROFILE_DEV_DEBUG", "false").env_remove("CARGO_TARGET_DIR"))
            .with_context(|| format!("could not install {name}"))?;
    }
    Ok(folder)
}

#[cfg(test)]
mod tests {
    use std::ffi::OsStr;

    use super::*;

    /// `build.target-dir` in `~/.cargo/config.toml` is weaker than the variable, which tests get from here too.
    #[test]
    fn cargo_builds_where_we_look() {
        let expected = (OsStr::new("CARGO_TARGET_DIR"), Some(target().into_os_string()));
        assert!(cargo().get_envs().any(|(name, value)| (name, value.map(ToOwned::to_owned)) == expected));
    }
}
