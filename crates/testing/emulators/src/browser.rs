//! What the page needs to be built and tested: packages from npm, and browsers.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};

use crate::program::{self, Program};
use crate::{install, workspace};

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

/// The browsers and what `WebKit` needs, each with the environment variable that tells the tests where it is. Root gets
/// Debian's packages installed.
pub fn browsers() -> Result<Vec<(&'static str, PathBuf)>> {
    program::installed(&PROGRAMS, "the page is tested in three browsers")
}

/// Chromium alone, for a page that one browser looks at.
pub fn chromium() -> Result<PathBuf> {
    let found = program::installed(PROGRAMS.get(..1).unwrap_or_default(), "a browser visits a shop")?;
    found.into_iter().next().map(|(_, program)| program).context("there is no Chromium")
}

/// The folder with the packages in `site/package-lock.json`. They build and test the page.
pub fn packages() -> Result<PathBuf> {
    npm_packages("site", &workspace::root().join("site"))
}

/// A folder of this name with the packages from npm that the `package-lock.json` in `source` names.
pub fn npm_packages(name: &str, source: &Path) -> Result<PathBuf> {
    let lock = source.join("package-lock.json");
    let wanted = fs::read_to_string(&lock).with_context(|| format!("could not read {}", lock.display()))?;
    let folder = workspace::tools().join(name);
    install::once(
        &folder,
        &wanted,
        |folder| folder.join("node_modules").is_dir(),
        |folder| {
            for file in ["package.json", "package-lock.json"] {
                fs::copy(source.join(file), folder.join(file))?;
            }
            let mut npm = Command::new("npm");
            npm.args(["ci", "--ignore-scripts", "--no-audit", "--no-fund"]).current_dir(folder);
            install::run(&mut npm, "npm is needed; it comes with Node.js 20 or newer")
        },
    )?;
    Ok(folder)
}
