//! Checks that what people copy names the version that it comes with, and that a release is compiled as it is tested.

#![allow(clippy::unwrap_used, reason = "a test that finds something else fails")]

const COPIED: [(&str, &str); 3] = [
    ("compose.yaml", include_str!("../../../infra/release/compose/compose.yaml")),
    ("kubernetes.yaml", include_str!("../../../infra/release/kubernetes.yaml")),
    ("install.md", include_str!("../../../docs/install.md")),
];

const WORKFLOWS: [&str; 2] = [
    include_str!("../../../.github/workflows/ci.yml"),
    include_str!("../../../.github/workflows/release.yml"),
];

/// The versions of the image, as in `beekeeper:0.1.0`, and of an archive's folder, as in `beekeeper-0.1.0-x86_64-unknown-linux-musl/`.
fn versions(text: &str) -> Vec<&str> {
    let after = ["beekeeper:", "beekeeper-"].into_iter().flat_map(|name| text.split(name).skip(1));
    let words = after.map(|after| after.split(char::is_whitespace).next().unwrap());
    let numbers = words.filter(|word| word.starts_with(|first: char| first.is_ascii_digit()));
    numbers.map(|number| number.split("-x86_64").next().unwrap()).collect()
}

#[test]
fn what_people_copy_names_this_version() {
    for (file, text) in COPIED {
        let versions = versions(text);
        assert!(!versions.is_empty(), "{file}");
        for version in versions {
            assert_eq!(version, env!("CARGO_PKG_VERSION"), "{file}");
        }
    }
}

#[test]
fn a_release_is_compiled_by_the_compiler_of_the_tests() {
    let toolchains = WORKFLOWS.map(|text| {
        let after = text.split("\n  RUSTUP_TOOLCHAIN: ").nth(1).unwrap();
        after.lines().next().unwrap()
    });
    assert_eq!(toolchains[0], toolchains[1]);
    let numbers =
        |version: &str| version.split('.').map(|number| number.parse().unwrap()).collect::<Vec<u32>>();
    assert!(numbers(toolchains[0]) >= numbers(env!("CARGO_PKG_RUST_VERSION")), "{}", toolchains[0]);
}
