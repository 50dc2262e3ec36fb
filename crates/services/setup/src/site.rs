//! What Beekeeper adds to nginx in files of its own: the room's server blocks, and the guard's lines for the shop's block.

use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::{Path, PathBuf};

use crate::glob;
use crate::identity::HandOver;
use crate::listen::Listen;
use crate::shop::ShopBlocks;
use crate::tree::FoundDirective;
use document::Refusal;

/// The last of a folder, so that the operator's own blocks stay the ones that answer unknown names.
const SITE: &str = "zz-beekeeper.conf";
const GUARD: &str = "beekeeper-guard.conf";

/// What the files depend on, besides the shop's block.
#[derive(Debug)]
pub(crate) struct SiteFacts {
    /// The room's own name, and its URL without a slash at the end.
    pub(crate) name: String,
    pub(crate) url: String,
    pub(crate) room_listens: SocketAddr,
    pub(crate) guard_listens: SocketAddr,
    pub(crate) webroot: PathBuf,
    pub(crate) certificate: PathBuf,
}

/// How far the setup can go. Each run goes as far as it can.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum SetupStage {
    /// The room's name answers at port 80, for its certificate.
    Name,
    /// The room has its certificate, and answers at https.
    Https,
    /// The shop is behind the guard.
    Guard,
}

impl SetupStage {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Name => "name",
            Self::Https => "https",
            Self::Guard => "guard",
        }
    }
}

/// The file of the guard's lines: beside the main file, where no pattern finds it.
pub(crate) fn guard_file(conf: &Path) -> PathBuf {
    conf.with_file_name(GUARD)
}

/// The file of the room's server blocks, in the last folder that the http block includes.
pub(crate) fn site_file(http: FoundDirective<'_>) -> Result<PathBuf, Refusal> {
    let tree = http.tree;
    let inside = http.directive.block.iter().flat_map(|block| &block.directives);
    let patterns: Vec<PathBuf> =
        inside.filter(|inner| inner.name() == "include").map(|inner| tree.absolute(inner.first())).collect();
    let fits = |pattern: &&PathBuf| {
        let name = pattern.file_name().map(|name| name.to_string_lossy()).unwrap_or_default();
        let folder = pattern.parent().unwrap_or(Path::new("/"));
        glob::is_pattern(&name) && glob::matches(&name, SITE) && folder.is_dir()
    };
    let folder = patterns.iter().rev().find(fits).and_then(|pattern| pattern.parent());
    folder.map(|folder| folder.join(SITE)).ok_or_else(|| {
        let conf = http.file.path.display();
        Refusal::new(
            format!("the http block in {conf} includes no folder for the file of the room"),
            format!("write into that block: include {}/*.conf;", tree.folder().join("conf.d").display()),
        )
    })
}

/// The folder of the certificate by which this text shows the room.
pub(crate) fn certificate_in(site: &str) -> Option<&Path> {
    let mut named = site.lines().filter_map(|line| line.trim().strip_prefix("ssl_certificate "));
    named.find_map(|file| file.strip_suffix("/fullchain.pem;").map(Path::new))
}

/// The room's server blocks.
pub(crate) fn site(
    facts: &SiteFacts,
    shop: &ShopBlocks<'_>,
    stage: SetupStage,
    cache: &Path,
) -> Result<String, Refusal> {
    let mut plain: Vec<_> = shop.listens.iter().filter(|listen| !listen.is_tls()).cloned().collect();
    if plain.is_empty() {
        plain = shop.listens.iter().filter_map(Listen::as_http).collect();
    }
    if plain.is_empty() {
        return Err(Refusal::new(
            "no server block of the shop listens at port 80 or 443, so it isn't clear where the room should",
            "add a server block at port 80 that leads to https, as visitors who type the shop's name need it too",
        ));
    }
    let mut text = include_str!("room.conf").to_owned();
    if stage >= SetupStage::Https {
        text.push_str(include_str!("room-https.conf"));
    }
    if stage >= SetupStage::Guard {
        text.push_str(include_str!("guard-upstream.conf"));
        if !shop.keeps_answers_by_own_rules() {
            text.push_str(include_str!("guard-cache.conf"));
        }
    }
    let home = match stage {
        SetupStage::Name => "503 \"This waiting room has no certificate yet.\\n\"".to_owned(),
        SetupStage::Https | SetupStage::Guard => format!("301 {}$request_uri", facts.url),
    };
    let mut tls = Listen::lines(&shop.listens, true);
    if shop.http2 {
        tls.push_str("\n    http2 on;");
    }
    let real_addresses = match shop.real_addresses() {
        none if none.is_empty() => none,
        lines => format!(
            "    # As in the shop's block: a load balancer or a CDN says whose request it is.\n{lines}"
        ),
    };
    Ok(filled(
        &text,
        &[
            ("@ROOM_LISTENS@", &reached(facts.room_listens)),
            ("@GUARD_LISTENS@", &reached(facts.guard_listens)),
            ("@PLAIN@", &Listen::lines(&plain, false)),
            ("@TLS@", &tls),
            ("@NAME@", &facts.name),
            ("@REAL_ADDRESSES@\n", &real_addresses),
            ("@WEBROOT@", &facts.webroot.display().to_string()),
            ("@HOME@", &home),
            ("@CERTIFICATE@", &facts.certificate.display().to_string()),
            ("@CACHE_FOLDER@", &cache.display().to_string()),
        ],
    ))
}

/// The lines that a server block includes to be behind the guard.
pub(crate) fn guard(shop: &ShopBlocks<'_>) -> String {
    const KEPT: &str = "    # A yes is kept for a second, under the cookie that it was given for.
    proxy_cache beekeeper_guard;
    open_file_cache max=10000 inactive=5s;
    proxy_cache_key \"$proxy_host $bk_session\";
    proxy_cache_bypass $bk_pass $bk_end;
    proxy_no_cache $bk_end;
    proxy_set_header X-Beekeeper-Cached-As $bk_session;";
    const ASKED: &str = "    # Your own rules for kept answers would hold for the guard's too, so it is asked about each request.
    proxy_cache off;";

    let inherited = shop.inherited();
    let inherited = if inherited.is_empty() {
        inherited
    } else {
        format!(
            "# Of your http block, because a server block with such a line of its own forgets them.\n{inherited}"
        )
    };
    let headers: String =
        shop.ways().into_iter().flat_map(HandOver::lines).flat_map(|(_, line)| [line, "\n".into()]).collect();
    let cache = if shop.keeps_answers_by_own_rules() { ASKED } else { KEPT };
    filled(
        include_str!("guard.conf"),
        &[("@INHERITED@\n", &*inherited), ("@HEADERS@\n", &*headers), ("@CACHE@", cache)],
    )
}

fn filled(template: &str, values: &[(&str, &str)]) -> String {
    values.iter().fold(template.to_owned(), |text, (name, value)| text.replace(name, value))
}

/// Where nginx reaches what listens there.
fn reached(listens: SocketAddr) -> String {
    let here = match listens {
        SocketAddr::V4(_) => Ipv4Addr::LOCALHOST.into(),
        SocketAddr::V6(_) => Ipv6Addr::LOCALHOST.into(),
    };
    let reached = if listens.ip().is_unspecified() { here } else { listens.ip() };
    SocketAddr::new(reached, listens.port()).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_listens_everywhere_is_reached_at_this_machines_own_address() {
        for (listens, expected) in [
            ("127.0.0.1:8080", "127.0.0.1:8080"),
            ("0.0.0.0:8080", "127.0.0.1:8080"),
            ("[::]:8080", "[::1]:8080"),
            ("10.0.0.7:8080", "10.0.0.7:8080"),
        ] {
            assert_eq!(reached(listens.parse().unwrap()), expected);
        }
    }
}
