//! A library for JWTs that we did not choose for its fit: firebase/php-jwt.

use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

use connectors::{PassVerdict, VectorKey, Vectors};
use serde_json::json;

/// Whether the library finds each pass valid.
fn verified(vectors: &Vectors, passes: &[String]) -> Vec<bool> {
    let keys = ["current", "previous"].map(|name| VectorKey::named(name).unwrap());
    let keys: serde_json::Map<_, _> =
        keys.iter().map(|key| (key.id().unwrap(), key.pem().unwrap().into())).collect();
    let input = json!({ "room": vectors.room, "name": vectors.name, "keys": keys, "passes": passes });
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("shops/verify_php_jwt.php");
    let mut php = Command::new(emulators::php().unwrap())
        .arg(script)
        .env("PHP_JWT", emulators::php_jwt().unwrap())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    php.stdin.take().unwrap().write_all(input.to_string().as_bytes()).unwrap();
    let output = php.wait_with_output().unwrap();
    serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|error| panic!("{error}: {}", String::from_utf8_lossy(&output.stdout)))
}

#[test]
#[ignore = "needs PHP, and a package of Debian: cargo xtask test connectors"]
fn php_jwt_says_the_same_of_each_pass() {
    let vectors = Vectors::read().unwrap();
    let passes: Vec<_> = vectors.passes.iter().map(|vector| vector.pass.clone()).collect();
    let verified = verified(&vectors, &passes);
    assert_eq!(verified.len(), passes.len());
    for (vector, verified) in vectors.passes.iter().zip(verified) {
        // What a subject may be and how long a pass, only a shop decides.
        if !vector.what.contains("with a subject that") && !vector.what.contains("too long") {
            assert_eq!(verified, vector.verdict == PassVerdict::Accepted, "{}", vector.what);
        }
    }
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
    let mut verified = verified(&vectors, &passes);
    assert_eq!(verified.pop(), Some(true), "unchanged");
    let accepted: Vec<_> =
        passes.iter().zip(&verified).filter(|(_, verified)| **verified).map(|(pass, _)| pass).collect();
    assert!(verified.len() > 500 && accepted.is_empty(), "{accepted:?}");
}
