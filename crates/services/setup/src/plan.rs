//! What one run does. Each goes as far as it can, and says what comes next.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use crate::crowd::lines_for_a_crowd;
use crate::kept::{self, FileChange, KeptFiles};
use crate::services::{NotReady, ShopServices};
use crate::shop::{ShopBlocks, unguarded};
use crate::shop_warnings;
use crate::site::{SetupStage, SiteFacts, certificate_in, guard, guard_file, site, site_file};
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
    /// Whether nginx has to open the port of http for it, which no site of this machine has there yet.
    pub opens_http: bool,
    pub warnings: Vec<String>,
    pub next: AfterSetup,
}

/// What a person does after the run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AfterSetup {
    /// Gets the certificate of this name.
    GetCertificate { name: String, webroot: PathBuf },
    /// Starts the room, which does not answer at its name.
    StartRoom(NotReady),
    /// Rehearses, and starts the guard, which is kept from its place.
    StartGuard(NotReady),
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
        let http = tree.http_block()?;
        let site_file = site_file(http)?;
        refuse_deaf_ports(services, &shop)?;
        refuse_taken_name(http, &services.room_host, &site_file)?;
        let present = kept::read(&site_file)?;
        let certificate = present.as_deref().and_then(certificate_in);
        let facts = facts(add, services, certificate)?;
        let guard_path = guard_file.display().to_string();
        let is_guarded = shop.include(&guard_path);
        let has_certificate =
            ["fullchain.pem", "privkey.pem"].iter().all(|file| facts.certificate.join(file).exists());
        let not_ready = services.not_ready();
        let (stage, next) = match (is_guarded, has_certificate, not_ready) {
            (true, _, Some(not_ready)) => (SetupStage::Guard, AfterSetup::Mend(not_ready)),
            (true, _, None) | (false, true, None) => (SetupStage::Guard, AfterSetup::Examine),
            (false, true, Some(not_ready)) => {
                let room = services.room_not_ready().map(AfterSetup::StartRoom);
                (SetupStage::Https, room.unwrap_or(AfterSetup::StartGuard(not_ready)))
            }
            (false, false, _) if certificate.is_some() => {
                return Err(gone_certificate(&facts, &site_file).into());
            }
            (false, false, _) => {
                let (name, webroot) = (facts.name.clone(), facts.webroot.clone());
                (SetupStage::Name, AfterSetup::GetCertificate { name, webroot })
            }
        };
        let mut wanted = vec![(site_file, site(&facts, &shop, stage, &tree.beside_pid("beekeeper-guard"))?)];
        if stage == SetupStage::Guard {
            wanted.push((guard_file, guard(&shop)));
            let changed = shop.guarded(&guard_path)?;
            wanted.extend(changed.into_iter().map(|(server, text)| (server.file.path.clone(), text)));
        }
        let mut warnings = Vec::new();
        // A unit that restarts forever is silent, and at this stage nothing else meets the room.
        if stage == SetupStage::Name
            && let Some(NotReady { because, .. }) = services.room_not_ready()
        {
            warnings.push(format!("{because}; see why: sudo journalctl --unit beekeeper --lines 10"));
        }
        if stage == SetupStage::Guard {
            warnings.extend(shop_warnings::of(&shop, &services.shop_host));
        }
        warnings.extend(shop_warnings::hidden_addresses(&shop));
        warnings.extend(lines_for_a_crowd(tree));
        let begins_to_guard = stage == SetupStage::Guard && !is_guarded;
        Ok(Self {
            stage,
            begins_to_guard,
            changes: changes(wanted)?,
            opens_http: shop.opens_http(),
            warnings,
            next,
        })
    }
}

/// The shop's owner may have edited its files since, and that stays.
pub fn take_edits(kept: &mut KeptFiles, conf: &Path) -> Result<()> {
    let guard = guard_file(conf).display().to_string();
    kept.take_edits(|text| unguarded(text, &guard))
}

/// Visitors are sent to these URLs, so nginx has to listen there. Of the usual port this isn't asked: another machine may pass it
/// on.
fn refuse_deaf_ports(services: &ShopServices, shop: &ShopBlocks<'_>) -> Result<(), Refusal> {
    let named = ["shop", "url"].into_iter().zip(services.ports);
    let deaf = named
        .filter_map(|(key, port)| Some((key, port?)))
        .find(|(_, port)| !shop.listens.iter().any(|listen| listen.is_tls() && listen.port() == Some(*port)));
    deaf.map_or(Ok(()), |(key, port)| {
        let host = &services.shop_host;
        Err(Refusal::new(
            format!("{key} in room.toml names port {port}, and this nginx doesn't show {host} by https at that port"),
            "correct it, in guard.toml too if it's the url; start both services again, and then run this again",
        ))
    })
}

/// Visitors wait at a room that nginx shows by https: the setup doesn't go back to where it has none.
fn gone_certificate(facts: &SiteFacts, site_file: &Path) -> Refusal {
    Refusal::new(
        format!(
            "{} shows the room by https, and there is no certificate in {}",
            site_file.display(),
            facts.certificate.display()
        ),
        "name its folder with --certificate, where fullchain.pem and privkey.pem are",
    )
}

fn refuse_taken_name(http: FoundDirective<'_>, name: &str, site_file: &Path) -> Result<(), Refusal> {
    let is_other = |server: &FoundDirective<'_>| {
        server.has_name(name) && server.file.path.file_name() != site_file.file_name()
    };
    let other = http.servers().find(is_other);
    other.map_or(Ok(()), |other| {
        Err(Refusal::new(
            format!("{other} already has the name of the room, {name}"),
            "remove that block, so that the one of this command answers; its certificate stays",
        ))
    })
}

/// `present` is the folder of the certificate by which nginx shows the room already.
fn facts(add: WhatToAdd<'_>, services: &ShopServices, present: Option<&Path>) -> Result<SiteFacts> {
    let certbots = || Path::new("/etc/letsencrypt/live").join(&services.room_host);
    let certificate = add.certificate.or(present).map_or_else(certbots, Path::to_path_buf);
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
    use crate::fixture::services;

    /// Answers every request with this.
    fn answering(head: &'static str) -> SocketAddr {
        answering_with(head, "")
    }

    fn answering_with(head: &'static str, body: &'static str) -> SocketAddr {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        thread::spawn(move || {
            for stream in listener.incoming() {
                let mut stream = stream.unwrap();
                let lines = BufReader::new(&stream).lines().map_while(Result::ok);
                lines.take_while(|line| !line.is_empty()).for_each(drop);
                let length = body.len();
                write!(
                    stream,
                    "HTTP/1.1 {head}\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{body}"
                )
                .unwrap();
            }
        });
        address
    }

    fn nobody() -> SocketAddr {
        SocketAddr::from(([127, 0, 0, 1], emulators::free_port().unwrap()))
    }

    #[test]
    fn nobody_is_sent_to_a_port_where_nginx_does_not_listen() {
        let folder = tempfile::tempdir().unwrap();
        let conf = folder.path().join("nginx.conf");
        fs::create_dir(folder.path().join("conf.d")).unwrap();
        let shop = "server { listen 80; listen 8443 ssl; server_name shop.example; }";
        fs::write(&conf, format!("events {{}} http {{ include conf.d/*.conf; {shop} }}")).unwrap();
        let refused = |ports| {
            let services = ShopServices { ports, ..services(nobody(), nobody()) };
            let (webroot, certificate) = (folder.path(), Some(folder.path()));
            let add = WhatToAdd { conf: &conf, shop_file: None, webroot, certificate };
            SetupPlan::of(add, &services).err().map(|refusal| refusal.to_string())
        };
        assert_eq!(refused([None, None]), None, "another machine may pass the usual port on");
        assert_eq!(refused([Some(8443), Some(8443)]), None);
        let told = "names port 80, and this nginx doesn't show shop.example by https at that port";
        assert_eq!(refused([Some(8443), Some(80)]).unwrap(), format!("url in room.toml {told}"));
        assert_eq!(refused([Some(80), None]).unwrap(), format!("shop in room.toml {told}"));
    }

    #[test]
    fn the_room_is_started_before_anything_is_rehearsed() {
        let folder = tempfile::tempdir().unwrap();
        let conf = folder.path().join("nginx.conf");
        fs::create_dir(folder.path().join("conf.d")).unwrap();
        for file in ["fullchain.pem", "privkey.pem"] {
            fs::write(folder.path().join(file), "").unwrap();
        }
        let shop = "server { listen 443 ssl; server_name shop.example; }";
        fs::write(&conf, format!("events {{}} http {{ include conf.d/*.conf; {shop} }}")).unwrap();
        let next = |room| {
            let (webroot, certificate) = (folder.path(), Some(folder.path()));
            let add = WhatToAdd { conf: &conf, shop_file: None, webroot, certificate };
            SetupPlan::of(add, &services(room, nobody())).unwrap().next
        };
        let AfterSetup::StartRoom(first) = next(nobody()) else { panic!("{:?}", next(nobody())) };
        assert!(
            first.because.starts_with("the room does not answer at ") && first.command.ends_with("beekeeper")
        );
        let AfterSetup::StartGuard(then) = next(answering("200 OK")) else { panic!() };
        assert!(then.because.starts_with("the guard does not answer at "), "{then}");
    }

    #[test]
    fn a_shop_with_two_names_is_told_that_only_one_can_be_guarded() {
        let folder = tempfile::tempdir().unwrap();
        let conf = folder.path().join("nginx.conf");
        let guarded = format!("include {};", guard_file(&conf).display());
        let names = "server_name shop.example www.shop.example;";
        fs::create_dir(folder.path().join("conf.d")).unwrap();
        let shop = format!("server {{ {guarded} listen 443 ssl; {names} }}");
        fs::write(&conf, format!("events {{}} http {{ include conf.d/*.conf; {shop} }}")).unwrap();
        let (webroot, certificate) = (folder.path(), Some(folder.path()));
        let add = WhatToAdd { conf: &conf, shop_file: None, webroot, certificate };
        let warnings = SetupPlan::of(add, &services(nobody(), nobody())).unwrap().warnings;
        let told = "let www.shop.example lead there by a server block of its own with return 301. If your shop leads shop.example to \
                    www.shop.example instead, write www.shop.example into shop in room.toml, and restart the room";
        assert!(warnings.iter().any(|warning| warning.ends_with(told)), "{warnings:?}");
    }

    #[test]
    fn who_waits_is_told_before_the_setup_is_taken_out() {
        let told = |body| services(answering_with("200 OK", body), nobody()).without_setup();
        let taken = "this takes the guard off shop.example, and wait.example out of nginx";
        assert_eq!(told("{\"allow\":true}"), taken, "a room that is off says nothing of a line");
        assert_eq!(told("{\"waiting\":0}"), taken);
        let waiting = told("{\"waiting\":12}");
        assert_eq!(waiting, format!("{taken}: 12 visitors wait there, and can't come in any more"));
    }

    /// Otherwise every waiting page would meet the certificate of another site.
    #[test]
    fn a_room_keeps_its_certificate_if_a_later_run_does_not_name_it() {
        let folder = tempfile::tempdir().unwrap();
        let (conf, certificate) = (folder.path().join("nginx.conf"), folder.path().join("wait.example-0001"));
        fs::create_dir(folder.path().join("conf.d")).unwrap();
        fs::create_dir(&certificate).unwrap();
        for file in ["fullchain.pem", "privkey.pem"] {
            fs::write(certificate.join(file), "").unwrap();
        }
        let shop = "server { listen 443 ssl; server_name shop.example; }";
        fs::write(&conf, format!("events {{}} http {{ include conf.d/*.conf; {shop} }}")).unwrap();
        let services = services(nobody(), nobody());
        let plan = |certificate| {
            let add = WhatToAdd { conf: &conf, shop_file: None, webroot: folder.path(), certificate };
            SetupPlan::of(add, &services)
        };
        let first = plan(Some(&*certificate)).unwrap();
        assert_eq!(first.stage, SetupStage::Https);
        let [FileChange { path, after, .. }] = &first.changes[..] else { panic!("{:?}", first.changes) };
        fs::write(path, after.as_deref().unwrap()).unwrap();
        let again = plan(None).unwrap();
        assert!(again.stage == SetupStage::Https && again.changes.is_empty());
        fs::remove_file(certificate.join("privkey.pem")).unwrap();
        let told = plan(None).unwrap_err().to_string();
        assert!(told.contains("shows the room by https, and there is no certificate in "), "{told}");
    }

    #[test]
    fn a_room_that_does_not_run_is_told_of_in_the_first_step() {
        let folder = tempfile::tempdir().unwrap();
        let conf = folder.path().join("nginx.conf");
        fs::create_dir(folder.path().join("conf.d")).unwrap();
        let shop = "server { listen 443 ssl; server_name shop.example; }";
        fs::write(&conf, format!("events {{}} http {{ include conf.d/*.conf; {shop} }}")).unwrap();
        let first = |room| {
            let (webroot, certificate) = (folder.path(), Some(folder.path()));
            let add = WhatToAdd { conf: &conf, shop_file: None, webroot, certificate };
            let plan = SetupPlan::of(add, &services(room, nobody())).unwrap();
            assert_eq!(plan.stage, SetupStage::Name);
            plan.warnings.into_iter().filter(|warning| warning.contains("the room")).collect::<Vec<_>>()
        };
        let told = first(nobody());
        let [warning] = &*told else { panic!("{told:?}") };
        assert!(
            warning.starts_with("the room does not answer at ")
                && warning.ends_with("; see why: sudo journalctl --unit beekeeper --lines 10"),
            "{warning}"
        );
        assert_eq!(first(answering("200 OK")), [""; 0]);
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
            let services = services(room_listens, guard_listens);
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
        let other =
            answering("401 Unauthorized\r\nx-beekeeper-location: https://wait.example:8443/beekeeper");
        let (everybody, command, because) = mend(room, other);
        assert!(everybody && command.ends_with("restart beekeeper-guard"), "{because}");
        assert_eq!(
            because,
            format!(
                "the guard at {other} is still for https://wait.example:8443, and not for https://wait.example"
            )
        );
        let (everybody, command, because) = mend(answering("503 Service Unavailable"), guard);
        assert!(!everybody && command.contains("journalctl"), "{because}");
        let (everybody, command, because) = mend(nobody(), guard);
        assert!(
            !everybody && command.ends_with("restart beekeeper"),
            "whoever has a session stays in: {because}"
        );
        assert!(because.starts_with("the room does not answer at 127.0.0.1:"), "{because}");
    }
}
