//! Where things are in this repository. Nothing is installed or written outside the build directory.

use std::env;
use std::path::{Path, PathBuf};

pub fn root() -> &'static Path {
    // The folder crates/testing/emulators is three levels below the root of the repository.
    let own = Path::new(env!("CARGO_MANIFEST_DIR"));
    own.ancestors().nth(3).unwrap_or(own)
}

/// The build directory. A relative `CARGO_TARGET_DIR` starts at the repository's root, in every crate.
pub fn target() -> PathBuf {
    root().join(env::var_os("CARGO_TARGET_DIR").unwrap_or_else(|| "target".into()))
}

/// Where tools are installed.
pub fn tools() -> PathBuf {
    target().join("tools")
}

/// The function package that tests deploy, `<architecture>/functions.zip`. `cargo xtask test` builds it, and sets
/// `BEEKEEPER_PACKAGES` if it is not in the default place.
pub fn test_packages() -> PathBuf {
    env::var_os("BEEKEEPER_PACKAGES").map_or_else(|| target().join("test-packages"), PathBuf::from)
}
