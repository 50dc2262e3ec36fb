//! The whole configuration: the main file, with the files that it includes in their place.

use std::collections::BTreeMap;
use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use crate::glob;
use crate::syntax::{self, NginxDirective, line_of};
use document::Refusal;

#[derive(Debug)]
pub(crate) struct NginxFile {
    /// Where the file itself is, behind any link.
    pub(crate) path: PathBuf,
    pub(crate) text: String,
    directives: Vec<NginxDirective>,
}

#[derive(Debug)]
pub(crate) struct NginxTree {
    conf: PathBuf,
    /// By the path that an `include` gives or matches.
    files: BTreeMap<PathBuf, NginxFile>,
    /// The files of each `include`, by what it says.
    included: BTreeMap<String, Vec<PathBuf>>,
}

/// A directive, and where it is.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FoundDirective<'t> {
    pub(crate) tree: &'t NginxTree,
    pub(crate) file: &'t NginxFile,
    pub(crate) directive: &'t NginxDirective,
}

impl<'t> FoundDirective<'t> {
    /// As it is written.
    pub(crate) fn text(&self) -> &'t str {
        self.file.text.get(self.directive.at.clone()).unwrap_or_default()
    }

    /// Whether both are the same place of the same file.
    pub(crate) fn is(self, other: Self) -> bool {
        std::ptr::eq(self.directive, other.directive)
    }

    /// What is directly in its block.
    pub(crate) fn inside(self) -> Vec<Self> {
        let mut all = Vec::new();
        if let Some(block) = &self.directive.block {
            self.tree.expand(self.file, &block.directives, &mut all);
        }
        all
    }

    /// The directives of this name directly in its block.
    pub(crate) fn own(self, name: &str) -> impl Iterator<Item = Self> {
        self.inside().into_iter().filter(move |found| found.directive.name() == name)
    }

    /// What is anywhere in its block, each with the block that it is directly in.
    pub(crate) fn everything_inside(self) -> Vec<(Self, Self)> {
        let mut all = Vec::new();
        for inner in self.inside() {
            all.push((self, inner));
            all.extend(inner.everything_inside());
        }
        all
    }
}

/// File and line.
impl fmt::Display for FoundDirective<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let line = line_of(&self.file.text, self.directive.at.start);
        write!(f, "{}:{line}", self.file.path.display())
    }
}

impl NginxTree {
    /// Reads the main file and whatever it includes, except for one file, whose `include` stays a directive.
    pub(crate) fn read(conf: &Path, unread: &Path) -> Result<Self> {
        let mut tree = Self { conf: conf.into(), files: BTreeMap::new(), included: BTreeMap::new() };
        tree.included.insert(unread.display().to_string(), Vec::new());
        tree.add(conf, &mut Vec::new())?;
        Ok(tree)
    }

    /// `within` are the files that led to this one, each included by the one before.
    fn add(&mut self, path: &Path, within: &mut Vec<PathBuf>) -> Result<()> {
        if within.iter().any(|outer| outer == path) {
            let circle = format!("{} includes itself, perhaps by way of other files", path.display());
            return Err(Refusal::plain(circle).into());
        }
        if self.files.contains_key(path) {
            return Ok(());
        }
        let file = NginxFile::read(path)?;
        let mut patterns = Vec::new();
        for directive in &file.directives {
            collect_includes(directive, &mut patterns);
        }
        self.files.insert(path.into(), file);
        within.push(path.into());
        for pattern in patterns {
            for included in self.included_by(path, pattern)? {
                self.add(&included, within)?;
            }
        }
        within.pop();
        Ok(())
    }

    /// The files that this `include` in the file at `path` means.
    fn included_by(&mut self, path: &Path, pattern: String) -> Result<Vec<PathBuf>> {
        if let Some(known) = self.included.get(&pattern) {
            return Ok(known.clone());
        }
        let paths = self.matching(&pattern).with_context(|| {
            format!("could not read the files that {} includes as {pattern}", path.display())
        })?;
        self.included.insert(pattern, paths.clone());
        Ok(paths)
    }

    fn matching(&self, pattern: &str) -> Result<Vec<PathBuf>> {
        let path = self.absolute(pattern);
        if pattern.contains('[') {
            let brackets = format!("include {pattern} has brackets, which are not read here");
            return Err(Refusal::plain(brackets).into());
        }
        Ok(if glob::is_pattern(pattern) { glob::matching(&path)? } else { vec![path] })
    }

    /// nginx looks for included files beside the main file.
    pub(crate) fn absolute(&self, path: &str) -> PathBuf {
        self.folder().join(path)
    }

    /// The main file.
    pub(crate) fn conf(&self) -> &Path {
        &self.conf
    }

    /// Where the main file is.
    pub(crate) fn folder(&self) -> &Path {
        self.conf.parent().unwrap_or(Path::new("/"))
    }

    /// A path beside nginx's process number, where what it makes is gone after a restart of the machine.
    pub(crate) fn beside_pid(&self, name: &str) -> PathBuf {
        let pid = self.top().into_iter().find(|found| found.directive.name() == "pid");
        let pid =
            pid.map_or_else(|| PathBuf::from("/run/nginx.pid"), |pid| self.absolute(pid.directive.first()));
        pid.with_file_name(name)
    }

    /// The directives of the main file, outside of every block.
    pub(crate) fn top(&self) -> Vec<FoundDirective<'_>> {
        let mut all = Vec::new();
        if let Some(file) = self.files.get(&self.conf) {
            self.expand(file, &file.directives, &mut all);
        }
        all
    }

    pub(crate) fn http_block(&self) -> Result<FoundDirective<'_>, Refusal> {
        let http = self.top().into_iter().find(|found| found.directive.name() == "http");
        http.ok_or_else(|| Refusal::new("there is no http block", "name the main file with --conf"))
    }

    fn expand<'t>(
        &'t self,
        file: &'t NginxFile,
        directives: &'t [NginxDirective],
        all: &mut Vec<FoundDirective<'t>>,
    ) {
        for directive in directives {
            let included = is_include(directive).then(|| self.included.get(directive.first())).flatten();
            let files: Vec<_> =
                included.into_iter().flatten().filter_map(|path| self.files.get(path)).collect();
            if files.is_empty() {
                all.push(FoundDirective { tree: self, file, directive });
            }
            for file in files {
                self.expand(file, &file.directives, all);
            }
        }
    }
}

fn is_include(directive: &NginxDirective) -> bool {
    directive.name() == "include" && directive.arguments().len() == 1
}

fn collect_includes(directive: &NginxDirective, patterns: &mut Vec<String>) {
    if is_include(directive) {
        patterns.push(directive.first().to_owned());
    }
    let inner = directive.block.iter().flat_map(|block| &block.directives);
    inner.for_each(|inner| collect_includes(inner, patterns));
}

impl NginxFile {
    fn read(path: &Path) -> Result<Self> {
        let failed = || format!("could not read {}", path.display());
        let bytes = fs::read(path).with_context(failed)?;
        let real = fs::canonicalize(path).with_context(failed)?;
        let Ok(text) = String::from_utf8(bytes) else {
            let problem = format!("{} is not in UTF-8, so it can't be changed safely", path.display());
            let advice = "convert it, for example with: iconv -f latin1 -t utf-8";
            return Err(Refusal::new(problem, advice).into());
        };
        let directives = syntax::parse(&text).map_err(|error| {
            let problem = format!("{}:{}: {error}", real.display(), line_of(&text, error.at));
            Refusal::new(
                problem,
                "set this nginx up by hand: docs/hosting.md and docs/guard.md have the lines",
            )
        })?;
        Ok(Self { path: real, text, directives })
    }
}

#[cfg(test)]
mod tests {
    use tempfile::TempDir;

    use super::*;

    fn folder(files: &[(&str, &str)]) -> TempDir {
        let folder = tempfile::tempdir().unwrap();
        for (name, text) in files {
            let path = folder.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        folder
    }

    fn read(folder: &TempDir) -> Result<NginxTree> {
        NginxTree::read(&folder.path().join("nginx.conf"), Path::new("ours.conf"))
    }

    fn names(found: &[FoundDirective<'_>]) -> String {
        found.iter().map(|found| found.directive.name()).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn included_files_stand_where_they_are_included() {
        let folder = folder(&[
            ("nginx.conf", "a;\ninclude modules/*.conf;\nhttp { b; include sites/*; include ours.conf; c; }"),
            ("sites/two", "server { include snippets/x; }"),
            ("sites/one", "server { d; }\n"),
            ("sites/.hidden", "not read"),
            ("snippets/x", "\ne { f; }\n"),
        ]);
        let tree = read(&folder).unwrap();
        assert_eq!(names(&tree.top()), "a include http", "a pattern without files stays");
        let http = tree.top()[2];
        assert_eq!(names(&http.inside()), "b server server include c", "ours is not read");
        let second = http.inside()[2];
        let inner = second.everything_inside();
        assert_eq!(names(&inner.iter().map(|(_, inner)| *inner).collect::<Vec<_>>()), "e f");
        assert!(inner[1].1.to_string().ends_with("/snippets/x:2"), "{}", inner[1].1);
        assert_eq!(inner[1].0.directive.name(), "e");
    }

    #[test]
    fn a_file_behind_a_link_is_that_file() {
        let folder = folder(&[("nginx.conf", "include enabled/*;"), ("available/shop", "a;")]);
        fs::create_dir(folder.path().join("enabled")).unwrap();
        std::os::unix::fs::symlink("../available/shop", folder.path().join("enabled/shop")).unwrap();
        let tree = read(&folder).unwrap();
        assert_eq!(tree.top()[0].file.path, fs::canonicalize(folder.path().join("available/shop")).unwrap());
    }

    #[test]
    fn what_cannot_be_read_is_named() {
        let refused = |files: &[(&str, &str)]| {
            let folder = folder(files);
            let error = format!("{:#}", read(&folder).unwrap_err());
            error.replace(folder.path().to_str().unwrap(), "F")
        };
        assert_eq!(refused(&[("nginx.conf", "a;\nhttp {\n")]), "F/nginx.conf:2: this block is never closed");
        let missing = refused(&[("nginx.conf", "include gone;")]);
        assert!(missing.starts_with("could not read F/gone: "), "{missing}");
        let brackets = refused(&[("nginx.conf", "include [ab].conf;")]);
        assert!(brackets.ends_with("include [ab].conf has brackets, which are not read here"), "{brackets}");
        let circle = refused(&[("nginx.conf", "a;\ninclude conf.d/*;"), ("conf.d/one", "include conf.d/*;")]);
        assert_eq!(circle, "F/conf.d/one includes itself, perhaps by way of other files");
        let lua = refused(&[("nginx.conf", "include a;"), ("a", "\ninit_by_lua_block { x = 1 }")]);
        assert_eq!(lua, "F/a:2: this is a block of Lua, which is not read here");
    }
}
