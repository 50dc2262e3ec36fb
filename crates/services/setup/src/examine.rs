//! What the doctor of a room finds in the nginx on its machine.

use std::path::Path;

use anyhow::Result;
use doctor::{DoctorCheck, GuardHere};
use waitroom::Room;

use crate::crowd::lines_for_a_crowd;
use crate::services::ShopServices;
use crate::shop::ShopBlocks;
use crate::site::guard_file;
use crate::tree::NginxTree;

const NGINX: &str = "nginx";

/// Whether this nginx bears a crowd. Nothing if only this machine can open the room, without a web server.
pub fn crowd(conf: &Path, room: &Room) -> Vec<DoctorCheck> {
    if room.url.is_on_this_machine() {
        return Vec::new();
    }
    match missing(conf, room) {
        Ok(None) => {
            let host = room.url.as_url().host_str().unwrap_or_default();
            let why = if conf.exists() {
                format!("has no server block for {host}")
            } else {
                "doesn't exist".into()
            };
            let text =
                format!("{} {why}, so it isn't known whether its web server bears a crowd", conf.display());
            vec![DoctorCheck::not_checked(NGINX, text)]
        }
        Ok(Some(missing)) if missing.is_empty() => {
            vec![DoctorCheck::ok(NGINX, "it may open as many connections and files as a crowd needs")]
        }
        Ok(Some(missing)) => {
            let advice = "write it there, then: sudo nginx -t && sudo systemctl reload nginx";
            missing.into_iter().map(|missing| DoctorCheck::warning(NGINX, missing, advice)).collect()
        }
        Err(error) => vec![DoctorCheck::not_checked(NGINX, format!("{error:#}"))],
    }
}

fn missing(conf: &Path, room: &Room) -> Result<Option<Vec<String>>> {
    if !conf.exists() {
        return Ok(None);
    }
    let tree = NginxTree::read(conf, &guard_file(conf))?;
    let host = room.url.as_url().host_str().unwrap_or_default();
    let is_there = tree.http_block()?.servers().any(|server| server.has_name(host));
    Ok(is_there.then(|| lines_for_a_crowd(&tree)))
}

/// The guard of these services, if they are this room's.
pub fn guard(conf: &Path, services: &ShopServices, room: &Room) -> Option<GuardHere> {
    (services.room == room.settings.room).then(|| GuardHere {
        is_asked: asks_guard(conf, services).unwrap_or_default(),
        silent: services.guard_not_ready().map(|not_ready| not_ready.because),
    })
}

/// Whatever cannot be read tells nothing.
fn asks_guard(conf: &Path, services: &ShopServices) -> Option<bool> {
    let lines = guard_file(conf);
    let tree = NginxTree::read(conf, &lines).ok()?;
    let shop = ShopBlocks::find(&tree, &services.shop_host, None).ok()?;
    Some(shop.include(&lines.display().to_string()))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use doctor::CheckResult;
    use waitroom::{Settings, fixture};

    use super::*;
    use crate::fixture::services;

    fn room() -> Room {
        let settings = Settings { room: "spring-sale".parse().unwrap(), ..fixture::settings(300) };
        Room { settings, url: "https://wait.example".parse().unwrap(), ..fixture::room(300) }
    }

    #[test]
    fn an_nginx_that_bears_no_crowd_is_warned_of() {
        let folder = tempfile::tempdir().unwrap();
        let conf = folder.path().join("nginx.conf");
        let unknown = |said: &str| {
            let checks = crowd(&conf, &room());
            let [check] = &*checks else { panic!("{checks:?}") };
            assert!(check.result == CheckResult::NotChecked && check.found.contains(said), "{check:?}");
        };
        unknown("nginx.conf doesn't exist, so");
        let here = Room { url: "http://localhost:8080".parse().unwrap(), ..room() };
        assert!(crowd(&conf, &here).is_empty(), "it needs no web server");
        let found = |text: &str| {
            fs::write(&conf, text).unwrap();
            crowd(&conf, &room()).into_iter().map(|check| (check.result, check.found)).collect::<Vec<_>>()
        };
        let other = "events { worker_connections 768; } http { server { server_name blog.example; } }";
        fs::write(&conf, other).unwrap();
        unknown("nginx.conf has no server block for wait.example, so");
        let small = found(&other.replace("blog", "wait"));
        assert_eq!(small.len(), 2);
        assert!(small.iter().all(|(result, _)| *result == CheckResult::Warning), "{small:?}");
        assert!(small[0].1.contains("worker_connections 20000;"), "{small:?}");
        let large = "worker_rlimit_nofile 65536; events { worker_connections 20000; } http { server { server_name wait.example; } }";
        assert_eq!(found(large)[0].0, CheckResult::Ok);
        let (result, why) = &found("http {")[0];
        assert!(
            *result == CheckResult::NotChecked && why.ends_with("nginx.conf:1: this block is never closed"),
            "{why}"
        );
    }

    #[test]
    fn a_guard_that_nginx_asks_and_that_does_not_answer_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let conf = folder.path().join("nginx.conf");
        let port = emulators::free_port().unwrap();
        let listens = |port| ([127, 0, 0, 1], port).into();
        let services = services(listens(8080), listens(port));
        let silent = |inside: &str| {
            let server = format!("server {{ {inside} listen 443 ssl; server_name shop.example; }}");
            fs::write(&conf, format!("events {{}} http {{ {server} }}")).unwrap();
            guard(&conf, &services, &room()).unwrap()
        };
        assert!(!silent("").is_asked);
        let include = format!("include {}/beekeeper-guard.conf;", folder.path().display());
        let GuardHere { is_asked, silent } = silent(&include);
        let told = silent.unwrap();
        assert!(
            is_asked && told.starts_with(&format!("the guard does not answer at 127.0.0.1:{port}: ")),
            "{told}"
        );
    }
}
