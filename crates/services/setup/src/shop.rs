//! The server blocks of the shop: which of them show it, and what each needs to be behind the guard.

use std::path::Path;

use crate::identity::{HandOver, WAYS};
use crate::listen::Listen;
use crate::ours::{self, GUARDS_STATUS, OurLine, WhenMissing};
use crate::tree::{FoundDirective, NginxTree};
use document::Refusal;

/// A text to insert at an offset of a file.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Insertion {
    pub(crate) at: usize,
    pub(crate) text: String,
}

/// The server blocks with the shop's name.
#[derive(Debug)]
pub(crate) struct ShopBlocks<'t> {
    pub(crate) http: FoundDirective<'t>,
    /// Those that show the shop. The others lead to https.
    pub(crate) shown_by: Vec<FoundDirective<'t>>,
    /// Of all of them.
    pub(crate) listens: Vec<Listen>,
    /// `http2 on;`, which newer versions have in place of the word after `listen`.
    pub(crate) http2: bool,
}

impl<'t> ShopBlocks<'t> {
    /// The blocks of this name; in this file, if the operator named one.
    pub(crate) fn find(tree: &'t NginxTree, name: &str, in_file: Option<&Path>) -> Result<Self, Refusal> {
        let http = tree.http_block()?;
        let mut found: Vec<_> = http.servers().filter(|server| server.has_name(name)).collect();
        if found.is_empty() {
            return Err(unnamed(http, name));
        }
        found.retain(|server| in_file.is_none_or(|file| server.file.path == file));
        if found.is_empty() {
            let file = in_file.unwrap_or(Path::new("")).display();
            return Err(Refusal::new(
                format!("{file} has no server block for {name}"),
                "leave --shop-file out to see where they are",
            ));
        }
        // A shop behind a cache of this machine has its name once more, where the cache asks. That was behind the guard already.
        let is_inner = |server: &FoundDirective<'_>| {
            let is_inside = |listen: &Listen| !listen.is_tls() && listen.is_of_this_machine();
            !server.leads_away() && server.listens().iter().all(is_inside)
        };
        if !found.iter().all(is_inner) {
            found.retain(|server| !is_inner(server));
        }
        refuse_same_addresses(&found, name)?;
        let listens = found.iter().flat_map(|server| server.listens()).collect();
        let http2 = found.iter().any(|server| server.own("http2").any(FoundDirective::is_on));
        let shown_by: Vec<_> = found.iter().copied().filter(|server| !server.leads_away()).collect();
        let shows_by_https = shown_by.iter().any(|server| server.listens_by_https());
        if !shows_by_https {
            let places: Vec<_> = found.iter().map(ToString::to_string).collect();
            return Err(Refusal::new(
                format!(
                    "{name} is not shown by https ({}), and the guard's cookie needs it",
                    places.join(", ")
                ),
                format!("get a certificate for {name} first, then run this again"),
            ));
        }
        Ok(Self { http, shown_by, listens, http2 })
    }

    /// Whether every block that shows the shop includes this file already.
    pub(crate) fn include(&self, guard: &str) -> bool {
        self.shown_by.iter().all(|server| server.includes(guard))
    }

    /// The texts of the files that have to change, each behind its file, so that every block includes the guard's lines.
    pub(crate) fn guarded(&self, guard: &str) -> Result<Vec<(FoundDirective<'t>, String)>, Refusal> {
        let mut changed: Vec<(FoundDirective<'t>, Vec<Insertion>)> = Vec::new();
        for server in &self.shown_by {
            let insertions = self.insertions(*server, guard)?;
            match changed.iter_mut().find(|(other, _)| other.file.path == server.file.path) {
                Some((_, others)) => others.extend(insertions),
                None => changed.push((*server, insertions)),
            }
        }
        Ok(changed
            .into_iter()
            .map(|(server, insertions)| (server, inserted(&server.file.text, insertions)))
            .collect())
    }

    fn insertions(&self, server: FoundDirective<'t>, guard: &str) -> Result<Vec<Insertion>, Refusal> {
        for found in self.in_force_in(server) {
            refuse_what_the_guard_needs(found)?;
        }
        let mut insertions = Vec::new();
        if !server.includes(guard) {
            insertions.extend(insertion(server, &included(guard)));
        }
        let ours = ours::lines(self.ways());
        let mut told: Vec<(FoundDirective<'_>, &OurLine)> = Vec::new();
        for (parent, own) in server.everything_inside() {
            if parent.is(server) {
                continue;
            }
            for line in ours.iter().filter(|line| line.directive == own.directive.name()) {
                let is_told = told.iter().any(|(other, told)| other.is(parent) && *told == line);
                if is_told || parent.inside().into_iter().any(|inner| line.is(inner)) {
                    continue;
                }
                if parent.file.path == server.file.path {
                    insertions.extend(insertion(parent, &line.text));
                    told.push((parent, line));
                } else {
                    refuse_missing(line, own, &server.file.path)?;
                }
            }
        }
        Ok(insertions)
    }

    /// What holds for the shop: what is directly in the http block, and everything inside the blocks that show it.
    pub(crate) fn in_force(&self) -> impl Iterator<Item = FoundDirective<'t>> {
        self.shown_by.iter().flat_map(move |server| self.in_force_in(*server))
    }

    /// The same for one of those blocks.
    fn in_force_in(&self, server: FoundDirective<'t>) -> impl Iterator<Item = FoundDirective<'t>> {
        let inside = server.everything_inside().into_iter().map(|(_, inner)| inner);
        self.http.inside().into_iter().chain(inside)
    }

    /// How the shop's blocks hand requests on.
    pub(crate) fn ways(&self) -> Vec<&'static HandOver> {
        let everything = self.shown_by.iter().flat_map(|server| server.everything_inside());
        let used: Vec<_> = everything.map(|(_, inner)| inner.directive.name()).collect();
        WAYS.iter().filter(|way| used.contains(&way.to)).collect()
    }

    /// How the shop's blocks know visitors behind a load balancer or a CDN. The room's need the same.
    pub(crate) fn real_addresses(&self) -> String {
        const LINES: [&str; 3] = ["set_real_ip_from", "real_ip_header", "real_ip_recursive"];

        let inside = self.shown_by.iter().flat_map(|server| server.inside());
        let mut lines: Vec<String> = Vec::new();
        for found in inside.filter(|found| LINES.contains(&found.directive.name())) {
            let line = format!("    {}\n", found.text());
            if !lines.contains(&line) {
                lines.push(line);
            }
        }
        lines.concat()
    }

    /// Whether nginx has to open the port of http for the room: the shop answers at https only, and no other site has that port.
    pub(crate) fn opens_http(&self) -> bool {
        let mut all = self.http.servers().flat_map(FoundDirective::listens);
        Listen::lines(&self.listens, false).is_empty() && !all.any(|listen| listen.port() == Some(80))
    }

    /// The lines of the http block that a server without such a line of its own would forget, when it gets the guard's.
    pub(crate) fn inherited(&self) -> String {
        const HIDDEN: [&str; 3] = ["proxy_hide_header", "fastcgi_hide_header", "uwsgi_hide_header"];

        let ours = ours::lines(self.ways());
        let guards = |name: &str| HIDDEN.contains(&name) || ours.iter().any(|line| line.directive == name);
        let has_own = |name: &str| self.shown_by.iter().any(|server| server.own(name).next().is_some());
        let lines = self.http.inside().into_iter().filter(|found| {
            let name = found.directive.name();
            guards(name) && !has_own(name)
        });
        lines.flat_map(|line| [line.text(), "\n"]).collect()
    }

    /// Whether nginx keeps answers for this shop by rules of its own, which would hold for the guard's answers too.
    pub(crate) fn keeps_answers_by_own_rules(&self) -> bool {
        const RULES: [&str; 5] = [
            "proxy_cache_valid",
            "proxy_cache_use_stale",
            "proxy_ignore_headers",
            "proxy_cache_methods",
            "proxy_no_cache",
        ];

        let is_rule = |found: FoundDirective<'_>| RULES.contains(&found.directive.name());
        let in_server = self.shown_by.iter().flat_map(|server| server.inside());
        self.http.inside().into_iter().chain(in_server).any(is_rule)
    }
}

/// The line with which a server block is behind the guard.
fn included(guard: &str) -> String {
    format!("include {guard};")
}

/// A block in a file that other sites include too is not changed. Whether it can stay as it is.
fn refuse_missing(line: &OurLine, own: FoundDirective<'_>, server_file: &Path) -> Result<(), Refusal> {
    let (article, by_hand) = match &line.missing {
        WhenMissing::Harmless => return Ok(()),
        WhenMissing::NotSentAway => ("an", format!("`{}` beside it once the guard is set up", line.text)),
        WhenMissing::Deceived { instead } => ("a", format!("`{instead}` beside it")),
    };
    Err(Refusal::new(
        format!(
            "{own} has {article} {} of its own, in a file that other sites may include too",
            line.directive
        ),
        format!("write {by_hand}, or move the location into {}", server_file.display()),
    ))
}

/// A file of the shop without what [`ShopBlocks::guarded`] inserts.
pub(crate) fn unguarded(text: &str, guard: &str) -> String {
    let mut ours = vec![included(guard)];
    ours.extend(ours::lines(&WAYS).into_iter().map(|line| line.text));
    let lines = text.split_inclusive('\n').filter(|line| !ours.iter().any(|ours| line.trim() == ours));
    // A block in one line has them in that line.
    lines
        .map(|line| ours.iter().fold(line.to_owned(), |line, ours| line.replace(&format!("{ours} "), "")))
        .collect()
}

/// Why no block was found: a pattern may mean the shop, or nothing does.
fn unnamed(http: FoundDirective<'_>, name: &str) -> Refusal {
    let is_pattern = |found: &String| found.starts_with(['~', '.']) || found.contains('*') || found == "_";
    let with_pattern = |server: FoundDirective<'_>| {
        let pattern = server.names().find(is_pattern)?;
        Some(format!("{server} ({pattern})"))
    };
    let patterns: Vec<_> = http.servers().filter_map(with_pattern).collect();
    if patterns.is_empty() {
        return Refusal::new(
            format!("no server block has the name {name}"),
            "is this the nginx in front of your shop? The name is that of `shop` in room.toml; name the main file with --conf",
        );
    }
    Refusal::new(
        format!(
            "no server block has the name {name}; these may be meant, and this is not guessed: {}",
            patterns.join(", ")
        ),
        format!("write the name itself into the block of your shop: server_name {name} …;"),
    )
}

/// nginx takes the first of two blocks with one name at one address, and ignores the other.
fn refuse_same_addresses(found: &[FoundDirective<'_>], name: &str) -> Result<(), Refusal> {
    for (index, server) in found.iter().enumerate() {
        let listens = server.listens();
        let same = found.iter().skip(index + 1).find(|other| {
            let theirs = other.listens();
            listens.iter().any(|listen| theirs.iter().any(|other| other.socket() == listen.socket()))
        });
        if let Some(other) = same {
            return Err(Refusal::new(
                format!("two server blocks have the name {name} at the same address: {server} and {other}"),
                "remove one of them, or name the file of the right one with --shop-file",
            ));
        }
    }
    Ok(())
}

fn refuse_what_the_guard_needs(found: FoundDirective<'_>) -> Result<(), Refusal> {
    let directive = found.directive;
    let (problem, advice) = match directive.name() {
        "auth_request" => (
            "asks another program who may enter, and nginx can ask only one",
            "remove that line, or set the guard up by hand: docs/guard.md",
        ),
        "satisfy" if directive.first() == "any" => (
            "says `satisfy any`, so a password or an address would open the shop without a pass, and a pass what needs a password",
            "write `satisfy all`, and name networks that need no pass in guard.toml: bypass_network",
        ),
        "error_page" if directive.has(GUARDS_STATUS) && !ours::sent_away().is(found) => (
            "has a page for status 401, with which the guard sends visitors to the room",
            "take 401 out of that line",
        ),
        _ => return Ok(()),
    };
    Err(Refusal::new(format!("{found} {problem}"), advice))
}

/// Where a line goes that shall be the first of a block: above its first directive, and below any comment before that.
fn insertion(found: FoundDirective<'_>, line: &str) -> Option<Insertion> {
    let (text, block) = (&found.file.text, found.directive.block.as_ref()?);
    let Some(first) = block.directives.first() else {
        return Some(Insertion { at: block.begin, text: format!(" {line} ") });
    };
    let begin = text.get(..first.at.start)?.rfind('\n').map_or(0, |newline| newline + 1);
    let indent = text.get(begin..first.at.start)?;
    if begin < block.begin || !indent.trim().is_empty() {
        return Some(Insertion { at: first.at.start, text: format!("{line} ") });
    }
    let ends = if text.contains("\r\n") { "\r\n" } else { "\n" };
    Some(Insertion { at: begin, text: format!("{indent}{line}{ends}") })
}

fn inserted(text: &str, mut insertions: Vec<Insertion>) -> String {
    insertions.sort_by_key(|insertion| insertion.at);
    let mut changed = text.to_owned();
    for Insertion { at, text } in insertions.into_iter().rev() {
        changed.insert_str(at, &text);
    }
    changed
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::fixture::{GUARD, Machine};

    /// A machine on which somebody has edited for years.
    const AWKWARD: &str = r#"# Shop. Do not touch {
server{listen 80;server_name shop.example www.shop.example;
    location /.well-known/acme-challenge/ { root /var/www/html; }
    location / { return 301 https://shop.example$request_uri; } }

server {   # the real one; really
	# it has tabs

	listen 443 ssl http2 default_server backlog=1024; listen [::]:443 ssl http2;
	server_name "shop.example"
	            WWW.shop.example; # two
	if ($http_user_agent ~ "bad{2};bot") { return 403; }
	error_page 404 /404.html;

	location / {
		# a comment with "one quotation mark
		try_files $uri @app;
	}
	location ~ \.php$ { error_page 404 = @app; fastcgi_pass unix:/run/php.sock; }
	location /old/ {
		if ($arg_x = "}") {
			error_page 410 /gone.html;
		}
	}
	location @app { proxy_pass http://127.0.0.1:3000; }
	location /new/ {
		add_header X-Frame-Options DENY;
		error_page 404 = @app;
		add_header X-Other a;
	}
}
server { listen 443 ssl; server_name blog.example; }
"#;

    impl Machine {
        /// The text of the only file that changes.
        fn guarded(&self) -> Result<String, String> {
            let tree = self.tree();
            let named = |refusal: Refusal| {
                let folder = fs::canonicalize(self.0.path()).unwrap();
                let sites = format!("{}/sites/", folder.display());
                refusal.to_string().replace(&sites, "")
            };
            let shop = ShopBlocks::find(&tree, "shop.example", None).map_err(named)?;
            let mut changed = shop.guarded(GUARD).map_err(named)?;
            assert_eq!(changed.len(), 1);
            Ok(changed.remove(0).1)
        }
    }

    fn lines_added(before: &str, after: &str) -> Vec<String> {
        let patch = diffy::create_patch(before, after);
        let lines = patch.hunks().iter().flat_map(diffy::Hunk::lines);
        let changed = lines.filter_map(|line| match line {
            diffy::Line::Context(_) => None,
            diffy::Line::Delete(line) => Some(format!("-{}", line.trim_end())),
            diffy::Line::Insert(line) => Some(format!("+{}", line.trim_end())),
        });
        changed.collect()
    }

    #[test]
    fn an_awkward_configuration_gets_one_line_and_one_for_each_own_page_and_header() {
        let machine = Machine::with(AWKWARD);
        let guarded = machine.guarded().unwrap();
        assert_eq!(
            lines_added(AWKWARD, &guarded),
            [
                "+\tinclude /etc/nginx/beekeeper-guard.conf;",
                "-\tlocation ~ \\.php$ { error_page 404 = @app; fastcgi_pass unix:/run/php.sock; }",
                "+\tlocation ~ \\.php$ { error_page 401 = @beekeeper; error_page 404 = @app; fastcgi_pass unix:/run/php.sock; }",
                "+\t\t\terror_page 401 = @beekeeper;",
                "+\t\tadd_header Set-Cookie $bk_ended always;",
                "+\t\terror_page 401 = @beekeeper;",
            ]
        );
        let at = |text: &str| guarded.find(text).unwrap();
        assert!(
            at("# it has tabs") < at("include /etc") && at("include /etc") < at("listen 443"),
            "{guarded}"
        );

        assert_eq!(unguarded(&guarded, GUARD), AWKWARD);

        let again = Machine::with(&guarded);
        assert_eq!(again.guarded().unwrap(), guarded, "a second run has nothing to change");
        let tree = again.tree();
        let shop = ShopBlocks::find(&tree, "shop.example", None).unwrap();
        assert!(shop.include(GUARD));
        assert_eq!(shop.shown_by.len(), 1, "the other block leads to https");
        assert_eq!(Listen::lines(&shop.listens, false), "    listen 80;");
        assert_eq!(
            Listen::lines(&shop.listens, true),
            "    listen 443 ssl http2;\n    listen [::]:443 ssl http2;"
        );
    }

    #[test]
    fn a_line_ends_as_the_file_does() {
        let file = "server {\r\n  listen 443 ssl;\r\n  server_name shop.example;\r\n}\r\n";
        let guarded = Machine::with(file).guarded().unwrap();
        assert_eq!(guarded.replace("  include /etc/nginx/beekeeper-guard.conf;\r\n", ""), file);
        assert_eq!(unguarded(&guarded, GUARD), file);
    }

    #[test]
    fn blocks_that_only_lead_away_are_left_alone() {
        let https = "server { listen 443 ssl; server_name shop.example; }";
        for away in [
            "return 301 https://$host$request_uri;",
            "if ($host = shop.example) { return 301 https://$host$request_uri; } return 404;",
            "location / { return 308 https://$host$request_uri; }",
            "location ^~ /.well-known/acme-challenge/ { root /a; } location / { return https://a; }",
        ] {
            let text = format!("server {{ server_name shop.example; {away} }} {https}");
            let guarded = Machine::with(&text).guarded().unwrap();
            assert_eq!(guarded.matches(GUARD).count(), 1, "{guarded}");
        }
        for shows in [
            "",
            "root /shop;",
            "location / { return 200 hello; }",
            "location /a { return 301 /b; } location / { }",
        ] {
            let text = format!("server {{ server_name shop.example; {shows} }} {https}");
            let guarded = Machine::with(&text).guarded().unwrap();
            assert_eq!(guarded.matches(GUARD).count(), 2, "{guarded}");
        }
    }

    #[test]
    fn the_block_behind_a_cache_of_this_machine_stays_as_it_is() {
        let https = "server { listen 443 ssl; server_name shop.example; location / { proxy_pass http://127.0.0.1:6081; } }";
        for inner in ["listen 127.0.0.1:8080;", "listen [::1]:8080;", "listen unix:/run/shop.sock;"] {
            let text = format!("server {{ {inner} server_name shop.example; root /shop; }} {https}");
            let guarded = Machine::with(&text).guarded().unwrap();
            assert_eq!(guarded.matches(GUARD).count(), 1, "{guarded}");
            assert!(guarded.starts_with(&format!("server {{ {inner} server_name")), "{guarded}");
        }
        let public = format!("server {{ listen 8080; server_name shop.example; root /shop; }} {https}");
        let machine = Machine::with(&public);
        assert_eq!(machine.guarded().unwrap().matches(GUARD).count(), 2, "anybody may come by it");
        let tree = machine.tree();
        assert!(!ShopBlocks::find(&tree, "shop.example", None).unwrap().opens_http());
    }

    #[test]
    fn the_port_of_http_is_opened_for_a_shop_at_https_only() {
        let https = "server { listen 443 ssl; server_name shop.example; root /shop; }";
        let opens = |text: &str| {
            let tree = Machine::with(text).tree();
            ShopBlocks::find(&tree, "shop.example", None).unwrap().opens_http()
        };
        assert!(opens(https));
        assert!(!opens(&format!("{https} server {{ server_name blog.example; }}")), "it has the usual port");
    }

    #[test]
    fn the_room_knows_visitors_behind_a_balancer_as_the_shop_does() {
        let copied = |lines: &str, http: &str| {
            let text = format!(
                "server {{ listen 443 ssl proxy_protocol; server_name shop.example; {lines} root /shop; }}"
            );
            let tree = Machine::of(&[("shop", &text)], http).tree();
            ShopBlocks::find(&tree, "shop.example", None).unwrap().real_addresses()
        };
        let lines = "set_real_ip_from 10.0.0.0/16; real_ip_header proxy_protocol;";
        let expected = "    set_real_ip_from 10.0.0.0/16;\n    real_ip_header proxy_protocol;\n";
        assert_eq!(copied(lines, ""), expected);
        assert_eq!(copied("", lines), "", "every block has them");
    }

    #[test]
    fn what_is_not_understood_is_refused_with_its_place() {
        let block =
            |inner: &str| format!("server {{\n listen 443 ssl;\n server_name shop.example;\n {inner}\n}}");
        for (shop, problem) in [
            (
                block("auth_request /check;"),
                "shop:4 asks another program who may enter, and nginx can ask only one",
            ),
            (block("location /a { auth_request off; }"), "shop:4 asks another program"),
            (block("location /a { satisfy any; }"), "shop:4 says `satisfy any`"),
            (block("error_page 401 403 /no.html;"), "shop:4 has a page for status 401"),
            (
                "server { listen 443 ssl; server_name ~^shop; }".into(),
                "no server block has the name shop.example; these may be meant, and this is not guessed: shop:1 (~^shop)",
            ),
            ("server { listen 443 ssl; server_name *.example; }".into(), "shop:1 (*.example)"),
            ("server { listen 443 ssl; server_name _; }".into(), "shop:1 (_)"),
            (
                "server { listen 443 ssl; server_name blog.example; }".into(),
                "no server block has the name shop.example",
            ),
            (
                "server { server_name shop.example; }".into(),
                "shop.example is not shown by https (shop:1), and the guard's cookie needs it",
            ),
            (
                format!("{}\n{}", block(""), block("")),
                "two server blocks have the name shop.example at the same address: shop:1 and shop:6",
            ),
        ] {
            let refusal = Machine::with(&shop).guarded().unwrap_err();
            assert!(refusal.contains(problem), "{shop}: {refusal}");
        }
        let inherited = Machine::of(&[("shop", &block(""))], "satisfy any;").guarded().unwrap_err();
        assert!(inherited.contains("nginx.conf:2 says `satisfy any`"), "{inherited}");
    }

    #[test]
    fn of_two_files_the_operator_names_one() {
        let block = "server { listen 443 ssl; server_name shop.example; }\n";
        let machine = Machine::of(&[("new", block), ("old", block)], "");
        let refusal = machine.guarded().unwrap_err();
        assert!(refusal.ends_with("new:1 and old:1"), "{refusal}");
        let tree = machine.tree();
        let named = fs::canonicalize(machine.0.path().join("sites/new")).unwrap();
        let shop = ShopBlocks::find(&tree, "shop.example", Some(&named)).unwrap();
        assert_eq!(shop.guarded(GUARD).unwrap()[0].0.file.path, named);
        let other = ShopBlocks::find(&tree, "shop.example", Some(Path::new("/other"))).unwrap_err();
        assert_eq!(other.to_string(), "/other has no server block for shop.example");
    }

    #[test]
    fn an_error_page_in_a_file_that_others_include_is_not_edited() {
        let shop =
            "server { listen 443 ssl; server_name shop.example; include php; location /a { include page; } }";
        let machine = Machine::of(&[("shop", shop)], "");
        fs::write(machine.0.path().join("page"), "error_page 404 /a;").unwrap();
        fs::write(machine.0.path().join("php"), "location /b { root /b; }").unwrap();
        assert!(
            machine.guarded().unwrap().contains("location /a { error_page 401 = @beekeeper; include page; }")
        );
        fs::write(machine.0.path().join("php"), "location /b { add_header X-A b; }").unwrap();
        assert_eq!(machine.guarded().unwrap().matches("$bk_ended").count(), 0, "nor a header of one");
        fs::write(machine.0.path().join("php"), "location /b { error_page 404 /b; }").unwrap();
        let refusal = machine.guarded().unwrap_err();
        assert!(
            refusal.contains("php:1 has an error_page of its own, in a file that other sites may include"),
            "{refusal}"
        );
    }

    #[test]
    fn a_location_with_headers_of_its_own_gets_the_guards() {
        let text = "server {
    listen 443 ssl;
    server_name shop.example;
    location / {
        proxy_pass http://127.0.0.1:3000;
        proxy_set_header Host $host;
        proxy_set_header X-Beekeeper-Number mine;
        location /deep { proxy_read_timeout 1s; }
    }
    location ~ \\.php$ {
        include php;
        fastcgi_pass unix:/run/php.sock;
    }
    location /unused { uwsgi_param A b; }
}
";
        let machine = Machine::with(text);
        fs::write(machine.0.path().join("php"), "fastcgi_param A b;\nfastcgi_param C d;").unwrap();
        let guarded = machine.guarded().unwrap();
        assert_eq!(
            lines_added(text, &guarded),
            [
                "+    include /etc/nginx/beekeeper-guard.conf;",
                "+        proxy_set_header X-Beekeeper-Subject $bk_subject;",
                "+        fastcgi_param HTTP_X_BEEKEEPER_SUBJECT $bk_subject if_not_empty;",
                "+        fastcgi_param HTTP_X_BEEKEEPER_NUMBER $bk_number if_not_empty;",
            ]
        );
        assert_eq!(unguarded(&guarded, GUARD), text);
        fs::write(machine.0.path().join("sites/shop"), &guarded).unwrap();
        assert_eq!(machine.guarded().unwrap(), guarded, "a second run has nothing to change");

        let elsewhere = "server { listen 443 ssl; server_name shop.example; include app; }";
        let machine = Machine::with(elsewhere);
        let app = |more: &str| {
            let text = format!("location / {{ proxy_pass http://a; proxy_set_header Host a; {more} }}");
            fs::write(machine.0.path().join("app"), text).unwrap();
        };
        app("");
        let tree = machine.tree();
        let shop = ShopBlocks::find(&tree, "shop.example", None).unwrap();
        let refusal = shop.guarded(GUARD).unwrap_err();
        assert!(refusal.to_string().contains("app:1 has a proxy_set_header of its own"), "{refusal}");
        let advice = refusal.advice.unwrap();
        assert!(
            advice.starts_with("write `proxy_set_header X-Beekeeper-Subject \"\";` beside it, or"),
            "{advice}"
        );
        app("proxy_set_header X-Beekeeper-Subject ''; proxy_set_header X-Beekeeper-Number '';");
        assert!(machine.guarded().unwrap().contains("include app"));
    }

    #[test]
    fn what_the_http_block_says_still_holds() {
        let shop = "server { listen 443 ssl; server_name shop.example; }";
        let machine = Machine::of(
            &[("shop", shop)],
            "error_page 404 /404.html; add_header X-A b always; proxy_hide_header X-Powered-By; proxy_cache_valid 200 1m;",
        );
        let tree = machine.tree();
        let blocks = ShopBlocks::find(&tree, "shop.example", None).unwrap();
        assert_eq!(
            blocks.inherited(),
            "error_page 404 /404.html;\nadd_header X-A b always;\nproxy_hide_header X-Powered-By;\n"
        );
        assert!(blocks.keeps_answers_by_own_rules());
        let own = Machine::of(
            &[(
                "shop",
                "server { listen 443 ssl; server_name shop.example; error_page 500 /500.html; add_header X-C d; }",
            )],
            "error_page 404 /404.html; add_header X-A b;",
        );
        let tree = own.tree();
        let blocks = ShopBlocks::find(&tree, "shop.example", None).unwrap();
        assert_eq!(blocks.inherited(), "", "nginx had forgotten it already");
        assert!(!blocks.keeps_answers_by_own_rules());
    }
}
