//! Includes the function packages from the folder that `BEEKEEPER_PACKAGES` names: `<architecture>/functions.zip`, as
//! `cargo xtask package` writes them. Without the variable there are none.

use std::env;
use std::error::Error;
use std::ffi::OsStr;
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo::rerun-if-env-changed=BEEKEEPER_PACKAGES");
    println!("cargo::rerun-if-changed=build.rs");
    let mut packages = String::new();
    if let Some(folder) = env::var_os("BEEKEEPER_PACKAGES").filter(|folder| !folder.is_empty()) {
        // `include_bytes!` resolves a relative path from the file that includes it, so the path must be absolute.
        for architecture in entries(&fs::canonicalize(&folder)?)? {
            let zip = architecture.join("functions.zip");
            if zip.exists() {
                let (architecture, path) = (text(architecture.file_name())?, text(Some(zip.as_os_str()))?);
                println!("cargo::rerun-if-changed={path}");
                writeln!(packages, "({architecture:?}, include_bytes!({path:?})),")?;
            }
        }
        if packages.is_empty() {
            return Err(
                format!("there are no packages in {}; run cargo xtask package", folder.display()).into()
            );
        }
    }
    let out = PathBuf::from(env::var_os("OUT_DIR").ok_or("cargo sets OUT_DIR")?);
    fs::write(out.join("packages.rs"), format!("&[{packages}]"))?;
    Ok(())
}

fn entries(folder: &Path) -> Result<Vec<PathBuf>, Box<dyn Error>> {
    println!("cargo::rerun-if-changed={}", folder.display());
    let entries = fs::read_dir(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let mut paths = entries.map(|entry| Ok(entry?.path())).collect::<Result<Vec<_>, Box<dyn Error>>>()?;
    paths.sort();
    Ok(paths)
}

fn text(part: Option<&OsStr>) -> Result<&str, &'static str> {
    part.and_then(OsStr::to_str).ok_or("a package has a name that is not UTF-8")
}
