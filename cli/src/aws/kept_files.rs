//! What a removed room leaves behind.

use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

/// Keeps these files beside a room's configuration file, and never replaces what was kept before.
pub(crate) fn keep(config: &Path, name: &str, files: &[(&str, String); 2]) -> Result<[PathBuf; 2]> {
    let free = |number: u32| {
        let name = if number == 1 { name.to_owned() } else { format!("{name}-{number}") };
        let paths =
            files.each_ref().map(|(extension, _)| config.with_file_name(format!("{name}.{extension}")));
        (!paths.iter().any(|path| path.exists())).then_some(paths)
    };
    let folder = config.parent().unwrap_or(Path::new(""));
    let attempt = || format!("could not write into {}", folder.display());
    let paths = (1..1000).find_map(free).context("a thousand are kept already").with_context(attempt)?;
    fs::create_dir_all(folder).with_context(attempt)?;
    for (path, (_, text)) in paths.iter().zip(files) {
        let attempt = || format!("could not write {}", path.display());
        let mut file = File::create_new(path).with_context(attempt)?;
        file.write_all(text.as_bytes()).and_then(|()| file.sync_all()).with_context(attempt)?;
    }
    Ok(paths)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_kept_is_never_replaced_and_a_failure_is_told() {
        let home = tempfile::tempdir().unwrap();
        let config = home.path().join("beekeeper/sale.toml");
        let files = |text: &str| [("json", text.to_owned()), ("html", text.to_owned())];
        let keep_report = |text| keep(&config, "sale-report-2027-03-05", &files(text)).unwrap();
        let (first, second) = (keep_report("first"), keep_report("second"));
        assert!(second[0].ends_with("sale-report-2027-03-05-2.json"), "{second:?}");
        let kept =
            [&first, &second].map(|paths| paths.each_ref().map(|path| fs::read_to_string(path).unwrap()));
        assert_eq!(kept, [["first", "first"], ["second", "second"]]);

        let file = home.path().join("file");
        fs::write(&file, "").unwrap();
        let error = keep(&file.join("beekeeper/sale.toml"), "sale", &files("lost")).unwrap_err();
        assert!(error.to_string().starts_with("could not write into "), "{error:#}");
    }
}
