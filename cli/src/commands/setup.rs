//! `beekeeper setup nginx`: puts a room and the guard of a shop into the nginx that is there.
//!
//! Each run reads everything, goes as far as it can, and says what comes next. So the guard comes last, when the room already
//! answers at https and nobody is sent to a page that does not open.

use std::io::ErrorKind;

use anyhow::{Context, Result};
use serde_json::json;
use setup::{
    AfterSetup, FileChange, KeptFiles, NginxProgram, NoNginx, NotReady, SetupPlan, ShopServices, WhatToAdd,
    take_edits,
};

use crate::arguments::{LOCAL, SetUp, SetUpNginx, WhatToSetUp};
use crate::ask;
use crate::exit::{Exit, Failure};
use crate::printer::{self, Colours, note, say};
use crate::shop_services::shop_services;

const AS_ROOT: &str = "nothing was changed; run it as root: sudo beekeeper setup nginx";

pub(crate) fn run(set_up: &SetUp, json: bool, yes: bool) -> Result<()> {
    let WhatToSetUp::Nginx(arguments) = &set_up.what;
    set_up_nginx(arguments, json, yes).map_err(|error| {
        let causes = error.chain().filter_map(|cause| cause.downcast_ref::<std::io::Error>());
        if causes.into_iter().any(|cause| cause.kind() == ErrorKind::PermissionDenied) {
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
    show(&plan.changes, json)?;
    services.warnings.iter().chain(&plan.warnings).for_each(|warning| note(&format!("warning: {warning}")));
    if plan.changes.is_empty() {
        return tell(&plan, &services, "there is nothing to change", false, json);
    }
    if arguments.dry_run {
        return tell(&plan, &services, "nothing was written", false, json);
    }
    take_edits(&mut kept, &conf)?;
    if !yes {
        let (consequence, question) = consequence(&plan, &services);
        ask::confirm(&consequence, question)?;
    } else if let AfterSetup::Mend(not_ready) = &plan.next {
        note(&format!("warning: {}", kept_out(not_ready, &services.shop_host, WITH_THESE)));
    }
    kept.begin(&plan.changes, &arguments.webroot)?;
    let refused = match kept.write() {
        Ok(()) => nginx.refuses(),
        Err(error) => Some(format!("{error:#}")),
    };
    if let Some(complaint) = refused {
        kept.put_back().with_context(|| not_put_back(&complaint))?;
        return Err(put_back(&complaint));
    }
    kept.settle()?;
    tell(&plan, &services, "nginx has read its new configuration", true, json)
}

fn put_back(complaint: &str) -> anyhow::Error {
    let problem =
        format!("nginx does not take the new configuration, so everything was put back:\n{complaint}");
    Failure::new(Exit::Failed, problem)
        .advising("nginx names the file and the line, and the difference is above; if nginx does not run: sudo systemctl start nginx")
        .into()
}

fn not_put_back(complaint: &str) -> String {
    format!(
        "nginx does not take the files, and they could not be put back; run this again, which tries it first. It says:\n{complaint}\n"
    )
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
    show(&changes, json)?;
    if arguments.dry_run {
        return done("nothing was written", false);
    }
    if !yes {
        ask::confirm(
            "The shop is without the guard afterwards, and the room without its name: whoever is on the way there does not arrive",
            "Take these lines out?",
        )?;
    }
    let refused = match kept.undo() {
        Ok(()) => nginx.refuses(),
        Err(error) => Some(format!("{error:#}")),
    };
    if let Some(complaint) = refused {
        kept.redo().with_context(|| not_put_back(&complaint))?;
        let problem =
            format!("nginx does not take the files from before, so nothing was undone:\n{complaint}");
        return Err(Failure::new(Exit::Failed, problem).into());
    }
    kept.forget()?;
    done("what the setup had added is taken out, and your own lines are as they were", true)
}

/// The changes on the screen. Scripts get the names of the files.
fn show(changes: &[FileChange], json: bool) -> Result<()> {
    if json {
        return Ok(());
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
            // Unlike text, a diff is not broken at the width of the terminal.
            printer::write(format!("{line}\n").as_bytes())?;
        }
    }
    Ok(())
}

/// What to ask about before it is written, and the question.
fn consequence(plan: &SetupPlan, services: &ShopServices) -> (String, &'static str) {
    if let AfterSetup::Mend(not_ready) = &plan.next {
        return (kept_out(not_ready, &services.shop_host, WITH_THESE), "Write these all the same?");
    }
    let consequence = if plan.begins_to_guard {
        format!("{} is behind the guard from then on, and {}", services.shop_host, services.room_says())
    } else {
        "nginx reads its configuration again, and no visitor notices".into()
    };
    (consequence, "Write these?")
}

const WITH_THESE: &str = "with these lines";

/// What keeps whom out of the shop, now or `when` nginx has its lines, and what to do.
fn kept_out(not_ready: &NotReady, shop: &str, when: &str) -> String {
    let NotReady { because, keeps_everybody_out, command } = not_ready;
    let whom = if *keeps_everybody_out {
        format!("nobody gets into {shop}, not even those who are in")
    } else {
        format!("nobody new gets into {shop}; those who are in stay")
    };
    format!("{because}, so {when} {whom}; first: {command}")
}

fn tell(plan: &SetupPlan, services: &ShopServices, done: &str, is_written: bool, json: bool) -> Result<()> {
    let is_there = is_written || plan.changes.is_empty();
    let next = next(&plan.next, services, is_there);
    if json {
        let changed: Vec<_> = plan.changes.iter().map(|change| &change.path).collect();
        let stage = plan.stage.as_str();
        let object = json!({ "stage": stage, "changed": changed, "written": is_written, "next": next });
        return Ok(say(&object.to_string())?);
    }
    Ok(say(&format!("{done}\nnext: {next}"))?)
}

/// What comes next, whether nginx has its lines or not.
fn next(step: &AfterSetup, services: &ShopServices, is_there: bool) -> String {
    match step {
        AfterSetup::GetCertificate { name, webroot } => format!(
            "get the certificate: sudo certbot certonly --webroot --webroot-path {} --domain {name} --deploy-hook \"systemctl \
             reload nginx\"; then run this again",
            webroot.display()
        ),
        AfterSetup::StartRoom(NotReady { because, command, .. }) => {
            format!("{because}; first: {command}; then run this again")
        }
        AfterSetup::StartGuard(NotReady { because, command, .. }) => format!(
            "rehearse, and turn the room off: docs/one-machine.md. Then put the shop behind the guard: sudo systemctl enable \
             beekeeper-guard; {command}; and run this again. It waits for that, because {because}"
        ),
        AfterSetup::Mend(not_ready) => {
            kept_out(not_ready, &services.shop_host, if is_there { "now" } else { WITH_THESE })
        }
        AfterSetup::Examine => {
            let data = services.data.as_ref().map(|data| format!(" --data {}", data.display()));
            let (room, here) = (&services.room, LOCAL.trim_end());
            format!(
                "see whether all is well: sudo beekeeper doctor {room} {here}{}",
                data.unwrap_or_default()
            )
        }
    }
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use setup::SetupStage;

    use super::*;

    fn services() -> ShopServices {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/hosting");
        let file = |name| PathBuf::from(folder).join(name);
        shop_services(&file("room.toml"), &file("guard.toml")).unwrap()
    }

    #[test]
    fn whoever_would_shut_the_shop_is_asked_about_that_and_told_the_truth_afterwards() {
        let because = "the guard does not answer at 127.0.0.1:8090: Connection refused".to_owned();
        let mut not_ready = NotReady {
            because,
            keeps_everybody_out: true,
            command: "sudo systemctl restart beekeeper-guard",
        };
        let plan = |not_ready: &NotReady| SetupPlan {
            stage: SetupStage::Guard,
            begins_to_guard: false,
            changes: Vec::new(),
            warnings: Vec::new(),
            next: AfterSetup::Mend(not_ready.clone()),
        };
        let services = services();
        let (told, question) = consequence(&plan(&not_ready), &services);
        assert_eq!(question, "Write these all the same?");
        assert_eq!(
            told,
            "the guard does not answer at 127.0.0.1:8090: Connection refused, so with these lines nobody gets into shop.example, \
             not even those who are in; first: sudo systemctl restart beekeeper-guard"
        );
        let after = next(&plan(&not_ready).next, &services, true);
        assert!(after.contains("so now nobody gets into shop.example, not even those who are in"), "{after}");
        let unwritten = next(&plan(&not_ready).next, &services, false);
        assert_eq!(unwritten, told, "a dry run has shut nothing");
        not_ready.keeps_everybody_out = false;
        let (told, _) = consequence(&plan(&not_ready), &services);
        assert!(told.contains("nobody new gets into shop.example; those who are in stay"), "{told}");
    }
}
