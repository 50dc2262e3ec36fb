//! The nginx of this machine: it tests its configuration, and reads it again.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Result;

use document::Refusal;

#[derive(Debug, thiserror::Error)]
#[error("there is no nginx on this machine")]
pub struct NoNginx;

/// The program, which reads this main file.
#[derive(Debug)]
pub struct NginxProgram<'a> {
    pub conf: &'a Path,
}

impl NginxProgram<'_> {
    /// What nginx says against its configuration.
    pub fn complaint(&self) -> Result<Option<String>> {
        self.run(&["-t", "-q"])
    }

    /// Lets nginx test its configuration and read it again. Returns why it does not, such as that it does not run.
    pub fn refuses(&self) -> Option<String> {
        let steps: [&[&str]; 2] = [&["-t", "-q"], &["-s", "reload"]];
        steps.iter().find_map(|step| self.run(step).unwrap_or_else(|error| Some(format!("{error:#}"))))
    }

    fn run(&self, arguments: &[&str]) -> Result<Option<String>> {
        // The paths of users often lack /usr/sbin.
        for program in ["nginx", "/usr/sbin/nginx"].map(PathBuf::from) {
            let output = Command::new(&program).arg("-c").arg(self.conf).args(arguments).output();
            match output {
                Err(error) if error.kind() == ErrorKind::NotFound => {}
                Err(error) => {
                    let problem = format!("could not run {}: {error}", program.display());
                    return Err(Refusal::plain(problem).into());
                }
                Ok(output) if output.status.success() => return Ok(None),
                Ok(output) => {
                    let said = String::from_utf8_lossy(&output.stderr).trim().to_owned();
                    return Ok(Some(if said.is_empty() { output.status.to_string() } else { said }));
                }
            }
        }
        Err(NoNginx.into())
    }
}
