//! Static programs for Linux: linked with musl by zig, so that they run on every distribution, in an empty container, and on
//! Lambda, and so that one machine builds them for both architectures.

use std::env::{self, join_paths, split_paths};
use std::ffi::{OsStr, OsString};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use anyhow::{Context, Result, bail};
use emulators::Venv;
use emulators::workspace::{root, target};

use crate::arch::Arch;
use crate::process::{cargo, cargo_tool, run};

/// The path that programs contain instead of the real one of cargo's folder.
const CARGO_HOME: &str = "/cargo";

/// The same for the build directory: some crates generate code there.
const TARGET: &str = "/target";

/// Builds one program of a release. It carries a list of its dependencies, which `cargo audit bin` reads.
///
/// All programs are built with the same features, so that no dependency is compiled twice.
pub(crate) fn build(arch: Arch, program: &str, environment: &[(&str, &OsStr)]) -> Result<PathBuf> {
    let mut build = zigbuild(arch)?;
    build.args(["--package", "functions", "--package", "beekeeper", "--features", "beekeeper/aws"]);
    // The command needs it, and nothing else takes as long: so it's compiled beside the functions, while zig links them.
    build.args(["--package", "server", "--lib"]);
    build.args(["--bin", program]);
    let mut library = compile_library(arch)?;
    let made = run(build.envs(environment.iter().copied()));
    // Whether it worked or not: what it hasn't compiled, the linker has.
    drop(library.wait());
    made?;
    Ok(built(&target(), arch, program))
}

/// Has zig compile its C library beside the crates. It does that before it first links, on one processor for most of a minute. What it
/// compiles depends on the folder in which it runs, and on these flags, which are those of cargo-zigbuild.
fn compile_library(arch: Arch) -> Result<Child> {
    let (source, program) = (target().join("first.c"), target().join("first"));
    fs::write(&source, "int main(void) { return 0; }\n")?;
    let mut zig = Command::new(Venv::zig()?.python());
    zig.args(["-m", "ziglang", "cc", "-g", "-fno-sanitize=all", "-lunwind", "-Wl,--strip-debug"]);
    zig.args(["-target", &format!("{}-linux-musl", arch.of_rust())]).arg(source).arg("-o").arg(program);
    zig.env("ZIG_GLOBAL_CACHE_DIR", zig_cache()).current_dir(root());
    zig.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    zig.spawn().context("could not start zig")
}

fn zig_cache() -> PathBuf {
    target().join("zig-cache")
}

/// Builds the command without AWS, from another folder of sources and into its own build directory.
pub(crate) fn build_in(source: &Path, arch: Arch) -> Result<PathBuf> {
    let mut build = zigbuild(arch)?;
    run(build
        .args(["--package", "beekeeper"])
        .current_dir(source)
        .env("CARGO_TARGET_DIR", source.join("target")))?;
    Ok(built(&source.join("target"), arch, "beekeeper"))
}

fn built(target: &Path, arch: Arch, program: &str) -> PathBuf {
    target.join(triple(arch)).join("release").join(program)
}

fn triple(arch: Arch) -> String {
    format!("{}-unknown-linux-musl", arch.of_rust())
}

/// The beginning of every build. The tools are installed on demand.
fn zigbuild(arch: Arch) -> Result<Command> {
    add_target(&triple(arch))?;
    let zig = Venv::zig()?;
    let auditable = cargo_tool("cargo-auditable", "0.7.7")?;
    let mut build = cargo();
    build.args(["auditable", "zigbuild", "--locked", "--release", "--target", &triple(arch)]);
    build.env("CARGO_INCREMENTAL", "0");
    // The time that C code notes when it is compiled; and no object that an earlier zig compiled with another one.
    build.env("SOURCE_DATE_EPOCH", "0").env("ZIG_GLOBAL_CACHE_DIR", zig_cache());
    // This variable overrides all other compiler flags, so that flags of this machine do not change the programs.
    build.env("CARGO_ENCODED_RUSTFLAGS", flags()?);
    let path = env::var_os("PATH").unwrap_or_default();
    let folders = [zig.bin(), auditable].into_iter().chain(split_paths(&path));
    build.env("PATH", join_paths(folders)?);
    Ok(build)
}

/// Where zig has what its C library is made of.
pub(crate) fn musl_licence() -> Result<PathBuf> {
    let mut python = Command::new(Venv::zig()?.python());
    let output = python.args(["-c", "import ziglang; print(ziglang.__path__[0])"]).output()?;
    Ok(PathBuf::from(String::from_utf8(output.stdout)?.trim()).join("lib/libc/musl/COPYRIGHT"))
}

/// Installs the standard library for the target, unless it is there.
fn add_target(triple: &str) -> Result<()> {
    let mut rustc = Command::new("rustc");
    let output = rustc.args(["--print", "target-libdir", "--target", triple]).current_dir(root()).output()?;
    if Path::new(String::from_utf8(output.stdout)?.trim()).is_dir() {
        return Ok(());
    }
    let mut rustup = Command::new("rustup");
    run(rustup.args(["target", "add", triple]).current_dir(root()))
        .with_context(|| format!("Rust's library for {triple} is needed: install it with rustup"))
}

/// Compiler flags that replace the paths of this machine.
///
/// Panic messages contain the path of their source file. For our crates it is relative to the workspace. For other
/// crates it would be in cargo's folder, so the program would differ from machine to machine and reveal where it was
/// built.
pub(crate) fn flags() -> Result<OsString> {
    let mut flags = OsString::new();
    for (real, shown) in [(cargo_home()?, CARGO_HOME), (target(), TARGET)] {
        if !flags.is_empty() {
            flags.push("\u{1f}");
        }
        flags.push("--remap-path-prefix=");
        flags.push(real);
        flags.push("=");
        flags.push(shown);
    }
    Ok(flags)
}

fn cargo_home() -> Result<PathBuf> {
    let usual = || Some(env::home_dir()?.join(".cargo"));
    env::var_os("CARGO_HOME").map(PathBuf::from).or_else(usual).context("cargo has no folder: set CARGO_HOME")
}

/// Fails if the program contains the path where it was built: a build elsewhere would give a different program.
pub(crate) fn check_paths(name: &str, program: &[u8]) -> Result<()> {
    let mut folders =
        vec![root().join("crates"), root().join("cli"), target(), cargo_home()?.join("registry")];
    folders.retain(|folder| !folder.starts_with(CARGO_HOME));
    for folder in folders {
        if contains(program, folder.as_os_str().as_encoded_bytes()) {
            bail!(
                "{name} has {} in it and would be another program if it were built elsewhere: which crate puts it there?",
                folder.display()
            );
        }
    }
    Ok(())
}

fn contains(program: &[u8], text: &[u8]) -> bool {
    program.windows(text.len()).any(|window| window == text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_that_says_where_it_was_built_is_refused() {
        let says = |folder: &Path| {
            let program = [b"before ", folder.as_os_str().as_encoded_bytes(), b"/src/lib.rs"].concat();
            check_paths("functions", &program)
        };
        assert!(says(&root().join("crates/producer")).is_err());
        assert!(says(Path::new("crates/producer")).is_ok());
        assert!(says(Path::new("/cargo/registry/src/tokio")).is_ok());
    }
}
