use std::env;
use std::ffi::OsString;
use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::{install, workspace};

/// Debian's packages of the engine and what it needs.
const PACKAGES: [&str; 3] = ["velocity", "libcommons-lang-java", "libcommons-collections3-java"];

const JARS: [&str; 3] = ["velocity-1.7.jar", "commons-lang-2.6.jar", "commons-collections3.jar"];

/// Where Debian installs them.
const BELOW: &str = "usr/share/java";

const GET_JARS: &str = "apt-get and dpkg-deb are needed to fetch Apache Velocity 1.7 from Debian or Ubuntu (no root; \
     apt-get update first, if it finds no package). Elsewhere put velocity-1.7.jar, commons-lang-2.6.jar and \
     commons-collections3.jar into one folder and name it: TESTBED_VELOCITY=/path/to/folder";

/// The class path of Apache Velocity 1.7, the engine that API Gateway's mapping templates are written for.
pub fn velocity() -> Result<OsString> {
    if let Some(named) = env::var_os("TESTBED_VELOCITY") {
        return class_path(Path::new(&named));
    }
    let folder = workspace::tools().join("velocity");
    install::once(&folder, &PACKAGES.join("\n"), |folder| class_path(&folder.join(BELOW)).is_ok(), fetch)?;
    class_path(&folder.join(BELOW))
}

fn fetch(folder: &Path) -> Result<()> {
    let mut download = Command::new("apt-get");
    install::run(download.arg("download").args(PACKAGES).current_dir(folder), GET_JARS).context(GET_JARS)?;
    for file in fs::read_dir(folder)? {
        let file = file?.path();
        if file.extension().is_some_and(|extension| extension == "deb") {
            install::run(Command::new("dpkg-deb").arg("-x").arg(&file).arg(folder), GET_JARS)?;
        }
    }
    Ok(())
}

fn class_path(folder: &Path) -> Result<OsString> {
    let jars = JARS.map(|jar| folder.join(jar));
    if let Some(missing) = jars.iter().find(|jar| !jar.exists()) {
        bail!("{} is missing. {GET_JARS}", missing.display());
    }
    Ok(env::join_paths(jars)?)
}
