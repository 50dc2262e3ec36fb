//! `beekeeper setup nginx`: puts a room and the guard of a shop into the nginx that is there.
//!
//! Each run reads everything, goes as far as it can, and says what comes next. So the guard comes last, when the room already
//! answers at https and nobody is sent to a page that does not open.

use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, TcpStream};
use std::time::Duration;

use anyhow::{Context, Result};
use serde_json::json;
use setup::{
    AfterSetup, FileChange, KeptFiles, NginxProgram, NoNginx, SetupPlan, ShopServices, WhatToAdd, take_edits,
};

use crate::arguments::{SetUp, SetUpNginx, WhatToSetUp};
use crate::ask;
use crate::exit::{Exit, Failure, may_not_use_files};
use crate::printer::{self, Colours, note, say};
use crate::shop_services::shop_services;

const AS_ROOT: &str = "nothing was changed; run it as root: sudo beekeeper setup nginx";

pub(crate) fn run(set_up: &SetUp, json: bool, yes: bool) -> Result<()> {
    let WhatToSetUp::Nginx(arguments) = &set_up.what;
    set_up_nginx(arguments, json, yes).map_err(|error| {
        if may_not_use_files(&error) {
            return Failure::new(Exit::Failed, format!("{error:#}")).advising(AS_ROOT).into();
        }
        if error.is::<NoNginx>() {
            let missing = Failure::new(Exit::Missing, error.to_string());
            return missing.advising("install it: sudo apt-get install nginx").into();
        }
        error
    })
}

fn set_up_nginx(arguments: &SetUpNginx, json: bool, yes: bool) -> Result<()> {
    let conf = std::path::absolute(&arguments.conf)
        .with_context(|| format!("could not find {}", arguments.conf.display()))?;
    let nginx = NginxProgram { conf: &conf };
    let mut kept = KeptFiles::open(&arguments.kept)?;
    finish_earlier(&mut kept, &nginx, arguments)?;
    if arguments.undo {
        return undo(kept, &nginx, arguments, json, yes);
    }
    if let Some(complaint) = nginx.complaint()? {
        let broken =
            format!("nginx does not take its present configuration, so nothing was changed:\n{complaint}");
        let advice =
            if complaint.contains("Permission denied") { AS_ROOT } else { "correct it, then run this again" };
        return Err(Failure::new(Exit::Failed, broken).advising(advice).into());
    }
    let services = shop_services(&arguments.room_file, &arguments.guard_file)?;
    let add = WhatToAdd {
        conf: &conf,
        shop_file: arguments.shop_file.as_deref(),
        webroot: &arguments.webroot,
        certificate: arguments.certificate.as_deref(),
    };
    let plan = SetupPlan::of(add, &services)?;
    show(&plan.changes, json);
    services.warnings.iter().chain(&plan.warnings).for_each(|warning| note(&format!("warning: {warning}")));
    if plan.changes.is_empty() {
        return tell(&plan, &services, "there is nothing to change", false, json);
    }
    if arguments.dry_run {
        return tell(&plan, &services, "nothing was written", false, json);
    }
    if plan.opens_http && answers_at_http() {
        return Err(taken_http());
    }
    take_edits(&mut kept, &conf)?;
    let (consequence, question) = plan.consequence(&services);
    if !yes {
        ask::confirm(&consequence, question)?;
    } else if matches!(plan.next, AfterSetup::Mend(_)) {
        note(&format!("warning: {consequence}"));
    }
    if let Some(complaint) = kept.write_for(&nginx, &plan.changes, &arguments.webroot)? {
        return Err(put_back(&complaint));
    }
    tell(&plan, &services, "nginx has read its new configuration", true, json)
}

/// `nginx -t` opens no port, and a reload says nothing of one that it can't open. It would go on with its old configuration, and not
/// start again.
fn answers_at_http() -> bool {
    let http = [SocketAddr::from((Ipv4Addr::LOCALHOST, 80)), SocketAddr::from((Ipv6Addr::LOCALHOST, 80))];
    http.iter().any(|address| TcpStream::connect_timeout(address, Duration::from_secs(1)).is_ok())
}

fn taken_http() -> anyhow::Error {
    let taken = "another program listens at port 80, and nginx would have to open it for the room's certificate; nothing was written";
    Failure::new(Exit::Failed, taken)
        .advising("let that program pass http for the room's name on to this nginx, and give the shop a server block there that leads to https")
        .into()
}

fn put_back(complaint: &str) -> anyhow::Error {
    let problem =
        format!("nginx does not take the new configuration, so everything was put back:\n{complaint}");
    Failure::new(Exit::Failed, problem)
        .advising("nginx names the file and the line, and the difference is above; if nginx does not run: sudo systemctl start nginx")
        .into()
}

/// Puts back what a run that was killed had begun, or ends its undo.
fn finish_earlier(kept: &mut KeptFiles, nginx: &NginxProgram<'_>, arguments: &SetUpNginx) -> Result<()> {
    if !kept.is_under_way() {
        return Ok(());
    }
    if arguments.dry_run {
        let problem = "an earlier run was killed while it wrote";
        return Err(Failure::new(Exit::Failed, problem)
            .advising("run it without --dry-run, or with --undo: both first put back what it had begun")
            .into());
    }
    kept.recover()?;
    note("an earlier run was killed while it wrote; what it had begun is put back");
    match nginx.refuses() {
        None => Ok(()),
        Some(complaint) => {
            let problem = format!("nginx could not read the files that were put back:\n{complaint}");
            Err(Failure::new(Exit::Failed, problem).into())
        }
    }
}

fn undo(
    mut kept: KeptFiles,
    nginx: &NginxProgram<'_>,
    arguments: &SetUpNginx,
    json: bool,
    yes: bool,
) -> Result<()> {
    take_edits(&mut kept, nginx.conf)?;
    let changes = kept.undoing();
    let done = |text: &str, is_undone: bool| {
        let paths: Vec<_> = changes.iter().map(|change| &change.path).collect();
        let object = json!({ "stage": null, "changed": paths, "written": is_undone, "next": null });
        Ok(say(&if json { object.to_string() } else { text.to_owned() })?)
    };
    if kept.is_empty() {
        return done("there is nothing to undo", false);
    }
    show(&changes, json);
    if arguments.dry_run {
        return done("nothing was written", false);
    }
    if !yes {
        let services = shop_services(&arguments.room_file, &arguments.guard_file);
        let taken = "this takes the guard off your shop, and the room's name out of nginx: nobody who waits there can come in any more";
        let consequence = services.map_or_else(|_| taken.into(), |services| services.without_setup());
        ask::confirm(&consequence, "Take these lines out?")?;
    }
    if let Some(complaint) = kept.undo_for(nginx)? {
        let problem =
            format!("nginx does not take the files from before, so nothing was undone:\n{complaint}");
        return Err(Failure::new(Exit::Failed, problem).into());
    }
    done("what the setup had added is taken out, and your own lines are as they were", true)
}

/// The changes on the screen. Scripts get the names of the files.
fn show(changes: &[FileChange], json: bool) {
    if json {
        return;
    }
    let colours = Colours::of_output();
    for FileChange { path, before, after } in changes {
        let diff = setup::diff(path, before.as_deref(), after.as_deref());
        for line in diff.lines() {
            let line = match line.as_bytes().first() {
                Some(b'+') => colours.green(line),
                Some(b'-') => colours.red(line),
                _ => line.to_owned(),
            };
            // Unlike text, a diff is not broken at the width of the terminal. If the output was closed, the setup continues.
            drop(printer::write(format!("{line}\n").as_bytes()));
        }
    }
}

fn tell(plan: &SetupPlan, services: &ShopServices, done: &str, is_written: bool, json: bool) -> Result<()> {
    let next = plan.told_next(services, is_written);
    if json {
        let changed: Vec<_> = plan.changes.iter().map(|change| &change.path).collect();
        let stage = plan.stage.as_str();
        let object = json!({ "stage": stage, "changed": changed, "written": is_written, "next": next });
        return Ok(say(&object.to_string())?);
    }
    Ok(say(&format!("{done}\nnext: {next}"))?)
}
