//! Where things are in this repository. Nothing is installed or written outside the build directory.

use std::env;
use std::path::{Path, PathBuf};

pub fn root() -> &'static Path {
    // crates/testing/emulators lies three folders below it.
    let own = Path::new(env!("CARGO_MANIFEST_DIR"));
    own.ancestors().nth(3).unwrap_or(own)
}

/// The build directory. A relative one means the same from every crate.
pub fn target() -> PathBuf {
    root().join(env::var_os("CARGO_TARGET_DIR").unwrap_or_else(|| "target".into()))
}

/// Where tools are installed.
pub fn tools() -> PathBuf {
    target().join("tools")
}

/// The function packages that tests deploy, `<architecture>/<function>.zip`. `cargo xtask test` builds them and sets
/// `BEEKEEPER_PACKAGES` where they are others than usual.
pub fn test_packages() -> PathBuf {
    env::var_os("BEEKEEPER_PACKAGES").map_or_else(|| target().join("test-packages"), PathBuf::from)
}
