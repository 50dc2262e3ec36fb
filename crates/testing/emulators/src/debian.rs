use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

use anyhow::{Context, Result};

use crate::{install, workspace};

/// A program of this machine, or else the one from Debian's package of the same name, which has it at this path. That
/// needs no root. `get` says what to do if it fails.
pub(crate) fn program(name: &str, in_package: &str, get: &str) -> Result<PathBuf> {
    let search = env::var_os("PATH").unwrap_or_default();
    // The paths of users often lack /usr/sbin.
    let folders =
        env::split_paths(&search).chain([PathBuf::from("/usr/sbin"), PathBuf::from("/usr/local/sbin")]);
    if let Some(found) = folders.map(|folder| folder.join(name)).find(|program| program.is_file()) {
        return Ok(found);
    }
    let tool = workspace::tools().join(name);
    // Newer releases have everything below usr.
    let unpacked = |tool: &Path| {
        [tool.join(in_package), tool.join("usr").join(in_package)].into_iter().find(|path| path.is_file())
    };
    install::once(
        &tool,
        &format!("{name} of this release of Debian or Ubuntu"),
        |tool| unpacked(tool).is_some(),
        |tool| unpack(name, tool, get),
    )?;
    unpacked(&tool).with_context(|| format!("there is no {in_package} in Debian's package {name}"))
}

/// The tools of a small machine, in one program.
pub fn busybox() -> Result<PathBuf> {
    const GET: &str = "busybox is needed: on Debian and Ubuntu `sudo apt-get install busybox`, or only `apt-get update` as root, and \
                       the test unpacks the package itself";
    program("busybox", "bin/busybox", GET)
}

/// Downloads a package of this release of Debian or Ubuntu, and unpacks it into the folder. That needs no root, and runs
/// nothing of the package. `get` says what to do if it fails.
pub(crate) fn unpack(package: &str, folder: &Path, get: &str) -> Result<()> {
    let mut download = Command::new("apt-get");
    install::run(download.args(["download", package]).current_dir(folder), get)?;
    let files = fs::read_dir(folder)?.flatten().map(|entry| entry.path());
    let file = files.into_iter().find(|path| path.extension().is_some_and(|end| end == "deb"));
    let file = file.with_context(|| format!("apt-get left no package in {}", folder.display()))?;
    install::run(Command::new("dpkg-deb").arg("--extract").arg(file).arg(folder), get)
}
