//! `beekeeper setup nginx`: puts a room and the guard of a shop into the nginx that is there.
//!
//! Each run reads everything, goes as far as it can, and says what comes next. So the guard comes last, when the room already
//! answers at https and nobody is sent to a page that does not open.

use std::io::ErrorKind;
use std::path::PathBuf;

use anyhow::{Context, Result};
use serde_json::json;

use crate::arguments::{LOCAL, SetUp, SetUpNginx, WhatToSetUp};
use crate::ask;
use crate::exit::{Exit, Failure};
use crate::nginx::crowd::lines_for_a_crowd;
use crate::nginx::kept::{self, FileChange, KeptFiles};
use crate::nginx::program::NginxProgram;
use crate::nginx::services::ShopServices;
use crate::nginx::shop::{ShopBlocks, ShopRefusal, http_block, names, servers, unguarded};
use crate::nginx::site::{SetupStage, SiteFacts, guard, guard_file, site, site_file};
use crate::nginx::tree::{FoundDirective, NginxTree};
use crate::printer::{self, Colours, note, say};

const AS_ROOT: &str = "nothing was changed; run it as root: sudo beekeeper setup nginx";

pub(crate) fn run(set_up: &SetUp, json: bool, yes: bool) -> Result<()> {
    let WhatToSetUp::Nginx(arguments) = &set_up.what;
    set_up_nginx(arguments, json, yes).map_err(|error| {
        let causes = error.chain().filter_map(|cause| cause.downcast_ref::<std::io::Error>());
        if causes.into_iter().any(|cause| cause.kind() == ErrorKind::PermissionDenied) {
            return Failure::new(Exit::Failed, format!("{error:#}")).advising(AS_ROOT).into();
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
    let services = ShopServices::read(&arguments.room_file, &arguments.guard_file)?;
    let plan = SetupPlan::of(arguments, &nginx, &services)?;
    show(&plan.changes, json)?;
    services.warnings.iter().chain(&plan.warnings).for_each(|warning| note(&format!("warning: {warning}")));
    if plan.changes.is_empty() {
        return plan.tell("there is nothing to change", false, json);
    }
    if arguments.dry_run {
        return plan.tell("nothing was written", false, json);
    }
    take_edits(&mut kept, &nginx)?;
    if !yes {
        ask::confirm(&plan.consequence(&services), "Write these?")?;
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
    plan.tell("nginx has read its new configuration", true, json)
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

/// The shop's owner may have edited its files since, and that stays.
fn take_edits(kept: &mut KeptFiles, nginx: &NginxProgram<'_>) -> Result<()> {
    let guard = guard_file(nginx.conf).display().to_string();
    kept.take_edits(|text| unguarded(text, &guard))
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
    take_edits(&mut kept, nginx)?;
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
            "Put these back?",
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
        let diff = kept::diff(path, before.as_deref(), after.as_deref());
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

/// What one run does.
struct SetupPlan {
    stage: SetupStage,
    begins_to_guard: bool,
    changes: Vec<FileChange>,
    warnings: Vec<String>,
    next: String,
}

impl SetupPlan {
    fn of(arguments: &SetUpNginx, nginx: &NginxProgram<'_>, services: &ShopServices) -> Result<Self> {
        let guard_file = guard_file(nginx.conf);
        let tree = NginxTree::read(nginx.conf, &guard_file)?;
        let planned = Self::in_tree(&tree, arguments, services, guard_file);
        planned.map_err(|error| match error.downcast::<ShopRefusal>() {
            Ok(refusal) => Failure::new(Exit::Failed, refusal.to_string()).advising(refusal.advice).into(),
            Err(error) => error,
        })
    }

    fn in_tree(
        tree: &NginxTree,
        arguments: &SetUpNginx,
        services: &ShopServices,
        guard_file: PathBuf,
    ) -> Result<Self> {
        let shop_file = arguments.shop_file.as_ref().map(std::fs::canonicalize).transpose();
        let shop_file = shop_file.context("could not find the file of --shop-file")?;
        let shop = ShopBlocks::find(tree, &services.shop_host, shop_file.as_deref())?;
        let http = http_block(tree)?;
        let site_file = site_file(tree, http)?;
        let is_other = |server: &FoundDirective<'_>| {
            names(tree, *server).any(|name| name == services.room_host)
                && server.file.path.file_name() != site_file.file_name()
        };
        if let Some(other) = servers(tree, http).into_iter().find(is_other) {
            return Err(ShopRefusal::new(
                format!("{other} already has the name of the room, {}", services.room_host),
                "remove that block, so that the one of this command answers; its certificate stays",
            )
            .into());
        }
        let certificate = arguments
            .certificate
            .clone()
            .unwrap_or_else(|| PathBuf::from("/etc/letsencrypt/live").join(&services.room_host));
        let certificate =
            std::path::absolute(certificate).context("could not find the folder of --certificate")?;
        let facts = SiteFacts {
            name: services.room_host.clone(),
            url: services.url.clone(),
            room_listens: services.room_listens,
            guard_listens: services.guard_listens,
            webroot: std::path::absolute(&arguments.webroot)
                .context("could not find the folder of --webroot")?,
            certificate,
        };
        let guard_path = guard_file.display().to_string();
        let is_guarded = shop.include(&guard_path);
        let has_certificate =
            ["fullchain.pem", "privkey.pem"].iter().all(|file| facts.certificate.join(file).exists());
        let not_ready = services.not_ready();
        let stage = match (is_guarded, has_certificate, &not_ready) {
            (true, _, _) | (false, true, None) => SetupStage::Guard,
            (false, true, Some(_)) => SetupStage::Https,
            (false, false, _) => SetupStage::Name,
        };
        let mut wanted = vec![(site_file, site(&facts, &shop, stage, &tree.beside_pid("beekeeper-guard"))?)];
        if stage == SetupStage::Guard {
            wanted.push((guard_file, guard(&shop)));
            let changed = shop.guarded(&guard_path)?;
            wanted.extend(changed.into_iter().map(|(server, text)| (server.file.path.clone(), text)));
        }
        let other_names = shop.other_names(&services.shop_host).into_iter().map(|name| {
            format!(
                "{name} is behind the guard with {}, and its visitors come back to that name: better let {name} lead there by a \
                 server block of its own with return 301",
                services.shop_host
            )
        });
        let mut warnings: Vec<_> = other_names.filter(|_| stage == SetupStage::Guard).collect();
        warnings.extend(lines_for_a_crowd(tree));
        let changes = wanted.into_iter().map(|(path, after)| {
            let before = kept::read(&path)?;
            Ok(FileChange { path, before, after: Some(after) })
        });
        let mut changes: Vec<_> = changes.collect::<Result<_>>()?;
        changes.retain(|change| change.before != change.after);
        let next = match stage {
            SetupStage::Name => format!(
                "get the certificate: sudo certbot certonly --webroot --webroot-path {} --domain {} --deploy-hook \"systemctl \
                 reload nginx\"; then run this again",
                facts.webroot.display(),
                facts.name
            ),
            SetupStage::Https => format!(
                "rehearse, and turn the room off: docs/one-machine.md. Then put the shop behind the guard: sudo systemctl enable --now \
                 beekeeper beekeeper-guard, and run this again. It waits for that, because {}",
                not_ready.unwrap_or_default()
            ),
            SetupStage::Guard if not_ready.is_some() => format!(
                "the shop has no new visitors now, because {}: sudo systemctl status beekeeper beekeeper-guard",
                not_ready.unwrap_or_default()
            ),
            SetupStage::Guard => {
                let data = services.data.as_ref().map(|data| format!(" --data {}", data.display()));
                format!(
                    "see whether all is well: sudo beekeeper doctor {} {}{}",
                    services.room,
                    LOCAL.trim_end(),
                    data.unwrap_or_default()
                )
            }
        };
        Ok(Self {
            stage,
            begins_to_guard: stage == SetupStage::Guard && !is_guarded,
            changes,
            warnings,
            next,
        })
    }

    fn consequence(&self, services: &ShopServices) -> String {
        if !self.begins_to_guard {
            return "nginx reads its configuration again, and no visitor notices".into();
        }
        format!("{} is behind the guard from then on, and {}", services.shop_host, services.room_says())
    }

    fn tell(&self, done: &str, is_written: bool, json: bool) -> Result<()> {
        let Self { stage, changes, next, .. } = self;
        if json {
            let changed: Vec<_> = changes.iter().map(|change| &change.path).collect();
            let object =
                json!({ "stage": stage.as_str(), "changed": changed, "written": is_written, "next": next });
            return Ok(say(&object.to_string())?);
        }
        Ok(say(&format!("{done}\nnext: {next}"))?)
    }
}
