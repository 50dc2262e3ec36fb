//! Programs that Debian has packages of.

use std::env;
use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::install;
use crate::workspace::tools;

/// A program that Debian has a package of.
pub(crate) struct Program {
    /// The environment variable that may name it, and that tells the tests where it is.
    pub(crate) variable: &'static str,
    /// Its names on the PATH.
    pub(crate) names: &'static [&'static str],
    pub(crate) package: &'static str,
}

impl Program {
    fn find(&self) -> Option<PathBuf> {
        if let Some(named) = env::var_os(self.variable) {
            return Some(named.into());
        }
        let folders: Vec<_> = env::split_paths(&env::var_os("PATH")?).collect();
        let candidates =
            self.names.iter().flat_map(|name| folders.iter().map(move |folder| folder.join(name)));
        candidates.into_iter().find(|candidate| candidate.is_file())
    }
}

/// Where the programs are, by their variables. Root gets Debian's packages installed. `purpose` says what needs them.
pub(crate) fn installed(programs: &[Program], purpose: &str) -> Result<Vec<(&'static str, PathBuf)>> {
    let missing = || programs.iter().filter(|program| program.find().is_none()).collect::<Vec<_>>();
    let mut lacks = missing();
    if !lacks.is_empty() {
        // Another test may be installing the same.
        let _lock = install::lock(&tools().join("packages.lock"))?;
        lacks = missing();
        if !lacks.is_empty() {
            install_packages(&lacks, purpose)?;
        }
    }
    let find = |program: &Program| Some((program.variable, program.find()?));
    programs.iter().map(find).collect::<Option<Vec<_>>>().with_context(|| get(&lacks, purpose))
}

fn install_packages(missing: &[&Program], purpose: &str) -> Result<()> {
    let get = get(missing, purpose);
    if !rustix::process::geteuid().is_root() {
        bail!(get);
    }
    let packages = missing.iter().map(|program| program.package);
    eprintln!("installing Debian's {} (once)", packages.clone().collect::<Vec<_>>().join(", "));
    let apt_get = || {
        let mut apt = Command::new("apt-get");
        apt.args(["-o", "DPkg::Lock::Timeout=600", "-o", "Acquire::Retries=3"]);
        apt
    };
    install::run(apt_get().args(["update", "-qq"]), &get)?;
    let mut apt = apt_get();
    apt.args(["install", "-y", "-qq", "--no-install-recommends"]).args(packages);
    install::run(apt.env("DEBIAN_FRONTEND", "noninteractive"), &get)
}

/// How to get these programs.
fn get(missing: &[&Program], purpose: &str) -> String {
    let list =
        |text: fn(&Program) -> &'static str| missing.iter().map(|program| text(program)).collect::<Vec<_>>();
    format!(
        "{purpose}: `sudo apt-get install {}` on Debian; or set the path in {}",
        list(|program| program.package).join(" "),
        list(|program| program.variable).join(" and "),
    )
}
