//! What one run does. Each goes as far as it can, and says what comes next.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use crate::crowd::lines_for_a_crowd;
use crate::kept::{self, FileChange, KeptFiles};
use crate::services::{NotReady, ShopServices};
use crate::shop::{ShopBlocks, http_block, names, servers, unguarded};
use crate::site::{SetupStage, SiteFacts, guard, guard_file, site, site_file};
use crate::tree::{FoundDirective, NginxTree};
use document::Refusal;

/// What is to be in nginx, besides what the services say.
#[derive(Clone, Copy, Debug)]
pub struct WhatToAdd<'a> {
    /// nginx's main file.
    pub conf: &'a Path,
    /// The file of the shop's block, if it isn't clear.
    pub shop_file: Option<&'a Path>,
    /// Where the issuer of the certificate finds its challenge.
    pub webroot: &'a Path,
    /// The folder of the room's certificate, if it isn't certbot's.
    pub certificate: Option<&'a Path>,
}

/// What one run does.
#[derive(Debug)]
pub struct SetupPlan {
    pub stage: SetupStage,
    /// Whether the shop is behind the guard from this run on.
    pub begins_to_guard: bool,
    pub changes: Vec<FileChange>,
    pub warnings: Vec<String>,
    pub next: AfterSetup,
}

/// What a person does after the run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AfterSetup {
    /// Gets the certificate of this name.
    GetCertificate { name: String, webroot: PathBuf },
    /// Starts what keeps the guard from its place.
    Start { because: String },
    /// Mends what keeps visitors out of the shop.
    Mend(NotReady),
    /// Asks the doctor.
    Examine,
}

impl SetupPlan {
    pub fn of(add: WhatToAdd<'_>, services: &ShopServices) -> Result<Self> {
        let guard_file = guard_file(add.conf);
        let tree = &NginxTree::read(add.conf, &guard_file)?;
        let canonical = |file: &Path| {
            std::fs::canonicalize(file).with_context(|| format!("could not find {}", file.display()))
        };
        let shop_file = add.shop_file.map(canonical).transpose()?;
        let shop = ShopBlocks::find(tree, &services.shop_host, shop_file.as_deref())?;
        let http = http_block(tree)?;
        let site_file = site_file(tree, http)?;
        refuse_taken_name(tree, http, &services.room_host, &site_file)?;
        let facts = facts(add, services)?;
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
        let mut warnings =
            if stage == SetupStage::Guard { other_names(&shop, &services.shop_host) } else { Vec::new() };
        warnings.extend(lines_for_a_crowd(tree));
        let next = match (stage, not_ready) {
            (SetupStage::Name, _) => AfterSetup::GetCertificate { name: facts.name, webroot: facts.webroot },
            (SetupStage::Https, not_ready) => {
                AfterSetup::Start { because: not_ready.map(|it| it.because).unwrap_or_default() }
            }
            (SetupStage::Guard, Some(not_ready)) => AfterSetup::Mend(not_ready),
            (SetupStage::Guard, None) => AfterSetup::Examine,
        };
        let begins_to_guard = stage == SetupStage::Guard && !is_guarded;
        Ok(Self { stage, begins_to_guard, changes: changes(wanted)?, warnings, next })
    }
}

/// The shop's owner may have edited its files since, and that stays.
pub fn take_edits(kept: &mut KeptFiles, conf: &Path) -> Result<()> {
    let guard = guard_file(conf).display().to_string();
    kept.take_edits(|text| unguarded(text, &guard))
}

fn refuse_taken_name(
    tree: &NginxTree,
    http: FoundDirective<'_>,
    name: &str,
    site_file: &Path,
) -> Result<(), Refusal> {
    let is_other = |server: &FoundDirective<'_>| {
        names(tree, *server).any(|found| found == name)
            && server.file.path.file_name() != site_file.file_name()
    };
    let other = servers(tree, http).into_iter().find(is_other);
    other.map_or(Ok(()), |other| {
        Err(Refusal::new(
            format!("{other} already has the name of the room, {name}"),
            "remove that block, so that the one of this command answers; its certificate stays",
        ))
    })
}

fn facts(add: WhatToAdd<'_>, services: &ShopServices) -> Result<SiteFacts> {
    let certbots = || Path::new("/etc/letsencrypt/live").join(&services.room_host);
    let certificate = add.certificate.map_or_else(certbots, Path::to_path_buf);
    Ok(SiteFacts {
        name: services.room_host.clone(),
        url: services.url.clone(),
        room_listens: services.room_listens,
        guard_listens: services.guard_listens,
        webroot: std::path::absolute(add.webroot).context("could not find the folder of the webroot")?,
        certificate: std::path::absolute(certificate)
            .context("could not find the folder of the certificate")?,
    })
}

/// A warning for each name of the shop besides this one: a session of the guard is for one name.
fn other_names(shop: &ShopBlocks<'_>, name: &str) -> Vec<String> {
    let others = shop.other_names(name).into_iter().map(|other| {
        format!(
            "{other} is behind the guard with {name}, and its visitors come back to that name: better let {other} lead there by a \
             server block of its own with return 301"
        )
    });
    others.collect()
}

fn changes(wanted: Vec<(PathBuf, String)>) -> Result<Vec<FileChange>> {
    let mut changes = Vec::new();
    for (path, after) in wanted {
        let (before, after) = (kept::read(&path)?, Some(after));
        if before != after {
            changes.push(FileChange { path, before, after });
        }
    }
    Ok(changes)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::io::{BufRead, BufReader, Write};
    use std::net::{SocketAddr, TcpListener};
    use std::thread;

    use super::*;

    /// Answers every request with this.
    fn answering(head: &'static str) -> SocketAddr {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        thread::spawn(move || {
            for stream in listener.incoming() {
                let mut stream = stream.unwrap();
                let lines = BufReader::new(&stream).lines().map_while(Result::ok);
                lines.take_while(|line| !line.is_empty()).for_each(drop);
                write!(stream, "HTTP/1.1 {head}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n").unwrap();
            }
        });
        address
    }

    fn nobody() -> SocketAddr {
        SocketAddr::from(([127, 0, 0, 1], emulators::free_port().unwrap()))
    }

    #[test]
    fn a_guarded_shop_is_told_whom_the_services_would_keep_out() {
        let folder = tempfile::tempdir().unwrap();
        let conf = folder.path().join("nginx.conf");
        let guarded = format!("include {};", guard_file(&conf).display());
        let shop = format!("server {{ {guarded} listen 443 ssl; server_name shop.example; }}");
        fs::create_dir(folder.path().join("conf.d")).unwrap();
        fs::write(&conf, format!("events {{}} http {{ include conf.d/*.conf; {shop} }}")).unwrap();
        let next = |room_listens, guard_listens| {
            let services = ShopServices {
                room: "spring-sale".parse().unwrap(),
                shop_host: "shop.example".into(),
                room_host: "wait.example".into(),
                url: "https://wait.example".into(),
                room_listens,
                guard_listens,
                guard_monitor: None,
                data: None,
                warnings: Vec::new(),
            };
            let (webroot, certificate) = (folder.path(), Some(folder.path()));
            let add = WhatToAdd { conf: &conf, shop_file: None, webroot, certificate };
            SetupPlan::of(add, &services).unwrap().next
        };
        let mend = |room, guard| match next(room, guard) {
            AfterSetup::Mend(not_ready) => {
                (not_ready.keeps_everybody_out, not_ready.command, not_ready.because)
            }
            other => panic!("{other:?}"),
        };
        let guard = answering("401 Unauthorized\r\nx-beekeeper-location: https://wait.example/beekeeper");
        let room = answering("200 OK");
        assert_eq!(next(room, guard), AfterSetup::Examine);
        let (everybody, command, because) = mend(nobody(), nobody());
        assert!(everybody && command.ends_with("restart beekeeper-guard"), "{because}");
        assert!(because.starts_with("the guard does not answer at 127.0.0.1:"), "{because}");
        let (everybody, command, because) = mend(room, answering("404 Not Found"));
        assert!(
            everybody && command == "sudo ss -ltnp" && because.contains("is not the guard of"),
            "another program has the port: {because}"
        );
        let (everybody, command, because) = mend(answering("503 Service Unavailable"), guard);
        assert!(!everybody && command.contains("status beekeeper"), "{because}");
        let (everybody, command, because) = mend(nobody(), guard);
        assert!(
            !everybody && command.ends_with("restart beekeeper"),
            "whoever has a session stays in: {because}"
        );
        assert!(because.starts_with("the room does not answer at 127.0.0.1:"), "{because}");
    }
}
