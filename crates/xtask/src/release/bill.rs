//! The software bill of materials, in the format `CycloneDX`: what the programs contain, from where, under which licence.

use std::collections::BTreeSet;
use std::process::Command;

use anyhow::{Context, Result};
use emulators::workspace::root;
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
                "properties": [
                    { "name": "commit", "value": commit.hash },
                    { "name": "compiler", "value": compiler()? },
                ],
            },
        },
        "components": dependencies.iter().map(component).collect::<Vec<_>>(),
    });
    Ok(serde_json::to_vec_pretty(&bill)?)
}

/// With another one, the same commit gives other programs.
fn compiler() -> Result<String> {
    let mut rustc = Command::new("rustc");
    let output = rustc.arg("--version").current_dir(root()).output().context("could not start rustc")?;
    Ok(String::from_utf8(output.stdout)?.trim().to_owned())
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bill_names_the_commit_and_the_compiler() {
        let commit = Commit { hash: "61ded13b8b87".into(), time: 1_700_000_000 };
        let bill = of_materials("0.1.0", &commit, &BTreeSet::new()).unwrap();
        let bill: Value = serde_json::from_slice(&bill).unwrap();
        let properties = &bill["metadata"]["component"]["properties"];
        assert_eq!(properties[0]["value"], "61ded13b8b87");
        assert!(properties[1]["value"].as_str().unwrap().starts_with("rustc 1."), "{properties}");
    }
}
