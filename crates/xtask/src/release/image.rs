//! The container image for both architectures, as an OCI archive. buildah makes it without a daemon.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result};
use emulators::workspace::{root, target};

use super::commit::REPOSITORY;
use super::product::Product;
use super::tree::{Tree, empty};
use crate::process::run;

/// Writes the archive. The programs are by the processor's name.
pub(super) fn write(programs: &BTreeMap<&str, &Vec<u8>>, product: &Product, archive: &Path) -> Result<()> {
    let work = target().join("release-work/image");
    empty(&work)?;
    let buildah = || {
        let mut buildah = Command::new("buildah");
        // Beside the image and not in the home of whoever builds it.
        buildah.args(["--storage-driver", "vfs", "--root"]).arg(work.join("storage"));
        buildah.arg("--runroot").arg(work.join("run"));
        buildah
    };
    let list = "localhost/beekeeper";
    for (&architecture, program) in programs {
        let mut context = Tree::default();
        context.add_program("beekeeper", program.as_slice());
        context.add("licences/THIRD-PARTY.txt", product.licences.clone());
        // A folder is copied only if there is something in it.
        context.add("data/.keep", "");
        let folder = work.join(architecture);
        context.write(&folder)?;
        let mut build = buildah();
        build.args(["build", "--isolation", "chroot", "--platform", &format!("linux/{architecture}")]);
        build.args(["--timestamp", &product.commit.time.to_string(), "--manifest", list]);
        for (label, value) in [
            ("source", REPOSITORY),
            ("version", &product.version),
            ("revision", &product.commit.hash),
            ("created", &product.commit.utc()?),
        ] {
            build.args(["--label", &format!("org.opencontainers.image.{label}={value}")]);
        }
        build.arg("--file").arg(root().join("infra/release/Containerfile")).arg(&folder);
        run(&mut build).context("buildah is needed for the image: apt install buildah")?;
    }
    let layout = work.join("layout");
    let mut push = buildah();
    push.args(["manifest", "push", "--all", list]);
    run(push.arg(format!("oci:{}", layout.display())))?;
    // Not `oci-archive:`, which notes the times at which it was packed.
    let mut tree = Tree::default();
    tree.add_folder(".", &layout)?;
    fs::write(archive, tree.tar("", product.commit.time)?)?;
    Ok(())
}
