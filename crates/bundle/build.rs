//! Takes the function packages in: those in the folder that `BEEKEEPER_PACKAGES` names, `<architecture>/<function>.zip`,
//! as `cargo xtask package` makes them. Without that there are none.

use std::env;
use std::error::Error;
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo::rerun-if-env-changed=BEEKEEPER_PACKAGES");
    println!("cargo::rerun-if-changed=build.rs");
    let mut packages = String::new();
    if let Some(folder) = env::var_os("BEEKEEPER_PACKAGES").filter(|folder| !folder.is_empty()) {
        for architecture in entries(Path::new(&folder))? {
            for zip in
                entries(&architecture)?.iter().filter(|path| path.extension().is_some_and(|end| end == "zip"))
            {
                let (architecture, function) = (architecture.file_name(), zip.file_stem());
                println!("cargo::rerun-if-changed={}", zip.display());
                writeln!(
                    packages,
                    "Package {{ architecture: {:?}, function: {:?}, zip: include_bytes!({zip:?}) }},",
                    architecture.unwrap_or_default(),
                    function.unwrap_or_default(),
                )?;
            }
        }
        assert!(
            !packages.is_empty(),
            "there are no packages in {}; run cargo xtask package",
            folder.display()
        );
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
