//! `cargo xtask release`: everything that people download, in `target/release-files`. The same commit with the same compiler, dpkg and
//! buildah gives the same files, wherever they are built.

mod before;
mod bill;
mod checksums;
mod commit;
mod deb;
mod dependencies;
mod formula;
mod image;
mod licences;
mod notes;
mod product;
mod tree;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use anyhow::{Context, Result, ensure};
use clap::Args;
use emulators::workspace::{root, target};

use self::commit::Commit;
use self::product::Product;
use self::tree::{Tree, empty, gzip, read};
use crate::arch::Arch;
use crate::package::packages;
use crate::platform::Platform;
use crate::zig;

const VERSION: &str = env!("CARGO_PKG_VERSION");

#[derive(Debug, Args)]
pub(crate) struct ReleaseArguments {
    /// Only the archive for this platform; repeat it for several
    #[arg(long, value_enum, conflicts_with = "complete")]
    platform: Vec<Platform>,
    /// Build nothing: write what goes with the files that there are
    #[arg(long)]
    complete: bool,
}

/// A command that was built.
struct Built {
    platform: Platform,
    path: PathBuf,
    program: Vec<u8>,
}

impl ReleaseArguments {
    pub(crate) fn make(&self) -> Result<()> {
        fs::create_dir_all(folder())?;
        if self.complete {
            check_texts(VERSION)?;
            complete(&Commit::checked_out()?)
        } else if self.platform.is_empty() {
            everything().map(drop)
        } else {
            archives(&self.platform).map(drop)
        }
    }
}

/// Programs that make Debian's packages and the image, each with the package that has it.
const TOOLS: [(&str, &str); 2] = [("dpkg-deb", "dpkg"), ("buildah", "buildah")];

/// The same, with which the tests install a release. Ubuntu's mmdebstrap doesn't bring the keys of Debian's packages.
const TOOLS_OF_TESTS: [(&str, &str); 4] = [
    ("mmdebstrap", "mmdebstrap"),
    ("/usr/share/keyrings/debian-archive-keyring.gpg", "debian-archive-keyring"),
    ("systemd-nspawn", "systemd-container"),
    ("qemu-aarch64-static", "qemu-user-static"),
];

/// Builds a release and the version before it: what is installed in tests.
pub(crate) fn for_tests() -> Result<()> {
    check_tools(&TOOLS_OF_TESTS)?;
    let product = everything()?;
    timed("the version before", || before::write(&product))
}

/// Builds everything that can be built on Linux.
fn everything() -> Result<Product> {
    check_tools(&TOOLS)?;
    empty(&folder())?;
    let (product, built) = archives(&Platform::LINUX)?;
    for built in &built {
        debian(built, &product)?;
    }
    timed("the image", || image(&built, &product))?;
    complete(&product.commit)?;
    Ok(product)
}

/// Before the builds, which take half an hour.
fn check_tools(tools: &[(&str, &str)]) -> Result<()> {
    // The keys are a file, which nobody can run.
    let runs = |tool: &str| Command::new(tool).arg("--version").output().is_ok();
    let is_missing = |tool: &str| !Path::new(tool).exists() && !runs(tool);
    let missing = tools.iter().filter(|(tool, _)| is_missing(tool)).map(|(_, package)| *package);
    let packages = missing.collect::<Vec<_>>().join(" ");
    ensure!(packages.is_empty(), "this needs tools that are missing: sudo apt install {packages}");
    Ok(())
}

fn archives(platforms: &[Platform]) -> Result<(Product, Vec<Built>)> {
    let commit = Commit::checked_out()?;
    // Before the builds. What isn't published may say what it likes.
    if commit.is_tagged(VERSION)? {
        check_texts(VERSION)?;
    }
    let day = commit.day()?;
    let packages = timed("the functions", || packages(&Arch::ALL))?;
    let mut built = Vec::new();
    for &platform in platforms {
        let path = timed(platform.triple(), || platform.command(&packages, Some([&commit.hash, &day])))?;
        let program = read(&path)?;
        zig::check_paths("beekeeper", &program)?;
        built.push(Built { platform, path, program });
    }
    let product = product(&built, commit)?;
    for built in &built {
        archive(built, &product)?;
    }
    Ok((product, built))
}

/// The changelog needs a section of the version. And until the first release, some pages say to build from source. That stays true after
/// a candidate, which is never the latest.
fn check_texts(version: &str) -> Result<()> {
    const NONE_YET: &str = "No release is published yet";

    if version.contains('-') {
        return Ok(());
    }
    ensure!(
        notes::section(&text("CHANGELOG.md")?, version).is_some(),
        "CHANGELOG.md has no section {version}. Write that in place of Unreleased, commit it, and move the tag"
    );
    let mut outdated = Vec::new();
    for page in ["README.md", "docs/install.md", "docs/one-machine.md"] {
        if text(page)?.contains(NONE_YET) {
            outdated.push(page);
        }
    }
    ensure!(
        outdated.is_empty(),
        "{version} would be published with pages that say \"{NONE_YET}\": {}. Say there how to download it, commit that, and move the tag",
        outdated.join(", ")
    );
    Ok(())
}

fn text(page: &str) -> Result<String> {
    Ok(String::from_utf8(read(&root().join(page))?)?)
}

/// Where the files are that people download.
fn folder() -> PathBuf {
    target().join("release-files")
}

/// The manual is asked of the program that runs on this machine.
fn product(built: &[Built], commit: Commit) -> Result<Product> {
    let triples: Vec<_> = built.iter().map(|built| built.platform.triple()).collect();
    let dependencies = dependencies::of_others(&triples)?;
    let licences = licences::third_party(&dependencies)?;
    let here = built.iter().find(|built| built.platform.is_this_machine());
    let here = here.context("none of these runs on this machine, so nobody can print the manual")?;
    Product::described_by(&here.path, commit, licences)
}

fn archive(built: &Built, product: &Product) -> Result<()> {
    let triple = built.platform.triple();
    let mut tree = product.archived()?;
    tree.add_program("beekeeper", built.program.clone());
    let packed = tree.tar(&format!("beekeeper-{}-{triple}/", product.version), product.commit.time)?;
    write(&built.platform.archive(), &gzip(&packed)?)
}

fn debian(built: &Built, product: &Product) -> Result<()> {
    let Some((architecture, _)) = built.platform.on_linux() else { return Ok(()) };
    let package = folder().join(format!("beekeeper_{architecture}.deb"));
    deb::write(product, &built.program, architecture, &package)?;
    written(&package)
}

fn image(built: &[Built], product: &Product) -> Result<()> {
    let on_linux = built.iter().filter_map(|built| Some((built.platform.on_linux()?.0, &built.program)));
    let archive = folder().join("beekeeper-image.tar");
    image::write(&on_linux.collect(), product, &archive)?;
    written(&archive)
}

/// Writes what goes with the archives: how to install them, what they contain, what is new, and their checksums.
fn complete(commit: &Commit) -> Result<()> {
    let ours = root().join("infra/release");
    for file in ["install.sh", "kubernetes.yaml"] {
        write(file, &read(&ours.join(file))?)?;
    }
    let mut compose = Tree::default();
    compose.add_folder("beekeeper-compose", &ours.join("compose"))?;
    write("beekeeper-compose.tar.gz", &gzip(&compose.tar("", commit.time)?)?)?;
    let triples = Platform::ALL.map(Platform::triple);
    write("beekeeper.cdx.json", &bill::of_materials(VERSION, commit, &dependencies::of_others(&triples)?)?)?;
    write("release-notes.md", notes::of_release(&text("CHANGELOG.md")?, VERSION)?.as_bytes())?;
    write("beekeeper.rb", formula::of_homebrew(VERSION, &folder())?.as_bytes())?;
    checksums::write_beside_each(&folder())
}

fn write(name: &str, content: &[u8]) -> Result<()> {
    let path = folder().join(name);
    fs::write(&path, content).with_context(|| format!("could not write {}", path.display()))?;
    written(&path)
}

fn written(path: &Path) -> Result<()> {
    eprintln!("{:>10} bytes  {}", fs::metadata(path)?.len(), path.display());
    Ok(())
}

fn timed<T>(what: &str, work: impl FnOnce() -> Result<T>) -> Result<T> {
    let begun = Instant::now();
    let done = work().with_context(|| format!("could not make {what}"))?;
    eprintln!("{:>8} s  {what}", begun.elapsed().as_secs());
    Ok(done)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_needs_a_section_of_its_own_and_a_candidate_none() {
        let refused = check_texts("9.9.9").unwrap_err().to_string();
        assert!(refused.starts_with("CHANGELOG.md has no section 9.9.9"), "{refused}");
        check_texts("9.9.9-rc.1").unwrap();
    }
}
