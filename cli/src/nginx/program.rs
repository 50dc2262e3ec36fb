//! The nginx of this machine: it tests its configuration, and reads it again.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Result;

use crate::exit::{Exit, Failure};

#[derive(Debug)]
pub(crate) struct NginxProgram<'a> {
    pub(crate) conf: &'a Path,
}

impl NginxProgram<'_> {
    /// What nginx says against its configuration.
    pub(crate) fn complaint(&self) -> Result<Option<String>> {
        self.run(&["-t", "-q"])
    }

    /// What nginx says if it cannot read it again, such as that it does not run.
    pub(crate) fn reload(&self) -> Result<Option<String>> {
        self.run(&["-s", "reload"])
    }

    fn run(&self, arguments: &[&str]) -> Result<Option<String>> {
        // The paths of users often lack /usr/sbin.
        for program in ["nginx", "/usr/sbin/nginx"].map(PathBuf::from) {
            let output = Command::new(&program).arg("-c").arg(self.conf).args(arguments).output();
            match output {
                Err(error) if error.kind() == ErrorKind::NotFound => {}
                Err(error) => {
                    let problem = format!("could not run {}: {error}", program.display());
                    return Err(Failure::new(Exit::Failed, problem).into());
                }
                Ok(output) if output.status.success() => return Ok(None),
                Ok(output) => {
                    let said = String::from_utf8_lossy(&output.stderr).trim().to_owned();
                    return Ok(Some(if said.is_empty() { output.status.to_string() } else { said }));
                }
            }
        }
        let missing = Failure::new(Exit::Missing, "there is no nginx on this machine");
        Err(missing.advising("install it: sudo apt-get install nginx").into())
    }
}
