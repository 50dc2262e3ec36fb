//! Libraries for JWTs that a shop may have already. They accept more than a connector does, and docs/connectors/libraries.md says what.

use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};
use std::{env, fs};

use connectors::{PassVerdict, VectorKey, Vectors, node_copies, python};
use serde_json::json;

const LIBRARIES: [&str; 3] = ["jose", "PyJWT", "php-jwt"];

/// Whether the library finds each pass valid.
fn verified(library: &str, vectors: &Vectors, passes: &[String]) -> Vec<bool> {
    let scripts = Path::new(env!("CARGO_MANIFEST_DIR")).join("shops");
    let copies = node_copies(&[scripts.join("verify_jose.mjs")]).unwrap();
    let mut command = match library {
        "jose" => Command::new("node"),
        "PyJWT" => Command::new(python().unwrap()),
        _ => Command::new(emulators::php().unwrap()),
    };
    match library {
        "jose" => command.arg(copies.path().join("verify_jose.mjs")),
        "PyJWT" => command.arg(scripts.join("verify_pyjwt.py")),
        _ => command.arg(scripts.join("verify_php_jwt.php")).env("PHP_JWT", emulators::php_jwt().unwrap()),
    };
    let keys = ["current", "previous"].map(|name| VectorKey::named(name).unwrap());
    let keys: serde_json::Map<_, _> =
        keys.iter().map(|key| (key.id().unwrap(), key.pem().unwrap().into())).collect();
    let input = json!({
        "room": vectors.room, "name": vectors.name, "jwks": vectors.keys, "keys": keys, "passes": passes,
    });
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(input.to_string().as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|error| panic!("{library}: {error}: {}", String::from_utf8_lossy(&output.stdout)))
}

#[test]
#[ignore = "needs Node.js, Python, PHP, and a package of Debian: cargo xtask test connectors"]
fn libraries_differ_from_connectors_as_the_document_says() {
    let vectors = Vectors::read().unwrap();
    let passes: Vec<_> = vectors.passes.iter().map(|vector| vector.pass.clone()).collect();
    let said = LIBRARIES.map(|library| verified(library, &vectors, &passes));
    let mut rows =
        vec![format!("| a pass | {} |", LIBRARIES.join(" | ")), "| --- | --- | --- | --- |".to_owned()];
    for (at, vector) in vectors.passes.iter().enumerate() {
        let accepted = said.each_ref().map(|said| said[at]);
        if vector.verdict == PassVerdict::Accepted {
            assert_eq!(accepted, [true; 3], "{}", vector.what);
        } else if accepted.contains(&true) {
            let accepted = accepted.map(|accepted| if accepted { "accepts" } else { "" });
            rows.push(format!("| {} | {} |", vector.what, accepted.join(" | ")));
        }
    }
    let path = Vectors::path().with_file_name("libraries.md");
    let document = fs::read_to_string(&path).unwrap();
    let (before, _) = document.split_once("| a pass |").unwrap();
    let table = rows.join("\n");
    let expected = format!("{before}{table}\n");
    if env::var_os("SNAPSHOTS").is_some_and(|mode| mode == "overwrite") {
        fs::write(&path, &expected).unwrap();
    }
    assert!(
        fs::read_to_string(&path).unwrap() == expected,
        "docs/connectors/libraries.md is not what the libraries say; to write it again: \
         SNAPSHOTS=overwrite cargo xtask test connectors libraries; it would be:\n{table}"
    );
}

#[test]
#[ignore = "needs PHP, and a package of Debian: cargo xtask test connectors"]
fn php_jwt_refuses_a_pass_with_any_changed_character() {
    let vectors = Vectors::read().unwrap();
    let good = vectors.passes.iter().find(|vector| vector.verdict == PassVerdict::Accepted).unwrap();
    let characters: Vec<char> = good.pass.chars().collect();
    // The last character of a part has bits that count for nothing, so another one may mean the same.
    let counts = |at: &usize| characters.get(at + 1).is_some_and(|next| *next != '.');
    let mut passes: Vec<String> = (0..characters.len())
        .filter(counts)
        .map(|at| {
            let mut changed = characters.clone();
            changed[at] = if changed[at] == 'A' { 'B' } else { 'A' };
            changed.into_iter().collect()
        })
        .collect();
    passes.push(good.pass.clone());
    let mut verified = verified("php-jwt", &vectors, &passes);
    assert_eq!(verified.pop(), Some(true), "unchanged");
    let accepted: Vec<_> =
        passes.iter().zip(&verified).filter(|(_, verified)| **verified).map(|(pass, _)| pass).collect();
    assert!(verified.len() > 500 && accepted.is_empty(), "{accepted:?}");
}
