use std::{env, fs};

use connectors::{PassVerdict, Vectors};
use pass::{Refused, Verifier};

/// Between the past and the future of the vectors.
const NOW: u64 = 1_800_000_000;

#[test]
fn the_file_is_what_is_made() {
    let made = Vectors::make().unwrap();
    if env::var_os("SNAPSHOTS").is_some_and(|mode| mode == "overwrite") {
        fs::write(Vectors::path(), made.to_text().unwrap()).unwrap();
    }
    let kept = fs::read_to_string(Vectors::path()).unwrap();
    assert!(
        kept == made.to_text().unwrap(),
        "docs/connectors/vectors.json is not what is made now; to write it again: \
         SNAPSHOTS=overwrite cargo test -p connectors vectors"
    );
}

#[test]
fn the_rooms_own_verifier_says_the_same_of_each_pass() {
    let Vectors { room, name, keys, passes, .. } = Vectors::read().unwrap();
    let verifier = Verifier { issuer: room, audience: name, keys };
    for vector in passes {
        // What a subject may be and how long a pass, only a shop decides.
        if vector.what.contains("with a subject that") || vector.what.contains("too long") {
            continue;
        }
        let verdict = match verifier.verify(&vector.pass, NOW) {
            Ok(_) => PassVerdict::Accepted,
            Err(Refused::Expired) => PassVerdict::Expired,
            Err(_) => PassVerdict::Refused,
        };
        assert_eq!(verdict, vector.verdict, "{}", vector.what);
    }
}

#[test]
fn the_document_knows_how_many_passes_there_are() {
    let document = fs::read_to_string(Vectors::path().with_file_name("README.md")).unwrap();
    let passes = format!("{} passes", Vectors::read().unwrap().passes.len());
    assert!(document.replace('\n', " ").contains(&passes), "docs/connectors/README.md has to say: {passes}");
}

/// Examples that people copy have to be short enough to be read.
#[test]
fn a_connector_has_150_lines_at_most() {
    let folder = Vectors::path().parent().unwrap().to_owned();
    let mut seen = 0;
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|end| ["mjs", "php", "py"].iter().any(|language| end == *language)) {
            let lines = fs::read_to_string(&path).unwrap().lines().count();
            assert!(lines <= 150, "{} has {lines} lines", path.display());
            seen += 1;
        }
    }
    assert_eq!(seen, 7);
}
