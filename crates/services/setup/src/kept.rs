//! What the setup has changed, kept so that all of it can be taken back.
//!
//! The record is written before the first file is, and says what each file was and what it becomes. So a setup that is killed
//! anywhere can be put back: each file is one or the other. The record lies where only root writes, because `--undo` writes as root
//! what it says.

use std::fs::{self, File, OpenOptions, Permissions, TryLockError};
use std::io::{self, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt, fchown};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};

use crate::program::NginxProgram;
use document::Refusal;

const PUT_BACK: &str = "not everything could be written, so everything is as it was";

const RECORD: &str = "setup.json";
const ORIGINALS: &str = "original";

/// One file, as it is and as it shall be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileChange {
    pub path: PathBuf,
    pub before: Option<String>,
    pub after: Option<String>,
}

#[derive(Clone, Debug, Deserialize, PartialEq, Eq, Serialize)]
struct ChangedFile {
    path: PathBuf,
    /// Before the first run. A file that was not there is removed by `--undo`.
    original: Option<String>,
    /// Before the last run.
    before: Option<String>,
    written: Option<String>,
}

#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
enum UnderWay {
    Writing,
    Undoing,
}

#[derive(Clone, Debug, Default, Deserialize, PartialEq, Eq, Serialize)]
struct SetupRecord {
    under_way: Option<UnderWay>,
    files: Vec<ChangedFile>,
    /// Folders that the setup made, the outermost first.
    folders: Vec<PathBuf>,
}

/// The folder of the record. Nobody else uses it meanwhile.
#[derive(Debug)]
pub struct KeptFiles {
    folder: PathBuf,
    record: SetupRecord,
    alone: Option<File>,
}

impl KeptFiles {
    /// What earlier runs have kept, if there is something.
    pub fn open(folder: &Path) -> Result<Self> {
        let alone = lock(folder)?;
        let file = folder.join(RECORD);
        let record = match read(&file)? {
            None => SetupRecord::default(),
            Some(text) => serde_json::from_str(&text)
                .with_context(|| format!("{} is not the record of a setup", file.display()))?,
        };
        Ok(Self { folder: folder.into(), record, alone })
    }

    pub fn is_empty(&self) -> bool {
        self.record.files.is_empty()
    }

    /// Whether a run was killed while it wrote.
    pub fn is_under_way(&self) -> bool {
        self.record.under_way.is_some()
    }

    /// Puts back what that run has begun to write, or ends its undo.
    pub fn recover(&mut self) -> Result<()> {
        self.refuse_edited()?;
        if self.record.under_way == Some(UnderWay::Undoing) {
            self.write_originals()?;
            return self.forget();
        }
        self.put_back()
    }

    /// Refuses if somebody has edited one of the files since they were written. Whoever put one back has not.
    fn refuse_edited(&self) -> Result<()> {
        for file in &self.record.files {
            let now = read(&file.path)?;
            let is_known = now == file.written
                || now == file.original
                || (self.record.under_way == Some(UnderWay::Writing) && now == file.before);
            if !is_known {
                return Err(self.edited(file, now.as_deref().unwrap_or_default()));
            }
        }
        Ok(())
    }

    /// Takes what somebody edited since as if they had done so before the first run. `without` takes what the setup inserts out of
    /// a text. Refuses where that does not give what the file was.
    pub fn take_edits(&mut self, without: impl Fn(&str) -> String) -> Result<()> {
        let mut taken = self.record.files.clone();
        for file in &mut taken {
            let now = read(&file.path)?;
            if now == file.written || now == file.original {
                continue;
            }
            let is_known = file.original.is_some() && file.written.as_deref().map(&without) == file.original;
            let Some(text) = now.as_ref().filter(|_| is_known) else {
                return Err(self.edited(file, now.as_deref().unwrap_or_default()));
            };
            let original = without(text);
            put(&self.original_of(&file.path), &original)?;
            file.original = Some(original);
            file.written = now;
        }
        self.record.files = taken;
        Ok(())
    }

    fn edited(&self, file: &ChangedFile, now: &str) -> anyhow::Error {
        let changes = diff(&file.path, file.written.as_deref(), Some(now));
        let problem = format!(
            "{} was changed by somebody else since the setup wrote it, so it is left as it is:\n{changes}",
            file.path.display()
        );
        let original = self.original_of(&file.path);
        let advice = if file.original.is_some() {
            format!(
                "take these changes out and run this again, or put it back yourself: the original is {}",
                original.display()
            )
        } else {
            // The shop's block needs it: without it, nginx would not start again.
            "take these changes out and run this again".into()
        };
        Refusal::new(problem, advice).into()
    }

    /// Where a person finds a file as it was.
    fn original_of(&self, path: &Path) -> PathBuf {
        self.folder.join(ORIGINALS).join(path.strip_prefix("/").unwrap_or(path))
    }

    /// Writes these changes, and lets nginx read them. If it does not take them, all is as before, and it returns what nginx says.
    pub fn write_for(
        &mut self,
        nginx: &NginxProgram<'_>,
        changes: &[FileChange],
        new_folder: &Path,
    ) -> Result<Option<String>> {
        self.begin(changes, new_folder)?;
        let written = self.write();
        self.unless_refused(written, nginx, Self::settle, Self::put_back)
    }

    /// Takes out what all runs have added, in the same way.
    pub fn undo_for(&mut self, nginx: &NginxProgram<'_>) -> Result<Option<String>> {
        let undone = self.undo();
        self.unless_refused(undone, nginx, Self::forget, Self::redo)
    }

    /// Keeps what was written if nginx takes it, and goes back if it doesn't, or if not all could be written.
    fn unless_refused(
        &mut self,
        written: Result<()>,
        nginx: &NginxProgram<'_>,
        keep: fn(&mut Self) -> Result<()>,
        back: fn(&mut Self) -> Result<()>,
    ) -> Result<Option<String>> {
        let refused = written.map(|()| nginx.refuses());
        let complaint = refused.as_ref().map_or_else(|error| Some(format!("{error:#}")), Clone::clone);
        match complaint {
            None => keep(self)?,
            Some(complaint) => back(self).with_context(|| not_put_back(&complaint))?,
        }
        refused.context(PUT_BACK)
    }

    /// Keeps what the files are. Nothing is changed yet.
    fn begin(&mut self, changes: &[FileChange], new_folder: &Path) -> Result<()> {
        private_folder(&self.folder)?;
        if self.alone.is_none() {
            self.alone = lock(&self.folder)?;
        }
        for change in changes {
            // Somebody may have edited it during the question.
            if read(&change.path)? != change.before {
                let problem =
                    format!("{} was changed meanwhile, so nothing was written", change.path.display());
                return Err(
                    Refusal::new(problem, "run it again, and it takes the change into account").into()
                );
            }
        }
        for change in changes {
            let (before, written) = (change.before.clone(), change.after.clone());
            if let Some(file) = self.record.files.iter_mut().find(|file| file.path == change.path) {
                (file.before, file.written) = (before, written);
                continue;
            }
            if let Some(original) = &before {
                let kept = self.original_of(&change.path);
                let folder = kept.parent().unwrap_or(&self.folder);
                fs::create_dir_all(folder).with_context(|| format!("could not make {}", folder.display()))?;
                put(&kept, original)?;
            }
            self.record.files.push(ChangedFile {
                path: change.path.clone(),
                original: before.clone(),
                before,
                written,
            });
        }
        let missing: Vec<_> =
            new_folder.ancestors().take_while(|folder| !folder.exists()).map(PathBuf::from).collect();
        self.record.folders.extend(missing.iter().rev().cloned());
        // Files that this run leaves alone are what they were before it, too.
        for file in &mut self.record.files {
            if !changes.iter().any(|change| change.path == file.path) {
                file.before.clone_from(&file.written);
            }
        }
        self.save(Some(UnderWay::Writing))
    }

    /// Writes the changes. Until [`settle`](Self::settle), [`put_back`](Self::put_back) takes them back.
    fn write(&self) -> Result<()> {
        for folder in self.record.folders.iter().filter(|folder| !folder.exists()) {
            fs::create_dir(folder)
                .and_then(|()| fs::set_permissions(folder, Permissions::from_mode(0o755)))
                .with_context(|| format!("could not make {}", folder.display()))?;
        }
        let mut changed = self.record.files.iter().filter(|file| file.before != file.written);
        changed.try_for_each(|file| put_or_remove(&file.path, file.written.as_deref()))
    }

    /// The changes of this run stay.
    fn settle(&mut self) -> Result<()> {
        self.save(None)
    }

    /// Takes the changes of this run back.
    fn put_back(&mut self) -> Result<()> {
        for file in &mut self.record.files {
            put_or_remove(&file.path, file.before.as_deref())?;
            file.written.clone_from(&file.before);
        }
        self.record.files.retain(|file| file.written != file.original);
        if self.record.files.is_empty() { self.forget() } else { self.save(None) }
    }

    /// What `--undo` would do.
    pub fn undoing(&self) -> Vec<FileChange> {
        let change = |file: &ChangedFile| FileChange {
            path: file.path.clone(),
            before: file.written.clone(),
            after: file.original.clone(),
        };
        self.record.files.iter().map(change).collect()
    }

    /// Writes every file as it was before the first run. Until [`forget`](Self::forget), [`redo`](Self::redo) takes it back.
    fn undo(&mut self) -> Result<()> {
        self.save(Some(UnderWay::Undoing))?;
        self.write_originals()
    }

    fn write_originals(&self) -> Result<()> {
        self.record.files.iter().try_for_each(|file| put_or_remove(&file.path, file.original.as_deref()))
    }

    /// Writes again what `undo` took away.
    fn redo(&mut self) -> Result<()> {
        for file in &self.record.files {
            put_or_remove(&file.path, file.written.as_deref())?;
        }
        self.save(None)
    }

    /// After everything is as it was: removes what was kept, and the folders that the setup made, if they are empty.
    fn forget(&mut self) -> Result<()> {
        for folder in self.record.folders.iter().rev() {
            // Somebody else may have put something there.
            drop(fs::remove_dir(folder));
        }
        let record = self.folder.join(RECORD);
        fs::remove_file(&record).with_context(|| format!("could not remove {}", record.display()))?;
        let originals = self.folder.join(ORIGINALS);
        if originals.exists() {
            fs::remove_dir_all(&originals)
                .with_context(|| format!("could not remove {}", originals.display()))?;
        }
        drop(fs::remove_dir(&self.folder));
        self.record = SetupRecord::default();
        Ok(())
    }

    fn save(&mut self, under_way: Option<UnderWay>) -> Result<()> {
        self.record.under_way = under_way;
        put(&self.folder.join(RECORD), &serde_json::to_string_pretty(&self.record)?)
    }
}

/// Keeps another setup away for as long as the folder is open. Before the first run there is none.
fn lock(folder: &Path) -> Result<Option<File>> {
    let opened = match File::open(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        opened => opened.with_context(|| format!("could not use {}", folder.display()))?,
    };
    if matches!(opened.try_lock(), Err(TryLockError::WouldBlock)) {
        let another = format!("another setup is under way: it uses {}", folder.display());
        return Err(Refusal::new(another, "wait until it has ended").into());
    }
    Ok(Some(opened))
}

/// The text of a file, if there is one.
pub(crate) fn read(path: &Path) -> Result<Option<String>> {
    match fs::read_to_string(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        text => Ok(Some(text.with_context(|| format!("could not read {}", path.display()))?)),
    }
}

/// What changes, as `diff -u` says it.
pub fn diff(path: &Path, before: Option<&str>, after: Option<&str>) -> String {
    let name = |text: Option<&str>| text.map_or("/dev/null".to_owned(), |_| path.display().to_string());
    let mut named = diffy::DiffOptions::new();
    named.set_original_filename(name(before)).set_modified_filename(name(after));
    named.create_patch(before.unwrap_or_default(), after.unwrap_or_default()).to_string()
}

fn private_folder(folder: &Path) -> Result<()> {
    fs::create_dir_all(folder)
        .and_then(|()| fs::set_permissions(folder, Permissions::from_mode(0o700)))
        .with_context(|| format!("could not make {}", folder.display()))
}

fn put_or_remove(path: &Path, text: Option<&str>) -> Result<()> {
    let Some(text) = text else {
        // A run that was killed may have left the other one.
        return [path, &beside(path)].iter().try_for_each(|path| match fs::remove_file(path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                Err(error).with_context(|| format!("could not remove {}", path.display()))
            }
            _ => Ok(()),
        });
    };
    put(path, text)
}

/// Where the new text of a file is written. A pattern such as `sites-enabled/*` finds no file that begins with a dot.
fn beside(path: &Path) -> PathBuf {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    path.with_file_name(format!(".{name}.beekeeper"))
}

/// Writes a file in one step: whoever reads it finds the old text or the new one. It keeps its owner and its mode.
fn put(path: &Path, text: &str) -> Result<()> {
    let new = beside(path);
    let write = || {
        drop(fs::remove_file(&new));
        let mut file = OpenOptions::new().write(true).create_new(true).mode(0o644).open(&new)?;
        if let Ok(old) = fs::metadata(path) {
            fchown(&file, Some(old.uid()), Some(old.gid()))?;
            file.set_permissions(old.permissions())?;
        }
        file.write_all(text.as_bytes())?;
        file.sync_all()?;
        fs::rename(&new, path)?;
        path.parent().map_or(Ok(()), |folder| File::open(folder)?.sync_all())
    };
    write().with_context(|| format!("could not write {}", path.display()))
}

fn not_put_back(complaint: &str) -> String {
    format!(
        "nginx does not take the files, and they could not be put back; run this again, which tries it first. It says:\n{complaint}\n"
    )
}

#[cfg(test)]
mod tests {
    use tempfile::TempDir;

    use super::*;

    struct Machine(TempDir);

    impl Machine {
        fn new() -> Self {
            let machine = Self(tempfile::tempdir().unwrap());
            fs::create_dir(machine.path("nginx")).unwrap();
            fs::write(machine.path("nginx/shop"), "shop\n").unwrap();
            fs::set_permissions(machine.path("nginx/shop"), Permissions::from_mode(0o640)).unwrap();
            machine
        }

        fn path(&self, name: &str) -> PathBuf {
            self.0.path().join(name)
        }

        fn kept(&self) -> KeptFiles {
            KeptFiles::open(&self.path("kept")).unwrap()
        }

        fn change(&self, name: &str, after: &str) -> FileChange {
            let path = self.path(name);
            FileChange { before: read(&path).unwrap(), path, after: Some(after.into()) }
        }

        /// A run that ends.
        fn set_up(&self, changes: &[FileChange]) {
            let mut kept = self.kept();
            kept.begin(changes, &self.path("www/beekeeper")).unwrap();
            kept.write().unwrap();
            kept.settle().unwrap();
        }

        fn text(&self, name: &str) -> Option<String> {
            read(&self.path(name)).unwrap()
        }

        fn undo(&self) -> Result<()> {
            let mut kept = self.kept();
            kept.take_edits(|text| text.replace("guard me\n", ""))?;
            kept.undo()?;
            kept.forget()
        }

        fn assert_as_before(&self) {
            let mut all: Vec<_> =
                fs::read_dir(self.path("nginx")).unwrap().map(|entry| entry.unwrap().file_name()).collect();
            all.extend(fs::read_dir(self.0.path()).unwrap().map(|entry| entry.unwrap().file_name()));
            assert_eq!(all, ["shop", "nginx"]);
            assert_eq!(self.text("nginx/shop").as_deref(), Some("shop\n"));
        }
    }

    #[test]
    fn an_edit_during_the_question_is_not_overwritten() {
        let machine = Machine::new();
        let planned = [machine.change("nginx/room", "room\n"), machine.change("nginx/shop", "guarded\n")];
        fs::write(machine.path("nginx/shop"), "edited\n").unwrap();
        let error = machine.kept().begin(&planned, &machine.path("www/beekeeper")).unwrap_err();
        assert!(
            error.to_string().ends_with("nginx/shop was changed meanwhile, so nothing was written"),
            "{error}"
        );
        assert_eq!((machine.text("nginx/shop"), machine.text("nginx/room")), (Some("edited\n".into()), None));
        assert!(!machine.kept().is_under_way());
    }

    #[test]
    fn everything_is_as_it_was_after_several_runs_and_an_undo() {
        let machine = Machine::new();
        machine.set_up(&[machine.change("nginx/room", "one")]);
        machine.set_up(&[machine.change("nginx/room", "two"), machine.change("nginx/shop", "guarded")]);
        let mode = fs::metadata(machine.path("nginx/shop")).unwrap().permissions().mode();
        assert_eq!((machine.text("nginx/shop").as_deref(), mode & 0o777), (Some("guarded"), 0o640));
        assert!(machine.path("www/beekeeper").is_dir());
        let original = machine.kept().original_of(&machine.path("nginx/shop"));
        assert_eq!(read(&original).unwrap().as_deref(), Some("shop\n"), "a person finds it");
        machine.undo().unwrap();
        machine.assert_as_before();
    }

    #[test]
    fn a_run_that_fails_is_taken_back_alone() {
        let machine = Machine::new();
        machine.set_up(&[machine.change("nginx/room", "one")]);
        let mut kept = machine.kept();
        let changes = [machine.change("nginx/room", "two"), machine.change("nginx/shop", "guarded")];
        kept.begin(&changes, &machine.path("www/beekeeper")).unwrap();
        kept.write().unwrap();
        kept.put_back().unwrap();
        drop(kept);
        assert_eq!(machine.text("nginx/room").as_deref(), Some("one"));
        assert_eq!(machine.text("nginx/shop").as_deref(), Some("shop\n"));
        machine.undo().unwrap();
        machine.assert_as_before();
    }

    /// As if the process had been killed after each of the writes.
    #[test]
    fn a_run_that_was_killed_is_put_back_by_the_next() {
        for written in 0..=2 {
            let machine = Machine::new();
            let changes = [machine.change("nginx/room", "one"), machine.change("nginx/shop", "guarded")];
            let mut kept = machine.kept();
            kept.begin(&changes, &machine.path("www")).unwrap();
            kept.write().unwrap();
            drop(kept);
            for change in changes.iter().skip(written) {
                put_or_remove(&change.path, change.before.as_deref()).unwrap();
            }
            machine.kept().recover().unwrap();
            machine.assert_as_before();
            assert!(!machine.kept().is_under_way());
        }
    }

    #[test]
    fn an_undo_that_was_killed_is_finished_by_the_next_run() {
        for undone in 0..=2 {
            let machine = Machine::new();
            let changes = [machine.change("nginx/room", "one"), machine.change("nginx/shop", "guarded")];
            machine.set_up(&changes);
            machine.kept().undo().unwrap();
            for change in changes.iter().skip(undone) {
                put_or_remove(&change.path, change.after.as_deref()).unwrap();
            }
            machine.kept().recover().unwrap();
            machine.assert_as_before();
        }
    }

    #[test]
    fn a_file_that_somebody_edited_is_not_touched() {
        let machine = Machine::new();
        machine.set_up(&[machine.change("nginx/shop", "guarded\n")]);
        fs::write(machine.path("nginx/shop"), "guarded\nmine\n").unwrap();
        let error = machine.undo().unwrap_err();
        let failure = error.downcast_ref::<Refusal>().unwrap();
        assert!(error.to_string().contains("\n guarded\n+mine\n"), "{error}");
        assert!(failure.advice.as_ref().unwrap().contains("/kept/original/"), "{failure:?}");
        assert_eq!(machine.text("nginx/shop").as_deref(), Some("guarded\nmine\n"));
    }

    #[test]
    fn what_somebody_edited_around_the_inserted_lines_stays() {
        let machine = Machine::new();
        let edit = |text: &str| fs::write(machine.path("nginx/shop"), text).unwrap();
        machine
            .set_up(&[machine.change("nginx/room", "one"), machine.change("nginx/shop", "guard me\nshop\n")]);
        edit("guard me\nshop\nmine\n");
        let mut kept = machine.kept();
        kept.take_edits(|text| text.replace("guard me\n", "")).unwrap();
        let original = kept.original_of(&machine.path("nginx/shop"));
        assert_eq!(read(&original).unwrap().as_deref(), Some("shop\nmine\n"), "a person finds it");
        // As if nginx had refused it, or the process had been killed.
        kept.undo().unwrap();
        kept.redo().unwrap();
        drop(kept);
        assert_eq!(machine.text("nginx/shop").as_deref(), Some("guard me\nshop\nmine\n"));
        edit("guard me\nshop\nmine\nmore\n");
        machine.undo().unwrap();
        assert_eq!(machine.text("nginx/shop").as_deref(), Some("shop\nmine\nmore\n"));
        assert_eq!(machine.text("nginx/room"), None);
    }

    #[test]
    fn what_somebody_put_back_is_undone_and_set_up_again() {
        let machine = Machine::new();
        let changes = [machine.change("nginx/room", "one"), machine.change("nginx/shop", "guarded\n")];
        machine.set_up(&changes);
        fs::write(machine.path("nginx/shop"), "shop\n").unwrap();
        machine.kept().take_edits(str::to_owned).unwrap();
        machine.set_up(&[machine.change("nginx/shop", "guarded\n")]);
        fs::write(machine.path("nginx/shop"), "shop\n").unwrap();
        fs::remove_file(machine.path("nginx/room")).unwrap();
        machine.undo().unwrap();
        machine.assert_as_before();
    }

    #[test]
    fn two_setups_do_not_meet() {
        let machine = Machine::new();
        machine.set_up(&[machine.change("nginx/shop", "guarded")]);
        let _first = machine.kept();
        let error = KeptFiles::open(&machine.path("kept")).unwrap_err();
        assert!(error.to_string().starts_with("another setup is under way"), "{error}");
    }

    #[test]
    fn a_change_is_shown_as_diff_shows_it() {
        let shown = |before, after| diff(Path::new("/etc/nginx/shop"), before, after);
        assert_eq!(
            shown(Some("1\n2\n3\n4\n5\n6\n7\n8\n"), Some("1\n2\n3\n4\nfive\n6\n7\n8\nno end")),
            "--- /etc/nginx/shop\n+++ /etc/nginx/shop\n@@ -2,7 +2,8 @@\n 2\n 3\n 4\n-5\n+five\n 6\n 7\n 8\n\
             +no end\n\\ No newline at end of file\n"
        );
        assert_eq!(shown(None, Some("new\n")), "--- /dev/null\n+++ /etc/nginx/shop\n@@ -0,0 +1 @@\n+new\n");
        assert_eq!(shown(Some("old\n"), None), "--- /etc/nginx/shop\n+++ /dev/null\n@@ -1 +0,0 @@\n-old\n");
    }
}
