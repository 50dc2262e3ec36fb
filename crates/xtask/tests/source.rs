//! Checks that source files do not import each other in a circle, that every type has a unique name, and that the README
//! stays short.
//!
//! The checks of the source split the code into tokens and do not parse it. Test modules at the end of a file are ignored.

#![allow(clippy::unwrap_used, reason = "a test that finds something else fails")]

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::iter::Peekable;
use std::path::{Path, PathBuf};

/// A module's path below the crate root: `["commands", "deploy"]`. The crate root itself is empty.
type ModulePath = Vec<String>;

struct SourceFile {
    path: PathBuf,
    tokens: Vec<String>,
    /// For each name that this file imports: where it comes from, as a path from the crate root.
    imports: BTreeMap<String, ModulePath>,
}

/// The files of one crate.
struct Crate(BTreeMap<ModulePath, SourceFile>);

fn workspace() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).unwrap().to_owned()
}

/// All crates: the folders in `cli` and `crates` that contain a `Cargo.toml`. A crate may lie in the folder of another.
fn crates() -> Vec<Crate> {
    let mut folders = vec![workspace().join("cli"), workspace().join("crates")];
    let mut crates = Vec::new();
    while let Some(folder) = folders.pop() {
        let is_crate = folder.join("Cargo.toml").exists();
        if is_crate {
            crates.push(Crate::read(&folder.join("src")));
        }
        let below = entries(&folder).into_iter().filter(|entry| entry.is_dir());
        folders.extend(below.filter(|entry| !is_crate || entry.join("Cargo.toml").exists()));
    }
    assert!(crates.len() > 10, "these are not all crates");
    crates
}

fn entries(folder: &Path) -> Vec<PathBuf> {
    let mut entries: Vec<_> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    entries.sort();
    entries
}

impl Crate {
    fn read(source: &Path) -> Self {
        let mut files = BTreeMap::new();
        let mut folders = vec![source.to_owned()];
        while let Some(folder) = folders.pop() {
            for path in entries(&folder) {
                if path.is_dir() {
                    folders.push(path);
                } else if path.extension().is_some_and(|extension| extension == "rs") {
                    let below = path.strip_prefix(source).unwrap().with_extension("");
                    let mut module: ModulePath =
                        below.iter().map(|part| part.to_str().unwrap().to_owned()).collect();
                    if module.last().is_some_and(|last| ["lib", "main", "mod"].contains(&last.as_str())) {
                        module.pop();
                    }
                    let tokens = tokens(&fs::read_to_string(&path).unwrap());
                    files.insert(module, SourceFile { path, tokens, imports: BTreeMap::new() });
                }
            }
        }
        let mut all = Self(files);
        for module in all.0.keys().cloned().collect::<Vec<_>>() {
            let imports = all.imports(&module);
            all.0.get_mut(&module).unwrap().imports = imports;
        }
        all
    }

    /// The names that the `use` declarations of a file import.
    fn imports(&self, module: &ModulePath) -> BTreeMap<String, ModulePath> {
        let tokens = &self.0[module].tokens;
        let declared = tokens.iter().enumerate().filter(|(_, token)| *token == "use");
        let paths = declared.flat_map(|(at, _)| expanded(&mut tokens[at + 1..].iter().peekable()));
        let named = |path: ModulePath| Some((path.last()?.clone(), self.absolute(module, &path)?));
        paths.filter_map(named).collect()
    }

    /// Converts a path written in a file to one from the crate root; none if it leads to another crate.
    fn absolute(&self, module: &ModulePath, path: &[String]) -> Option<ModulePath> {
        let (first, rest) = path.split_first()?;
        let mut from = module.clone();
        match first.as_str() {
            "crate" => from.clear(),
            "self" => {}
            "super" => {
                from.pop()?;
                if rest.first().is_some_and(|next| next == "super") {
                    return self.absolute(&from, rest);
                }
            }
            child => {
                from.push(child.to_owned());
                self.0.contains_key(&from).then_some(())?;
            }
        }
        from.extend(rest.iter().cloned());
        Some(from)
    }

    /// The modules by which an item at this path from the crate root is reached: those that only re-export it, and last the one
    /// that defines it.
    fn homes(&self, path: &[String], follow: usize) -> Vec<ModulePath> {
        let depth = (0..=path.len()).rev().find(|&depth| self.0.contains_key(&path[..depth])).unwrap_or(0);
        let module = path[..depth].to_vec();
        let imported = path.get(depth).and_then(|item| self.0.get(&module)?.imports.get(item));
        let next = match imported {
            Some(from) if follow > 0 && from[..] != *path => self.homes(from, follow - 1),
            _ => Vec::new(),
        };
        [vec![module], next].concat()
    }

    /// The other files whose items this file names.
    fn uses(&self, module: &ModulePath) -> BTreeSet<ModulePath> {
        let file = &self.0[module];
        let tokens = &file.tokens;
        // A re-export is not a use.
        let is_exported = |at: usize| at > 1 && tokens[at - 2..at] == ["pub", "use"];
        let begins = |at: &usize| {
            let is_after_colons = *at > 0 && tokens[at - 1] == "::";
            !is_after_colons && !is_exported(*at) && tokens.get(at + 1).is_some_and(|next| next == "::")
        };
        let paths = (0..tokens.len()).filter(begins);
        let paths = paths.flat_map(|at| expanded(&mut tokens[at..].iter().peekable()));
        let mut named = BTreeSet::new();
        for path in paths.filter_map(|path| self.absolute(module, &path)) {
            let mut homes = self.homes(&path, 5);
            named.extend(homes.pop());
            // A child may take what its parents re-export. Whoever else does needs all that the module does.
            named.extend(homes.into_iter().filter(|through| !module.starts_with(through)));
        }
        named.remove(module);
        named
    }

    /// The first file of every circle of imports.
    fn circles(&self) -> Vec<String> {
        let uses: BTreeMap<_, _> = self.0.keys().map(|module| (module, self.uses(module))).collect();
        let mut reached: BTreeMap<_, BTreeSet<ModulePath>> = BTreeMap::new();
        for &from in uses.keys() {
            let (mut found, mut next) = (BTreeSet::new(), vec![from.clone()]);
            while let Some(module) = next.pop() {
                for used in uses.get(&module).into_iter().flatten() {
                    if found.insert(used.clone()) {
                        next.push(used.clone());
                    }
                }
            }
            reached.insert(from, found);
        }
        let mut seen = BTreeSet::new();
        let mut circles = Vec::new();
        for (&module, found) in reached.iter().filter(|(module, found)| found.contains(**module)) {
            if !seen.contains(module) {
                let circle = found.iter().filter(|other| reached[other].contains(module));
                seen.extend(circle.cloned());
                circles.push(self.0[module].path.strip_prefix(workspace()).unwrap().display().to_string());
            }
        }
        circles
    }
}

/// The names, numbers and symbols of a file up to its test module, without comments and string literals.
fn tokens(source: &str) -> Vec<String> {
    let code = source.split("mod tests {").next().unwrap_or_default();
    let mut tokens = Vec::<String>::new();
    for line in code.lines() {
        let line = line.split("//").next().unwrap_or_default();
        // Skips every second part, which is a string literal.
        for part in line.split('"').step_by(2) {
            let mut rest = part;
            while let Some(first) = rest.chars().next() {
                let is_name = |c: char| c.is_alphanumeric() || c == '_';
                let length = match first {
                    _ if is_name(first) => rest.find(|c| !is_name(c)).unwrap_or(rest.len()),
                    ':' if rest.starts_with("::") => 2,
                    _ => first.len_utf8(),
                };
                if !first.is_whitespace() {
                    tokens.push(rest[..length].to_owned());
                }
                rest = &rest[length..];
            }
        }
    }
    tokens
}

/// Expands the tree of a `use` declaration: `a::{b, c::d}` becomes `a::b` and `a::c::d`.
fn expanded<'a>(tokens: &mut Peekable<impl Iterator<Item = &'a String>>) -> Vec<ModulePath> {
    let mut path = ModulePath::new();
    while let Some(token) = tokens.next() {
        if token == "{" {
            let mut all = Vec::new();
            while tokens.peek().is_some_and(|token| *token != "}") {
                all.extend(expanded(tokens).into_iter().map(|branch| [path.clone(), branch].concat()));
                if tokens.peek().is_some_and(|token| *token == ",") {
                    tokens.next();
                }
            }
            tokens.next();
            return all;
        }
        path.push(token.clone());
        if tokens.next_if(|token| *token == "::").is_none() {
            break;
        }
    }
    vec![path]
}

#[test]
fn no_files_of_a_crate_import_each_other_in_a_circle() {
    let circles: Vec<_> = crates().iter().flat_map(Crate::circles).collect();
    assert!(circles.is_empty(), "files that import each other in a circle: {circles:?}");
}

#[test]
fn every_type_has_a_name_of_its_own() {
    let mut defined = BTreeMap::<String, Vec<PathBuf>>::new();
    for file in crates().iter().flat_map(|one| one.0.values()) {
        for pair in file.tokens.windows(2) {
            let is_name = pair[1].starts_with(|c: char| c.is_uppercase());
            if is_name && ["struct", "enum", "trait"].contains(&pair[0].as_str()) {
                defined.entry(pair[1].clone()).or_default().push(file.path.clone());
            }
        }
    }
    let twice: Vec<_> = defined.iter().filter(|(_, files)| files.len() > 1).collect();
    assert!(twice.is_empty(), "{twice:#?}");
}

#[test]
fn the_readme_is_short() {
    let lines = fs::read_to_string(workspace().join("README.md")).unwrap().lines().count();
    assert!(lines <= 130, "README.md has {lines} lines: move what is not needed first into docs/");
}
