use std::{env, fs};

use connectors::{CookieVector, Expected, PassVector, Vectors};

use crate::judges::{authorizer_says, cookie_lets_in, exchanged, guard_says};

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

#[tokio::test]
async fn guard_and_authorizer_say_the_same_of_each_pass() {
    let vectors = Vectors::read().unwrap();
    for PassVector { what, pass, verdict, enters } in &vectors.passes {
        assert_eq!(guard_says(&vectors, pass).await, *verdict, "a pass {what}");
        let (authorized, visitor) = authorizer_says(&vectors, pass).await;
        assert_eq!((authorized, &visitor), (*verdict, enters), "a pass {what}");
    }
}

#[tokio::test]
async fn guard_and_authorizer_let_in_whom_a_cookie_header_should() {
    let vectors = Vectors::read().unwrap();
    for CookieVector { what, header, enters } in &vectors.cookies {
        let (guard, authorizer) = cookie_lets_in(&vectors, header).await;
        assert_eq!((&guard, &authorizer), (enters, enters), "a header {what}");
    }
}

#[tokio::test]
async fn the_guard_takes_the_same_pass_out_of_each_url() {
    let vectors = Vectors::read().unwrap();
    let mut seen = 0;
    // The guard remembers pages in a cookie of its own, and takes a session first.
    for request in
        vectors.requests.iter().filter(|request| request.method == "GET" && request.cookie.is_empty())
    {
        let expected = match &request.expected {
            Expected::Cleaned { location, .. } => Some(location),
            _ => None,
        };
        // Of another request than for a page, a guard learns by another header.
        if request.accept.contains("text/html") {
            assert_eq!(
                exchanged(&vectors, &request.target).await.as_ref(),
                expected,
                "a request {}",
                request.what
            );
            seen += 1;
        }
    }
    assert!(seen > 10);
}

#[test]
fn the_document_knows_how_many_passes_there_are() {
    let document = fs::read_to_string(Vectors::path().with_file_name("README.md")).unwrap();
    let passes = format!("{} passes", Vectors::read().unwrap().passes.len());
    assert!(document.replace('\n', " ").contains(&passes), "docs/connectors/README.md has to say: {passes}");
}

/// Examples that people copy have to be short enough to be read.
#[test]
fn a_connector_has_160_lines_at_most() {
    let folder = Vectors::path().parent().unwrap().to_owned();
    let mut seen = 0;
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|end| ["mjs", "php", "py"].iter().any(|language| end == *language)) {
            let lines = fs::read_to_string(&path).unwrap().lines().count();
            assert!(lines <= 160, "{} has {lines} lines", path.display());
            seen += 1;
        }
    }
    assert_eq!(seen, 8);
}
