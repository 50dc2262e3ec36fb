//! The software bill of materials, in the format `CycloneDX`: what the programs contain, from where, under which licence.

use std::collections::BTreeSet;

use anyhow::Result;
use serde_json::{Value, json};

use super::commit::Commit;
use super::dependencies::Dependency;

/// Without a serial number, which would be another one in each build.
pub(super) fn of_materials(
    version: &str,
    commit: &Commit,
    dependencies: &BTreeSet<Dependency>,
) -> Result<Vec<u8>> {
    let bill = json!({
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": {
            "timestamp": commit.utc()?,
            "component": {
                "type": "application",
                "bom-ref": format!("pkg:generic/beekeeper@{version}"),
                "name": "beekeeper",
                "version": version,
                "licenses": [{ "expression": env!("CARGO_PKG_LICENSE") }],
                "properties": [{ "name": "commit", "value": commit.hash }],
            },
        },
        "components": dependencies.iter().map(component).collect::<Vec<_>>(),
    });
    Ok(serde_json::to_vec_pretty(&bill)?)
}

fn component(dependency: &Dependency) -> Value {
    let Dependency { name, version, license, checksum, .. } = dependency;
    let address = format!("pkg:cargo/{name}@{version}");
    json!({
        "type": "library",
        "bom-ref": address,
        "name": name,
        "version": version,
        "purl": address,
        "hashes": [{ "alg": "SHA-256", "content": checksum }],
        "licenses": [{ "expression": license }],
    })
}
