//! The files that an `include` names, in the order in which nginx reads them.

use std::path::{Path, PathBuf};
use std::{fs, io};

pub(crate) fn is_pattern(path: &str) -> bool {
    path.contains(['*', '?', '['])
}

/// The files of a pattern such as `/etc/nginx/sites-enabled/*`, sorted. A `*` matches no file that begins with a dot.
pub(crate) fn matching(pattern: &Path) -> io::Result<Vec<PathBuf>> {
    let mut found = vec![PathBuf::new()];
    for part in pattern {
        let part = part.to_string_lossy();
        if !is_pattern(&part) {
            for path in &mut found {
                path.push(&*part);
            }
            continue;
        }
        let mut below = Vec::new();
        for folder in &found {
            let entries = match fs::read_dir(folder) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                entries => entries?,
            };
            for entry in entries {
                let name = entry?.file_name();
                if matches(&part, &name.to_string_lossy()) {
                    below.push(folder.join(name));
                }
            }
        }
        found = below;
    }
    found.retain(|path| path.exists());
    found.sort();
    Ok(found)
}

/// Whether a pattern may match this name. One with brackets matches none: `nginx -T` would have to be asked.
pub(crate) fn matches(pattern: &str, name: &str) -> bool {
    fn rest(pattern: &[u8], name: &[u8]) -> bool {
        match (pattern.split_first(), name.split_first()) {
            (None, None) => true,
            (Some((b'*', others)), _) => {
                (0..=name.len()).any(|skipped| rest(others, name.get(skipped..).unwrap_or_default()))
            }
            (Some((b'?', others)), Some((_, left))) => rest(others, left),
            (Some((wanted, others)), Some((found, left))) => wanted == found && rest(others, left),
            _ => false,
        }
    }
    (pattern.starts_with('.') || !name.starts_with('.')) && rest(pattern.as_bytes(), name.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pattern_matches_as_in_a_shell() {
        for (pattern, name, is_match) in [
            ("*", "shop", true),
            ("*", ".shop.swp", false),
            ("*.conf", "shop.conf", true),
            ("*.conf", "shop.conf~", false),
            ("s?op", "shop", true),
            ("s?op", "sop", false),
            ("a*b*c", "a1b2b3c", true),
            ("a*b*c", "a1c", false),
        ] {
            assert_eq!(matches(pattern, name), is_match, "{pattern} {name}");
        }
    }

    #[test]
    fn files_come_in_the_order_of_their_names() {
        let folder = tempfile::tempdir().unwrap();
        for name in ["b.conf", "a.conf", "c.txt", ".d.conf"] {
            fs::write(folder.path().join(name), "").unwrap();
        }
        let names = |pattern: &str| -> Vec<String> {
            let found = matching(&folder.path().join(pattern)).unwrap();
            found.iter().map(|path| path.file_name().unwrap().to_str().unwrap().to_owned()).collect()
        };
        assert_eq!(names("*.conf"), ["a.conf", "b.conf"]);
        assert_eq!(names("c.txt"), ["c.txt"]);
        assert_eq!(names("none/*"), [""; 0]);
    }
}
