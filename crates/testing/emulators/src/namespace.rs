use std::process::Command;

use anyhow::{Context, Result};

use crate::install;

/// Allows what Ubuntu forbids by default.
const ALLOW: &str = "sudo sysctl --write kernel.apparmor_restrict_unprivileged_userns=0";

/// Runs the command that its arguments name, as root in a user namespace, with mounts that no other process sees.
pub fn unshared() -> Result<Command> {
    let unshare = || {
        let mut command = Command::new("unshare");
        command.args(["--map-root-user", "--mount"]);
        command
    };
    allowed(unshare().arg("true"))?;
    Ok(unshare())
}

fn allowed(trial: &mut Command) -> Result<()> {
    let forbidden = || format!("this needs user namespaces, which Ubuntu forbids until you type: {ALLOW}");
    install::run(trial, "it comes with util-linux").with_context(forbidden)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whoever_may_not_is_told_the_command_that_ci_runs() {
        let refused = allowed(&mut Command::new("false")).unwrap_err();
        assert!(refused.to_string().ends_with(ALLOW), "{refused}");
        assert!(include_str!("../../../../.github/workflows/ci.yml").contains(&format!("- run: {ALLOW}\n")));
    }
}
