//! `beekeeper deploy --emit`: writes what a pipeline of the operator's own deploys a room with.

use std::fs;
use std::io::{self, ErrorKind};
use std::path::Path;

use anyhow::{Context, Result};
use cloud::{PipelineFile, Reservation};
use rooms::{ConfigFolder, custom_page};
use serde_json::json;
use waitroom::RoomId;

use super::progress::bundle;
use super::rooms::access;
use crate::arguments::on_aws::Deploy;
use crate::exit::{Exit, Failure};
use crate::printer::{note, say};

/// What an earlier run wrote and this one may not: a package has another name each time, and a page other files.
const FOLDERS: [&str; 3] = ["functions", "page", "edge-firewall"];

pub(super) fn run(deploy: &Deploy, folder: &Path, json: bool) -> Result<()> {
    let config = ConfigFolder::of_this_user()?.load(&deploy.name)?;
    let page = custom_page(&config)?;
    let region = access(&config)?.region;
    let files = bundle().pipeline_files(&config, page.as_ref(), deploy.bucket.as_deref())?;
    write(folder, &config.room, &files)?;
    let files: Vec<_> = files.iter().map(|file| folder.join(&file.path).display().to_string()).collect();
    if json {
        return Ok(say(&json!({ "event": "emitted", "room": config.room, "files": files }).to_string())?);
    }
    say(&files.join("\n"))?;
    let consumers = Reservation::for_rate(config.most_at(config.rate)).consumers;
    note(&format!(
        "Deploy them in {region} as the stack and with the tag that {} names: docs/pipelines.md shows how. Then write \
         account = \"…\" into the room's configuration file. The account was not asked, so ReservedConsumers is 0; if it has \
         functions to spare, set {consumers}.",
        PipelineFile::STACK
    ));
    Ok(())
}

/// Writes the files, and replaces those of an earlier run for this room. A folder with anything else stays as it is.
fn write(folder: &Path, room: &RoomId, files: &[PipelineFile]) -> Result<()> {
    let attempt = || format!("could not write into {}", folder.display());
    fs::create_dir_all(folder).with_context(attempt)?;
    let is_empty = fs::read_dir(folder).with_context(attempt)?.next().is_none();
    let is_ours = || {
        fs::read(folder.join(PipelineFile::STACK)).is_ok_and(|stack| PipelineFile::is_stack_of(room, &stack))
    };
    if !is_empty && !is_ours() {
        let message = format!(
            "{} has files, and no {} that an earlier run wrote for {room}",
            folder.display(),
            PipelineFile::STACK
        );
        return Err(Failure::new(Exit::Failed, message).advising("name a new or an empty directory").into());
    }
    for written in FOLDERS {
        gone(fs::remove_dir_all(folder.join(written))).with_context(attempt)?;
    }
    for file in files {
        let path = folder.join(&file.path);
        let written =
            path.parent().map_or(Ok(()), fs::create_dir_all).and_then(|()| fs::write(&path, &file.content));
        written.with_context(|| format!("could not write {}", path.display()))?;
    }
    Ok(())
}

fn gone(removed: io::Result<()>) -> io::Result<()> {
    removed.or_else(|error| if error.kind() == ErrorKind::NotFound { Ok(()) } else { Err(error) })
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;
    use crate::arguments::Arguments;

    #[test]
    fn a_pipeline_gets_files_and_no_plan() {
        let accepts = |flags: &[&str]| {
            Arguments::try_parse_from([&["beekeeper", "deploy", "sale"], flags].concat()).is_ok()
        };
        assert!(accepts(&["--emit", "room"]) && accepts(&["--emit", "room", "--bucket", "artefacts"]));
        assert!(!accepts(&["--emit", "room", "--dry-run"]) && !accepts(&["--bucket", "artefacts"]));
    }

    fn room(name: &str) -> RoomId {
        name.parse().unwrap()
    }

    const STACK: &str = r#"{"Tags": {"beekeeper:room": "sale"}}"#;

    fn file(path: &str, content: &'static str) -> PipelineFile {
        PipelineFile { path: path.into(), content: content.as_bytes().into() }
    }

    #[test]
    fn only_what_an_earlier_run_wrote_is_replaced() {
        let home = tempfile::tempdir().unwrap();
        let (sale, folder) = (room("sale"), home.path().join("ours/room"));
        write(
            &folder,
            &sale,
            &[
                file("stack.json", STACK),
                file("functions/1.zip", "1"),
                file("page/a.svg", "1"),
                file("edge-firewall/template.json", "1"),
            ],
        )
        .unwrap();
        fs::write(folder.join("main.tf"), "mine").unwrap();
        write(&folder, &sale, &[file("stack.json", STACK), file("functions/2.zip", "2")]).unwrap();
        assert_eq!(fs::read_to_string(folder.join("stack.json")).unwrap(), STACK);
        assert_eq!(fs::read_to_string(folder.join("main.tf")).unwrap(), "mine");
        assert!(folder.join("functions/2.zip").exists());
        assert!(!folder.join("functions/1.zip").exists() && !folder.join("page").exists());
        assert!(!folder.join("edge-firewall").exists(), "a pipeline would go on paying for it");

        let refused = |folder: &Path, name: &str| {
            let error = write(folder, &room(name), &[file("stack.json", STACK)]).unwrap_err().to_string();
            let told = format!("has files, and no stack.json that an earlier run wrote for {name}");
            assert!(error.ends_with(&told), "{error}");
        };
        refused(&folder, "other");
        let foreign = home.path().join("ours");
        refused(&foreign, "sale");
        assert!(!foreign.join("stack.json").exists());
        fs::create_dir(foreign.join("functions")).unwrap();
        fs::write(foreign.join("functions/handler.py"), "theirs").unwrap();
        fs::write(foreign.join("stack.json"), r#"{"StackName": "shop"}"#).unwrap();
        refused(&foreign, "sale");
        assert!(foreign.join("functions/handler.py").exists(), "another program has a file of that name too");
    }

    #[test]
    fn a_folder_that_cannot_be_written_is_named() {
        let home = tempfile::tempdir().unwrap();
        fs::write(home.path().join("file"), "").unwrap();
        let error = write(&home.path().join("file"), &room("sale"), &[]).unwrap_err();
        assert!(error.to_string().starts_with("could not write into "), "{error:#}");
        assert!(error.to_string().ends_with("/file"), "{error:#}");
    }
}
