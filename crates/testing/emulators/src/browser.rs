//! What the page needs to be built and tested: packages from npm, and browsers.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::{install, workspace};

/// A program that Debian has a package of.
struct Program {
    /// The environment variable that may name it, and that tells the tests where it is.
    variable: &'static str,
    /// Its names on the PATH.
    names: &'static [&'static str],
    package: &'static str,
}

const PROGRAMS: [Program; 4] = [
    Program {
        variable: "CHROMIUM",
        names: &["chromium", "chromium-browser", "google-chrome"],
        package: "chromium",
    },
    Program { variable: "FIREFOX", names: &["firefox-esr", "firefox"], package: "firefox-esr" },
    Program { variable: "WEBKIT_DRIVER", names: &["WebKitWebDriver"], package: "webkit2gtk-driver" },
    Program { variable: "XVFB", names: &["Xvfb"], package: "xvfb" },
];

const GECKODRIVER: &str = "0.37.1";

/// The browsers and what drives them, each with the environment variable that tells the tests where it is. Root gets
/// Debian's packages installed.
pub fn browsers() -> Result<Vec<(&'static str, PathBuf)>> {
    let missing: Vec<_> = PROGRAMS.iter().filter(|program| program.find().is_none()).collect();
    if !missing.is_empty() {
        install_packages(&missing)?;
    }
    let find = |program: &Program| Some((program.variable, program.find()?));
    let mut found = PROGRAMS.iter().map(find).collect::<Option<Vec<_>>>().with_context(|| get(&missing))?;
    found.push(("GECKODRIVER", geckodriver()?));
    Ok(found)
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

fn install_packages(missing: &[&Program]) -> Result<()> {
    let get = get(missing);
    if !rustix::process::geteuid().is_root() {
        bail!(get);
    }
    let packages = missing.iter().map(|program| program.package);
    eprintln!("installing Debian's {} (once)", packages.clone().collect::<Vec<_>>().join(", "));
    install::run(Command::new("apt-get").args(["update", "-qq"]), &get)?;
    let mut apt = Command::new("apt-get");
    apt.args(["install", "-y", "-qq", "--no-install-recommends"]).args(packages);
    install::run(apt.env("DEBIAN_FRONTEND", "noninteractive"), &get)
}

/// How to get these programs.
fn get(missing: &[&Program]) -> String {
    let list =
        |text: fn(&Program) -> &'static str| missing.iter().map(|program| text(program)).collect::<Vec<_>>();
    format!(
        "the page is tested in three browsers: `sudo apt-get install {}` on Debian; or set the path in {}",
        list(|program| program.package).join(" "),
        list(|program| program.variable).join(" and "),
    )
}

/// What starts Firefox for a test. Debian has no package of it.
fn geckodriver() -> Result<PathBuf> {
    let folder = workspace::tools().join("geckodriver");
    let program = |folder: &Path| folder.join("bin/geckodriver");
    install::once(
        &folder,
        GECKODRIVER,
        |folder| program(folder).is_file(),
        |folder| {
            let mut cargo = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
            // It is not optimised: that would take longer than it saves.
            cargo.args(["install", "geckodriver", "--locked", "--debug", "--version", GECKODRIVER, "--root"]);
            cargo.arg(folder).env("CARGO_PROFILE_DEV_DEBUG", "false");
            install::run(&mut cargo, "cargo is needed")
        },
    )?;
    Ok(program(&folder))
}

/// The folder with the packages in `site/package-lock.json`. They build and test the page.
pub fn packages() -> Result<PathBuf> {
    let site = workspace::root().join("site");
    let lock = site.join("package-lock.json");
    let wanted = fs::read_to_string(&lock).with_context(|| format!("could not read {}", lock.display()))?;
    let folder = workspace::tools().join("site");
    install::once(
        &folder,
        &wanted,
        |folder| folder.join("node_modules").is_dir(),
        |folder| {
            for file in ["package.json", "package-lock.json"] {
                fs::copy(site.join(file), folder.join(file))?;
            }
            let mut npm = Command::new("npm");
            npm.args(["ci", "--ignore-scripts", "--no-audit", "--no-fund"]).current_dir(folder);
            install::run(&mut npm, "npm is needed; it comes with Node.js 20 or newer")
        },
    )?;
    Ok(folder)
}
