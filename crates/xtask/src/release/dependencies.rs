//! The crates that end up in the released programs, as cargo names them.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use emulators::workspace::root;
use serde::Deserialize;

use super::tree::read;
use crate::process::cargo;

/// What a release is made of.
const PROGRAMS: [&str; 2] = ["beekeeper", "functions"];

/// In the order of name and version.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Dependency {
    pub(super) name: String,
    pub(super) version: String,
    /// In the notation of SPDX.
    pub(super) license: String,
    pub(super) authors: Vec<String>,
    pub(super) folder: PathBuf,
    /// The SHA-256 of the crate as it was downloaded.
    pub(super) checksum: String,
}

#[derive(Deserialize)]
struct Metadata {
    packages: Vec<Package>,
    resolve: Resolve,
}

#[derive(Deserialize)]
struct Package {
    id: String,
    name: String,
    version: String,
    license: Option<String>,
    authors: Vec<String>,
    manifest_path: PathBuf,
    source: Option<String>,
}

#[derive(Deserialize)]
struct Resolve {
    nodes: Vec<Node>,
}

#[derive(Deserialize)]
struct Node {
    id: String,
    deps: Vec<Edge>,
}

#[derive(Deserialize)]
struct Edge {
    pkg: String,
    dep_kinds: Vec<Kind>,
}

#[derive(Deserialize)]
struct Kind {
    /// None for what a program contains; `build` and `dev` for the others.
    kind: Option<String>,
}

/// Those of others that the programs contain for one of these targets.
pub(super) fn of_others(targets: &[&str]) -> Result<BTreeSet<Dependency>> {
    let mut metadata = cargo();
    metadata.args(["metadata", "--locked", "--format-version", "1", "--features", "beekeeper/aws"]);
    let output = metadata.args(targets.iter().flat_map(|target| ["--filter-platform", target])).output()?;
    ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr).trim());
    let metadata: Metadata = serde_json::from_slice(&output.stdout)?;
    let checksums = checksums()?;
    let inside = contained(&metadata);
    let others = metadata.packages.into_iter().filter(|package| package.source.is_some());
    others
        .filter(|package| inside.contains(&package.id))
        .map(|package| described(package, &checksums))
        .collect()
}

/// The identifiers of everything that the programs reach through what they contain.
fn contained(metadata: &Metadata) -> BTreeSet<String> {
    let nodes: BTreeMap<_, _> = metadata.resolve.nodes.iter().map(|node| (node.id.as_str(), node)).collect();
    let programs = metadata.packages.iter().filter(|package| PROGRAMS.contains(&package.name.as_str()));
    let mut open: Vec<_> = programs.map(|package| package.id.as_str()).collect();
    let mut inside = BTreeSet::new();
    while let Some(id) = open.pop() {
        if inside.insert(id.to_owned()) {
            let edges = nodes.get(id).into_iter().flat_map(|node| &node.deps);
            let normal = edges.filter(|edge| edge.dep_kinds.iter().any(|kind| kind.kind.is_none()));
            open.extend(normal.map(|edge| edge.pkg.as_str()));
        }
    }
    inside
}

fn described(package: Package, checksums: &BTreeMap<(String, String), String>) -> Result<Dependency> {
    let Package { name, version, license, authors, manifest_path, .. } = package;
    let license = license.with_context(|| format!("{name} {version} does not say what its licence is"))?;
    let checksum = checksums.get(&(name.clone(), version.clone()));
    Ok(Dependency {
        checksum: checksum
            .with_context(|| format!("Cargo.lock has no checksum of {name} {version}"))?
            .clone(),
        folder: manifest_path.parent().unwrap_or(Path::new("")).to_owned(),
        // The notation of before SPDX.
        license: license.replace('/', " OR "),
        authors,
        name,
        version,
    })
}

/// By name and version, from Cargo.lock.
fn checksums() -> Result<BTreeMap<(String, String), String>> {
    #[derive(Deserialize)]
    struct Lock {
        package: Vec<Locked>,
    }
    #[derive(Deserialize)]
    struct Locked {
        name: String,
        version: String,
        checksum: Option<String>,
    }
    let lock: Lock = toml::from_str(&String::from_utf8(read(&root().join("Cargo.lock"))?)?)?;
    let locked = lock.package.into_iter();
    Ok(locked.filter_map(|package| Some(((package.name, package.version), package.checksum?))).collect())
}
