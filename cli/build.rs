//! Includes the function packages from the folder that `BEEKEEPER_PACKAGES` names: `<architecture>/functions.zip`, as
//! `cargo xtask package` writes them. Without the variable there are none.
//!
//! Says what is built: the target, and the commit with its day, which `BEEKEEPER_COMMIT` and `BEEKEEPER_COMMIT_DATE` name. Without
//! them, a release build asks git. A changed file belongs to no commit.

use std::env;
use std::error::Error;
use std::ffi::OsStr;
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo::rerun-if-env-changed=BEEKEEPER_PACKAGES");
    println!("cargo::rerun-if-changed=build.rs");
    say_what_is_built()?;
    let mut packages = String::new();
    if let Some(folder) = env::var_os("BEEKEEPER_PACKAGES").filter(|folder| !folder.is_empty()) {
        // `include_bytes!` resolves a relative path from the file that includes it, so the path must be absolute.
        for architecture in entries(&fs::canonicalize(&folder)?)? {
            let zip = architecture.join("functions.zip");
            if zip.exists() {
                let (architecture, path) = (text(architecture.file_name())?, text(Some(zip.as_os_str()))?);
                println!("cargo::rerun-if-changed={path}");
                writeln!(packages, "({architecture:?}, include_bytes!({path:?})),")?;
            }
        }
        if packages.is_empty() {
            return Err(
                format!("there are no packages in {}; run cargo xtask package", folder.display()).into()
            );
        }
    }
    let out = PathBuf::from(env::var_os("OUT_DIR").ok_or("cargo sets OUT_DIR")?);
    fs::write(out.join("packages.rs"), format!("&[{packages}]"))?;
    Ok(())
}

fn say_what_is_built() -> Result<(), Box<dyn Error>> {
    let given = ["BEEKEEPER_COMMIT", "BEEKEEPER_COMMIT_DATE"].map(|variable| {
        println!("cargo::rerun-if-env-changed={variable}");
        env::var(variable).unwrap_or_default()
    });
    let [commit, date] = if given[0].is_empty() && env::var("PROFILE")? == "release" {
        commit_of_git().unwrap_or_default()
    } else {
        given
    };
    println!("cargo::rustc-env=BEEKEEPER_BUILD_COMMIT={}", commit.get(..12).unwrap_or(&commit));
    println!("cargo::rustc-env=BEEKEEPER_BUILD_DATE={date}");
    println!("cargo::rustc-env=BEEKEEPER_BUILD_TARGET={}", env::var("TARGET")?);
    Ok(())
}

/// The commit and its day, if no file differs from it. A build for tests would be another one after each commit.
fn commit_of_git() -> Option<[String; 2]> {
    // Whatever changes a file or the commit.
    for path in [
        "../.git/HEAD",
        "../.git/logs/HEAD",
        "../Cargo.toml",
        "../Cargo.lock",
        "../crates",
        "../infra",
        "../site",
        "src",
    ] {
        if Path::new(path).exists() {
            println!("cargo::rerun-if-changed={path}");
        }
    }
    let git = |arguments: &[&str]| {
        let output =
            Command::new("git").args(arguments).output().ok().filter(|output| output.status.success())?;
        Some(String::from_utf8(output.stdout).ok()?.trim().to_owned())
    };
    if !git(&["status", "--porcelain", "--untracked-files=no"])?.is_empty() {
        return None;
    }
    let [commit, date] = ["%H", "%cs"].map(|what| git(&["log", "-1", &format!("--format={what}")]));
    Some([commit?, date?])
}

fn entries(folder: &Path) -> Result<Vec<PathBuf>, Box<dyn Error>> {
    println!("cargo::rerun-if-changed={}", folder.display());
    let entries = fs::read_dir(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let mut paths = entries.map(|entry| Ok(entry?.path())).collect::<Result<Vec<_>, Box<dyn Error>>>()?;
    paths.sort();
    Ok(paths)
}

fn text(part: Option<&OsStr>) -> Result<&str, &'static str> {
    part.and_then(OsStr::to_str).ok_or("a package has a name that is not UTF-8")
}
