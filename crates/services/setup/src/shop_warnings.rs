//! What a shop's nginx does that would go wrong with a room or a guard beside it. It may be meant, so it is told, and never changed.

use std::collections::BTreeSet;
use std::iter;

use crate::listen::Listen;
use crate::shop::ShopBlocks;
use crate::tree::FoundDirective;

/// What is told of a shop with this name once it is behind the guard.
pub(crate) fn of(shop: &ShopBlocks<'_>, name: &str) -> Vec<String> {
    let mut warnings = other_names(shop, name);
    warnings.extend(underscores(shop));
    warnings.extend(upgrades(shop));
    warnings.extend(plain_elsewhere(shop));
    warnings.extend(intercepted(shop));
    warnings
}

/// A balancer says every visitor's address by the PROXY protocol, and nothing here believes it. Whoever limits joins by address would
/// limit all of them together, so this is told before there is a guard too.
pub(crate) fn hidden_addresses(shop: &ShopBlocks<'_>) -> Option<String> {
    const TOLD: &str = "the shop's block listens with proxy_protocol, and nothing believes the address that it tells: every visitor \
        has the load balancer's. Write set_real_ip_from with the balancer's network, and real_ip_header proxy_protocol, into the shop's \
        block, and run this again";

    let is_hidden = shop.listens.iter().any(Listen::has_proxy_protocol)
        && shop.real_addresses().is_empty()
        && shop.http.own("set_real_ip_from").next().is_none();
    is_hidden.then(|| TOLD.to_owned())
}

/// A warning for each name of the shop besides this one: a session of the guard is for one name.
fn other_names(shop: &ShopBlocks<'_>, name: &str) -> Vec<String> {
    let names = shop.shown_by.iter().flat_map(|server| server.names());
    let others: BTreeSet<_> = names.filter(|found| found != name).collect();
    let told = others.into_iter().map(|other| {
        format!(
            "{other} is behind the guard with {name}, and its visitors come back to that name: better let {other} lead there by a \
             server block of its own with return 301. If your shop leads {name} to {other} instead, write {other} into shop in room.toml, \
             and restart the room"
        )
    });
    told.collect()
}

/// A program that reads headers as CGI does takes both spellings for the same header. nginx may go by the line of another server block
/// than the one that a request is for, so all of them count.
fn underscores(shop: &ShopBlocks<'_>) -> Option<String> {
    let blocks = iter::once(shop.http).chain(shop.http.servers());
    let place = blocks.flat_map(|block| block.own("underscores_in_headers")).find(|found| found.is_on())?;
    Some(format!(
        "{place} takes headers with underscores, so a browser's X_Beekeeper_Subject may pass for the guard's X-Beekeeper-Subject: \
         remove underscores_in_headers, or don't let the shop believe that header"
    ))
}

/// With another protocol than WebSocket's, nginx becomes a tunnel, and asks nobody about what is in it.
fn upgrades(shop: &ShopBlocks<'_>) -> Option<String> {
    let passes_any = |found: &FoundDirective<'_>| match found.directive.arguments() {
        [header, value] => {
            found.directive.name() == "proxy_set_header"
                && header.eq_ignore_ascii_case("upgrade")
                && ["$http_upgrade", "${http_upgrade}"].contains(&&*value.to_ascii_lowercase())
        }
        _ => false,
    };
    let place = shop.in_force().find(passes_any)?;
    Some(format!(
        "{place} passes on whichever Upgrade a browser names. By h2c it could ask the shop for anything, and nobody would ask the guard: \
         write `map $http_upgrade $websocket {{ ~*^websocket$ websocket; }}` into the http block, and there \
         `proxy_set_header Upgrade $websocket;`"
    ))
}

/// Blocks that show the shop without https, and not at the port at which browsers begin: a cache may ask them, or visitors.
fn plain_elsewhere(shop: &ShopBlocks<'_>) -> Vec<String> {
    let told = shop.shown_by.iter().filter_map(|server| {
        let listens = server.listens();
        if listens.iter().any(|listen| listen.is_tls() || listen.port() == Some(80)) {
            return None;
        }
        let port = listens.first()?.port()?;
        Some(format!(
            "{server} shows the shop without https at port {port}, and is behind the guard too. If a cache or a balancer of yours asks it, \
             those are sent to the room as well: let it listen at 127.0.0.1:{port}, and run this again"
        ))
    });
    told.collect()
}

/// nginx replaces answers of the shop by error pages, and so those with the guard's status.
fn intercepted(shop: &ShopBlocks<'_>) -> Option<String> {
    let is_interception =
        |found: &FoundDirective<'_>| found.directive.name().ends_with("_intercept_errors") && found.is_on();
    let place = shop.in_force().find(is_interception)?;
    Some(format!(
        "{place} replaces the shop's own answers by error pages, from now on those with status 401 too, such as a refused login: take that \
         line out where the shop answers 401 by itself"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::Machine;

    const SHOP: &str = "server { listen 443 ssl; server_name shop.example; }";

    /// What is told of a shop with these files in `sites`, and these lines in the http block.
    fn told<T>(sites: &[(&str, &str)], http: &str, warning: impl FnOnce(&ShopBlocks<'_>) -> T) -> T {
        let tree = Machine::of(sites, http).tree();
        warning(&ShopBlocks::find(&tree, "shop.example", None).unwrap())
    }

    /// The file and line that a warning with these words names.
    fn place(warning: Option<String>, words: &str) -> Option<String> {
        let warning = warning?;
        let (path, _) = warning.split_once(words).unwrap();
        path.rsplit('/').next().map(str::to_owned)
    }

    #[test]
    fn a_shop_whose_visitors_all_have_the_balancers_address_is_told() {
        let is_told = |lines: &str, http: &str| {
            let shop =
                format!("server {{ listen 443 ssl proxy_protocol; server_name shop.example; {lines} }}");
            told(&[("shop", &shop)], http, hidden_addresses).is_some()
        };
        let lines = "set_real_ip_from 10.0.0.0/16; real_ip_header proxy_protocol;";
        assert!(!is_told(lines, ""));
        assert!(!is_told("", lines), "every block has them");
        assert!(is_told("", ""));
    }

    #[test]
    fn underscores_in_headers_count_in_every_server_block() {
        let taken_at = |lines: &str, http: &str| {
            let blog = format!("server {{ listen 443 ssl; server_name blog.example; {lines} }}");
            let warning = told(&[("blog", &blog), ("shop", SHOP)], http, underscores);
            place(warning, " takes headers with underscores, so a browser's")
        };
        assert_eq!(taken_at("underscores_in_headers on;", "").as_deref(), Some("blog:1"));
        assert_eq!(taken_at("", "underscores_in_headers on;").as_deref(), Some("nginx.conf:2"));
        assert_eq!(taken_at("", "underscores_in_headers off;"), None);
    }

    #[test]
    fn a_shop_that_takes_any_upgrade_is_told_that_it_can_be_reached_past_the_guard() {
        let blog =
            "server { listen 443 ssl; server_name blog.example; proxy_set_header Upgrade $http_upgrade; }";
        let passed_at = |location: &str, http: &str| {
            let shop = format!(
                "server {{ listen 443 ssl; server_name shop.example;
                 location / {{ location /chat {{ {location} }} }} }}"
            );
            let warning = told(&[("blog", blog), ("shop", &shop)], http, upgrades);
            place(warning, " passes on whichever Upgrade a browser names.")
        };
        for any in [
            "proxy_set_header Upgrade $http_upgrade;",
            "proxy_set_header UPGRADE \"$http_upgrade\";",
            "proxy_set_header upgrade ${HTTP_UPGRADE};",
        ] {
            assert_eq!(passed_at(any, "").as_deref(), Some("shop:2"), "{any}");
            assert_eq!(passed_at("", any).as_deref(), Some("nginx.conf:2"), "{any}");
        }
        for only in ["", "proxy_set_header Upgrade $websocket;", "proxy_set_header Connection $http_upgrade;"]
        {
            assert_eq!(passed_at(only, ""), None, "{only}");
        }
    }

    #[test]
    fn a_block_without_https_is_told_of_where_browsers_do_not_begin() {
        let warned = |port: u16| {
            let plain = format!("server {{ listen {port}; server_name shop.example; root /shop; }}");
            told(&[("plain", &plain), ("shop", SHOP)], "", plain_elsewhere)
        };
        assert_eq!(warned(80), [""; 0]);
        let warnings = warned(8080);
        let [warning] = &*warnings else { panic!("{warnings:?}") };
        assert!(warning.contains("/plain:1 shows the shop without https at port 8080, and is"), "{warning}");
    }
}
