//! The package for Debian and Ubuntu, made by `dpkg-deb`.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result};
use emulators::workspace::{root, target};

use super::product::Product;
use super::tree::{Tree, gzip, read};
use crate::process::run;

/// `infra/release/deb` has its scripts and the description of the package.
const OURS: &str = "infra/release/deb";

/// The scripts that dpkg runs.
const SCRIPTS: [&str; 3] = ["postinst", "prerm", "postrm"];

/// Writes the package. `architecture` is Debian's name of the processor.
pub(super) fn write(product: &Product, program: &[u8], architecture: &str, package: &Path) -> Result<()> {
    let mut tree = Tree::default();
    let ours = |name: &str| read(&root().join(OURS).join(name));
    let description = String::from_utf8(ours("control")?)?;
    tree.add("DEBIAN/control", control(&description, &product.version, architecture));
    for script in SCRIPTS {
        tree.add_program(format!("DEBIAN/{script}"), ours(script)?);
    }
    tree.add_program("usr/bin/beekeeper", program);
    for (name, content) in &product.hosting {
        // As conffiles, they'd have dpkg ask at nearly every upgrade: everybody edits them, and so do we. postinst copies them.
        let folder =
            if name.ends_with(".service") { "usr/lib/systemd/system" } else { "usr/share/beekeeper" };
        tree.add(format!("{folder}/{name}"), content.clone());
    }
    tree.add("usr/lib/sysusers.d/beekeeper.conf", ours("sysusers.conf")?);
    for (name, page) in &product.manual {
        tree.add(format!("usr/share/man/man1/{name}.gz"), gzip(page)?);
    }
    for (name, folder) in [
        ("beekeeper.bash", "bash-completion/completions/beekeeper"),
        ("_beekeeper", "zsh/vendor-completions/_beekeeper"),
        ("beekeeper.fish", "fish/vendor_completions.d/beekeeper.fish"),
    ] {
        let script = product.completions.get(name).with_context(|| format!("there is no {name}"))?;
        tree.add(format!("usr/share/{folder}"), script.clone());
    }
    let licences = ["LICENSE-MIT", "LICENSE-APACHE"].map(|licence| read(&root().join(licence)));
    let licences: Vec<_> = licences.into_iter().collect::<Result<_>>()?;
    tree.add("usr/share/doc/beekeeper/copyright", [licences.concat(), product.licences.clone()].concat());
    tree.add("usr/share/doc/beekeeper/changelog.gz", gzip(&read(&root().join("CHANGELOG.md"))?)?);
    for (path, content) in &product.documents {
        tree.add(format!("usr/share/doc/beekeeper/{path}"), content.clone());
    }
    let folder = target().join("release-work").join(format!("deb-{architecture}"));
    tree.write(&folder)?;
    let mut dpkg = Command::new("dpkg-deb");
    // Nobody needs to be root, and the time of the commit is that of every file.
    dpkg.args(["--root-owner-group", "-Zxz", "--build"]).arg(&folder).arg(package);
    run(dpkg.env("SOURCE_DATE_EPOCH", product.commit.time.to_string()))
        .context("dpkg-deb is needed for the .deb: apt install dpkg")
}

/// What dpkg reads of the package. To dpkg, 0.1.0-rc.1 is newer than 0.1.0, and 0.1.0~rc.1 is older.
fn control(description: &str, version: &str, architecture: &str) -> String {
    description.replace("@VERSION@", &version.replace('-', "~")).replace("@ARCHITECTURE@", architecture)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dpkg_takes_a_candidate_for_older_than_the_release() {
        let description = include_str!("../../../../infra/release/deb/control");
        for (version, line) in [("0.1.0", "Version: 0.1.0"), ("0.1.0-rc.1", "Version: 0.1.0~rc.1")] {
            let filled = control(description, version, "amd64");
            assert!(filled.lines().any(|found| found == line), "{filled}");
        }
    }
}
