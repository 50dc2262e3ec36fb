//! Which `beekeeper` this is: its version, its commit and what it was built for.

use serde_json::{Value, json};

use crate::arguments::KNOWS_AWS;
use crate::aws::architectures;

/// From the build script. Empty if a build doesn't know.
const COMMIT: &str = env!("BEEKEEPER_BUILD_COMMIT");
const COMMIT_DATE: &str = env!("BEEKEEPER_BUILD_DATE");
const TARGET: &str = env!("BEEKEEPER_BUILD_TARGET");

/// After the name: `0.1.0 (61ded13b0758 2026-11-24, x86_64-unknown-linux-musl, with AWS, functions for arm64)`.
pub(crate) fn long() -> String {
    let commit =
        [COMMIT, COMMIT_DATE].into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(" ");
    let functions = match &*architectures() {
        _ if !KNOWS_AWS => String::new(),
        [] => "without functions".into(),
        built => format!("functions for {}", built.join(" and ")),
    };
    let aws = if KNOWS_AWS { "with AWS" } else { "without AWS" };
    let parts = [&*commit, TARGET, aws, &*functions];
    let parts = parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>();
    format!("{} ({})", env!("CARGO_PKG_VERSION"), parts.join(", "))
}

/// The same for scripts.
pub(crate) fn for_scripts() -> Value {
    let known = |text: &'static str| Some(text).filter(|text| !text.is_empty());
    json!({
        "version": env!("CARGO_PKG_VERSION"),
        "commit": known(COMMIT),
        "commit_date": known(COMMIT_DATE),
        "target": TARGET,
        "aws": KNOWS_AWS,
        "functions": architectures(),
    })
}
