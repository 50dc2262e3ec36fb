//! The function packages that were there when this was built: what makes a `beekeeper` that deploys. `cargo xtask dist`
//! sees to it that they are; see `build.rs`.

/// A function, zipped for Lambda.
#[derive(Clone, Copy, Debug)]
pub struct Package {
    /// As Lambda calls it: `arm64` or `x86_64`.
    pub architecture: &'static str,
    /// Like `producer`.
    pub function: &'static str,
    pub zip: &'static [u8],
}

/// None, unless this was built with packages.
pub const PACKAGES: &[Package] = include!(concat!(env!("OUT_DIR"), "/packages.rs"));
