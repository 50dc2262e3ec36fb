//! `beekeeper setup nginx`, with a real nginx in front of a shop that has customers meanwhile.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use emulators::{Nginx, free_port};
use http_contract::Client;
use tempfile::TempDir;

use crate::guard::Guard;
use crate::hosting::{guards_report, is_reported};
use crate::support::{Local, closed_pipe, eventually, header, status, text};

const PAGE: &str = include_str!("../../../docs/one-machine.md");

/// What an operator may have: a redirect to https, rewrites of all paths, own pages for errors, a password, Windows' habits.
const SHOP: &str = r#"# The shop, since 2019
server {
    listen 127.0.0.1:HTTP;
    server_name shop.example;
    return 301 https://shop.example:HTTPS$request_uri;   # everybody to https
}
server
{
	listen 127.0.0.1:HTTPS ssl http2 default_server backlog=512;
	server_name www.shop.example shop.example ;
	ssl_certificate FOLDER/shop/fullchain.pem; ssl_certificate_key FOLDER/shop/privkey.pem;

	# Every path is one of the application: {
	rewrite "^/(?!app/|errors/)(.*)$" /app/$1 last;
	error_page 403 /errors/403.html;
	location / { proxy_pass http://127.0.0.1:BACKEND; proxy_set_header Host $host; }
	location /app/own/ {
		# its own page, and its own header
		error_page 404 = @app;
		add_header X-Own own;
		proxy_pass http://127.0.0.1:BACKEND;
	}
	location @app { proxy_pass http://127.0.0.1:BACKEND; }
	location /app/upload { client_max_body_size 4m; proxy_pass http://127.0.0.1:BACKEND; }
	location /app/secret/ { deny all; }
	location /app/staff/ { auth_basic "staff"; auth_basic_user_file FOLDER/staff; proxy_pass http://127.0.0.1:BACKEND; }
	location /errors/ { internal; root FOLDER/www; }
}
"#;

const MAIN: &str = r"user root;
worker_processes 2;
pid FOLDER/nginx.pid;
error_log FOLDER/error.log warn;
events { worker_connections 768; }
http {
    access_log off;
    client_body_temp_path FOLDER/body; proxy_temp_path FOLDER/proxy; fastcgi_temp_path FOLDER/fastcgi;
    uwsgi_temp_path FOLDER/uwsgi; scgi_temp_path FOLDER/scgi;
    proxy_set_header X-Site seals;
    add_header X-Everywhere yes;
    server {
        listen 127.0.0.1:BACKEND;
        client_max_body_size 8m;
        location / { return 200 'shop $request_uri'; }
        location ~ /who$ { return 200 'subject=[$http_x_beekeeper_subject] number=[$http_x_beekeeper_number] site=[$http_x_site]'; }
        location ~ /thanks$ { add_header Beekeeper-Session end; return 200 'thank you'; }
    }
    include FOLDER/etc/conf.d/*.conf;
    include FOLDER/etc/sites-enabled/*;
}
";

/// A machine with a shop, a room that is off, and certificates of an authority that only this test trusts.
struct Machine {
    nginx: Nginx,
    room: Local,
    /// Where the guard will listen, if it listens.
    guard: Option<Guard>,
    folder: PathBuf,
    _authority: TempDir,
    authority: PathBuf,
}

fn openssl(arguments: &[&str], folder: &Path) {
    let output = Command::new("openssl").args(arguments).current_dir(folder).output();
    let output = output.unwrap_or_else(|error| panic!("{error}; on Debian: apt-get install openssl"));
    assert!(output.status.success(), "{}", text(&output.stderr));
}

/// Signs a certificate of this name, as certbot would leave it.
fn issue(authority: &Path, host: &str, into: &Path) {
    fs::create_dir_all(into).unwrap();
    let at = |name: &str| into.join(name).display().to_string();
    let key = ["-nodes", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1"];
    let (request, subject) = (at("request.pem"), format!("/CN={host}"));
    let names = at("names");
    fs::write(&names, format!("subjectAltName=DNS:{host}\n")).unwrap();
    openssl(
        &[&["req", "-subj", &subject, "-keyout", &at("privkey.pem"), "-out", &request][..], &key].concat(),
        into,
    );
    let sign = ["x509", "-req", "-days", "90", "-CA", "ca.pem", "-CAkey", "ca.key", "-set_serial", "7"];
    openssl(
        &[&sign[..], &["-in", &request, "-extfile", &names, "-out", &at("fullchain.pem")]].concat(),
        authority,
    );
}

impl Machine {
    fn new() -> Self {
        Self::with("")
    }

    /// The same, with more flags of the room.
    fn with(more: &str) -> Self {
        let authority = tempfile::tempdir().unwrap();
        let mut ca =
            vec!["req", "-x509", "-nodes", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1"];
        ca.extend([
            "-days",
            "2",
            "-subj",
            "/CN=an authority of a test",
            "-keyout",
            "ca.key",
            "-out",
            "ca.pem",
        ]);
        openssl(&ca, authority.path());
        let mut made = PathBuf::new();
        let nginx = Nginx::of_operator(|folder, [http, https]| {
            folder.clone_into(&mut made);
            issue(authority.path(), "shop.example", &folder.join("shop"));
            let backend = free_port().unwrap();
            let here = |text: &str| {
                text.replace("FOLDER", folder.to_str().unwrap())
                    .replace("HTTPS", &https.to_string())
                    .replace("HTTP", &http.to_string())
                    .replace("BACKEND", &backend.to_string())
            };
            for below in ["etc/conf.d", "etc/sites-available", "etc/sites-enabled", "www/errors"] {
                fs::create_dir_all(folder.join(below)).unwrap();
            }
            fs::write(folder.join("staff"), "anna:{PLAIN}honey\n").unwrap();
            fs::write(folder.join("www/errors/403.html"), "the shop's own 403").unwrap();
            fs::write(folder.join("etc/nginx.conf"), here(MAIN)).unwrap();
            let shop = folder.join("etc/sites-available/shop");
            fs::write(&shop, here(SHOP)).unwrap();
            fs::set_permissions(&shop, fs::Permissions::from_mode(0o640)).unwrap();
            std::os::unix::fs::symlink("../sites-available/shop", folder.join("etc/sites-enabled/shop"))
                .unwrap();
        });
        let nginx = nginx.unwrap();
        let authority_file = authority.path().join("ca.pem");
        let (folder, https) = (made, nginx.https_port());
        let listens = free_port().unwrap();
        let flags = format!(
            "name = \"demo\"\ntitle = \"Seal Brewing\"\nshop = \"https://shop.example:{https}/sale\"\nurl = \"https://wait.example:{https}\"\n\
             listen = \"127.0.0.1:{listens}\"\ntrust_proxy = [\"127.0.0.1\"]\n{more}"
        );
        fs::write(folder.join("room.toml"), flags).unwrap();
        let listens = listens.to_string();
        let room_file = folder.join("room.toml").display().to_string();
        let room = Local::start(&["--config", &room_file, "--listen", &listens]);
        let machine =
            Self { nginx, room, guard: None, folder, _authority: authority, authority: authority_file };
        machine.describe_guard(free_port().unwrap());
        machine.operate(&["off", "--yes"]);
        eventually("the room is off", || {
            let answer = Client::new(&format!("http://127.0.0.1:{listens}"), "demo").get("/polling");
            answer.body.contains("\"allow\":true")
        });
        machine
    }

    fn operate(&self, order: &[&str]) {
        let output = self.room.command(&[order, &["--local"]].concat());
        assert!(output.status.success(), "{}", text(&output.stderr));
    }

    fn url(&self) -> String {
        format!("https://wait.example:{}", self.nginx.https_port())
    }

    fn describe_guard(&self, port: u16) {
        let flags = format!("name = \"demo\"\nroom = \"{}\"\nlisten = \"127.0.0.1:{port}\"\n", self.url());
        fs::write(self.folder.join("guard.toml"), flags).unwrap();
    }

    /// It takes the room's keys from a file, because no resolver knows the room's name.
    fn start_guard(&mut self) {
        let room_file = fs::read_to_string(self.folder.join("room.toml")).unwrap();
        let listens = room_file.split("127.0.0.1:").nth(1).unwrap().split('"').next().unwrap();
        let keys =
            Client::new(&format!("http://127.0.0.1:{listens}"), "demo").get("/.well-known/jwks.json").body;
        let file = self.folder.join("keys.json");
        fs::write(&file, keys).unwrap();
        let extra = ["--keys", file.to_str().unwrap()];
        let guard = Guard::start(&self.url(), tempfile::tempdir().unwrap(), &extra);
        self.describe_guard(guard.port());
        self.guard = Some(guard);
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let at = |name: &str| self.folder.join(name);
        let mut command = Command::new(env!("CARGO_BIN_EXE_beekeeper"));
        command.args(["setup", "nginx", "--conf"]).arg(at("etc/nginx.conf"));
        command.arg("--room-file").arg(at("room.toml")).arg("--guard-file").arg(at("guard.toml"));
        command.arg("--certificate").arg(at("wait")).arg("--webroot").arg(at("webroot"));
        command.arg("--kept").arg(at("kept")).args(arguments).stdin(Stdio::null());
        let nginx = Nginx::program().unwrap();
        let path = std::env::var("PATH").unwrap();
        command.env("PATH", format!("{}:{path}", nginx.parent().unwrap().display()));
        command
    }

    fn set_up(&self, arguments: &[&str]) -> String {
        let output = self.command(&[arguments, &["--yes"]].concat()).output().unwrap();
        assert!(output.status.success(), "{}\n{}", text(&output.stdout), text(&output.stderr));
        text(&output.stdout)
    }

    /// As a person with root and a certificate of the room would.
    fn set_up_until_https(&self) {
        self.set_up(&[]);
        issue(self.authority.parent().unwrap(), "wait.example", &self.folder.join("wait"));
        self.set_up(&[]);
    }

    /// Every file of nginx with its text and its mode, and every link with where it leads.
    fn tree(&self) -> BTreeMap<PathBuf, (u32, Vec<u8>)> {
        let mut folders = vec![self.folder.join("etc")];
        let mut all = BTreeMap::new();
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                let metadata = fs::symlink_metadata(&path).unwrap();
                let mode = metadata.permissions().mode();
                let text = if metadata.is_symlink() {
                    fs::read_link(&path).unwrap().into_os_string().into_encoded_bytes()
                } else if metadata.is_dir() {
                    folders.push(path.clone());
                    Vec::new()
                } else {
                    fs::read(&path).unwrap()
                };
                all.insert(path, (mode, text));
            }
        }
        all
    }

    /// A request of a browser that nobody knows. It believes the test's authority only.
    fn visit(&self, url: &str, more: &[&str]) -> String {
        let first = self.curl(url, more);
        let output = if is_closed(&first) { self.curl(url, more) } else { first };
        assert!(output.status.success(), "{url}: {}", text(&output.stderr));
        text(&output.stdout)
    }

    fn curl(&self, url: &str, more: &[&str]) -> Output {
        let ports = [self.nginx.http_port(), self.nginx.https_port()];
        curl(ports, &self.authority, &[&["--include"], more, &[url]].concat())
    }

    /// The doctor of the room, on a machine that knows both names and trusts the authority. Without root it has a namespace of
    /// its own for that.
    fn doctor(&self, authority: &Path) -> Output {
        const NAMES: &str = "mount --bind \"$0\" /etc/hosts && exec \"$@\"";

        let hosts = self.folder.join("hosts");
        fs::write(&hosts, "127.0.0.1 localhost shop.example wait.example\n").unwrap();
        let mut command = emulators::unshared().unwrap();
        command.args(["sh", "-c", NAMES]).arg(hosts);
        command.arg(env!("CARGO_BIN_EXE_beekeeper")).args(["doctor", "--local", "--data"]);
        command.arg(self.room.directory.path()).env("SSL_CERT_FILE", authority).output().unwrap()
    }

    fn shop(&self, path: &str, more: &[&str]) -> String {
        self.visit(&format!("https://shop.example:{}{path}", self.nginx.https_port()), more)
    }

    fn http(&self, host: &str, path: &str) -> String {
        self.visit(&format!("http://{host}:{}{path}", self.nginx.http_port()), &[])
    }

    /// What a browser shows in the end.
    fn browse(&self, path: &str) -> String {
        let profile = tempfile::tempdir().unwrap();
        let mut chromium = Command::new(emulators::browser::chromium().unwrap());
        chromium.args([
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--ignore-certificate-errors",
            "--dump-dom",
        ]);
        chromium.args(["--host-resolver-rules=MAP *.example 127.0.0.1", "--virtual-time-budget=21600000"]);
        chromium.arg(format!("--user-data-dir={}", profile.path().display()));
        chromium.arg(format!("https://shop.example:{}{path}", self.nginx.https_port()));
        text(&chromium.output().unwrap().stdout)
    }

    /// What the last of several redirects leads to.
    fn arrives(&self, path: &str) -> String {
        let url = format!("https://shop.example:{}{path}", self.nginx.https_port());
        let output = self.curl(&url, &["--location"]);
        text(&output.stdout).rsplit("\r\n\r\n").next().unwrap().to_owned()
    }
}

#[test]
#[ignore = "needs nginx, curl, openssl and Chromium: cargo xtask test beekeeper"]
fn the_shop_answers_while_a_room_and_a_guard_are_put_before_it() {
    let mut machine = Machine::new();
    let before = machine.tree();
    let is_over = AtomicBool::new(false);
    let customers = thread::scope(|scope| {
        let [http, https] = [machine.nginx.http_port(), machine.nginx.https_port()];
        let url = format!("https://shop.example:{https}/tickets/7");
        let authority = machine.authority.clone();
        let is_over = &is_over;
        let customers = scope.spawn(move || {
            let shop = |answers: &mut Vec<String>| {
                let output = curl([http, https], &authority, &["--location", &url]);
                answers.push(format!("{}{}", text(&output.stdout), text(&output.stderr)));
                is_closed(&output)
            };
            let mut answers = Vec::new();
            while !is_over.load(Ordering::Relaxed) {
                if shop(&mut answers) {
                    answers.pop();
                    shop(&mut answers);
                }
            }
            answers
        });
        // The customers go also if the walk fails, or it would never end.
        let walked = catch_unwind(AssertUnwindSafe(|| walk(&mut machine, &before)));
        is_over.store(true, Ordering::Relaxed);
        let customers = customers.join().unwrap();
        walked.unwrap_or_else(|failure| resume_unwind(failure));
        customers
    });
    assert!(customers.len() > 20, "{}", customers.len());
    let lost: Vec<_> = customers.iter().filter(|answer| *answer != "shop /app/tickets/7").collect();
    assert!(lost.is_empty(), "{} of {}: {lost:?}", lost.len(), customers.len());

    // With the room on, the browser waits on the page until it's its turn. Its time goes by faster than the room's.
    machine.operate(&["on"]);
    let url = format!("{}/polling", machine.url());
    eventually("the room is on", || machine.visit(&url, &[]).contains("\"state\":\"on\""));
    let page = machine.browse("/tickets/8");
    assert!(page.contains("shop /app/tickets/8"), "{page}");

    // What the page advises if the guard breaks. The next run puts the guard back.
    open_as_the_page_says(&machine);
    let guard_file = fs::read_to_string(machine.folder.join("guard.toml")).unwrap();
    machine.describe_guard(free_port().unwrap());
    let said = machine.set_up(&[]);
    assert!(said.contains("the guard does not answer at 127.0.0.1:"), "nginx takes it meanwhile: {said}");
    fs::write(machine.folder.join("guard.toml"), guard_file).unwrap();
    let said = machine.set_up(&[]);
    assert!(said.contains("nginx has read its new configuration"), "{said}");
    from_now_on("the shop is guarded again", || status(&machine.shop("/tickets/9", &[])) == "303");

    // What the owner of the shop edited since stays.
    let shop = machine.folder.join("etc/sites-available/shop");
    fs::write(&shop, format!("{}# mine\n", fs::read_to_string(&shop).unwrap())).unwrap();

    // Whoever is on the way to the room now does not find it, so this is for after the sale.
    let said = machine.set_up(&["--undo"]);
    assert!(said.contains("your own lines are as they were"), "{said}");
    let text = fs::read_to_string(&shop).unwrap();
    fs::write(&shop, text.strip_suffix("# mine\n").unwrap()).unwrap();
    assert_eq!(machine.tree(), before);
    assert!(!machine.folder.join("kept").exists() && !machine.folder.join("webroot").exists());
    from_now_on("the shop is alone again", || status(&machine.shop("/tickets/7", &[])) == "200");
    assert!(machine.set_up(&["--undo"]).contains("there is nothing to undo"));
}

/// Opens the shop to everybody: finds the file of the shop with the page's own command, and deletes the page's line there.
fn open_as_the_page_says(machine: &Machine) {
    let etc = machine.folder.join("etc").display().to_string();
    let grep = PAGE.lines().find(|line| line.starts_with("grep -rl ")).unwrap().replace("/etc/nginx", &etc);
    let found = text(&Command::new("sh").arg("-c").arg(&grep).output().unwrap().stdout);
    let files: Vec<_> = found.lines().collect();
    let [file] = &*files else { panic!("{grep}: {found}") };
    let line = grep.split('"').nth(1).unwrap();
    let all = fs::read_to_string(file).unwrap();
    let others: Vec<_> = all.split_inclusive('\n').filter(|other| !other.contains(line)).collect();
    assert_eq!(others.len() + 1, all.split_inclusive('\n').count(), "{all}");
    fs::write(file, others.concat()).unwrap();
    let conf = machine.folder.join("etc/nginx.conf");
    for step in [&["-t", "-q"][..], &["-s", "reload"]] {
        let output =
            Command::new(Nginx::program().unwrap()).arg("-c").arg(&conf).args(step).output().unwrap();
        assert!(output.status.success(), "{}", text(&output.stderr));
    }
    from_now_on("the shop is open", || {
        ["/tickets/9", "/app/own/9"].iter().all(|path| status(&machine.shop(path, &[])) == "200")
    });
}

/// A browser that nobody knows, on a machine where both names are nginx's, and that trusts the test's authority only.
fn curl(ports: [u16; 2], authority: &Path, arguments: &[&str]) -> Output {
    let mut curl = Command::new("curl");
    curl.args(["--silent", "--show-error", "--max-time", "20", "--cookie", ""]);
    for (host, port) in
        ["shop.example", "wait.example"].into_iter().flat_map(|host| ports.map(|port| (host, port)))
    {
        curl.args(["--resolve", &format!("{host}:{port}:127.0.0.1")]);
    }
    let output = curl.arg("--cacert").arg(authority).args(arguments).output();
    output.unwrap_or_else(|error| panic!("{error}; on Debian: apt-get install curl"))
}

/// Whether a worker of nginx that is being replaced has closed the connection before it answered. A browser asks again, and nobody
/// notices.
fn is_closed(output: &Output) -> bool {
    const CLOSED: [i32; 5] = [16, 35, 52, 56, 92];

    output.status.code().is_some_and(|code| CLOSED.contains(&code))
}

/// Several times in a row, because the workers of nginx that are being replaced still take connections for a moment.
fn from_now_on(what: &str, is_so: impl Fn() -> bool) {
    eventually(what, || (0..8).all(|_| is_so()));
}

/// From a shop alone to a shop behind a room.
fn walk(machine: &mut Machine, before: &BTreeMap<PathBuf, (u32, Vec<u8>)>) {
    let shown = text(&machine.command(&["--dry-run"]).output().unwrap().stdout);
    assert!(
        shown.contains("+    server_name wait.example;") && shown.contains("nothing was written"),
        "{shown}"
    );
    let unasked = machine.command(&[]).output().unwrap();
    assert_eq!(unasked.status.code(), Some(6), "{}", text(&unasked.stderr));
    assert!(text(&unasked.stderr).contains("needs --yes"), "{}", text(&unasked.stderr));
    assert_eq!(&machine.tree(), before);

    // First the name, for the certificate.
    let said = machine.set_up(&[]);
    let certbot = PAGE.lines().find(|line| line.starts_with("sudo certbot certonly --webroot ")).unwrap();
    let webroot = machine.folder.join("webroot").display().to_string();
    assert!(said.contains(&certbot.replace("/var/www/beekeeper", &webroot)), "{said}");
    let challenge = machine.folder.join("webroot/.well-known/acme-challenge");
    fs::create_dir_all(&challenge).unwrap();
    fs::write(challenge.join("token"), "token.key").unwrap();
    from_now_on("the authority finds the file", || {
        machine.http("wait.example", "/.well-known/acme-challenge/token").ends_with("\r\n\r\ntoken.key")
    });
    fs::remove_dir_all(machine.folder.join("webroot/.well-known")).unwrap();
    assert_eq!(status(&machine.http("shop.example", "/a")), "301", "the shop's redirect is as it was");
    assert_eq!(machine.arrives("/a"), "shop /app/a");

    // Then https.
    issue(machine.authority.parent().unwrap(), "wait.example", &machine.folder.join("wait"));
    let said = machine.set_up(&[]);
    assert!(said.contains("the guard does not answer at 127.0.0.1:"), "{said}");
    from_now_on("the room answers at its name", || {
        machine.curl(&format!("{}/polling", machine.url()), &[]).status.success()
    });
    let poll = machine.visit(&format!("{}/polling", machine.url()), &[]);
    assert!(poll.contains("\"allow\":true"), "{poll}");
    assert_eq!(
        header(&machine.http("wait.example", "/beekeeper"), "location"),
        Some(&*format!("{}/beekeeper", machine.url()))
    );
    let shop_file = machine.folder.join("etc/sites-available/shop");
    assert_eq!(before[&shop_file].1, fs::read(&shop_file).unwrap(), "nobody is sent anywhere yet");

    // Then the guard.
    machine.start_guard();
    let shown = text(&machine.command(&["--dry-run"]).output().unwrap().stdout);
    let added: Vec<_> = shown.lines().skip_while(|line| !line.ends_with("sites-available/shop")).collect();
    let added: Vec<_> =
        added.iter().filter(|line| line.starts_with('+') && !line.starts_with("+++")).collect();
    let include = format!("+\tinclude {};", machine.folder.join("etc/beekeeper-guard.conf").display());
    let [first, headers, page, end] = &*added else { panic!("{shown}") };
    let ours =
        [&*include, "+\t\terror_page 401 = @beekeeper;", "+\t\tadd_header Set-Cookie $bk_ended always;"];
    assert_eq!([**first, **page, **end], ours, "{shown}");
    assert!(headers.contains("location / { proxy_set_header X-Beekeeper-Subject $bk_subject; "), "{shown}");
    let said = machine.set_up(&[]);
    assert!(said.contains("sudo beekeeper doctor --local demo"), "{said}");
    from_now_on("the guard is asked", || status(&machine.shop("/tickets/7", &[])) == "303");
    let said = machine.set_up(&[]);
    assert!(said.contains("there is nothing to change"), "{said}");
    visitors_come_and_go(machine);

    // Another port in its file, and the guard was not started again.
    let guard_file = fs::read_to_string(machine.folder.join("guard.toml")).unwrap();
    machine.describe_guard(free_port().unwrap());
    let unasked = text(&machine.command(&[]).output().unwrap().stderr);
    assert!(unasked.contains("so with these lines nobody gets into shop.example, not even"), "{unasked}");
    fs::write(machine.folder.join("guard.toml"), guard_file).unwrap();
    // A machine that trusts somebody else says so, and not that nginx or the guard were wrong.
    let doctor = text(&machine.doctor(&machine.folder.join("wait/fullchain.pem")).stdout);
    assert!(
        doctor.contains("this machine doesn't know who signed the certificate: let the server"),
        "{doctor}"
    );
    assert_eq!(doctor.matches("do what stands below `certificate`").count(), 3, "page, keys, shop: {doctor}");
    assert!(!doctor.contains("let the web server of its URL"), "{doctor}");
    let doctor = machine.doctor(&machine.authority);
    let said = text(&doctor.stdout);
    assert!(doctor.status.success(), "{said}\n{}", text(&doctor.stderr));
    let told = said.lines().filter(|line| line.starts_with(char::is_alphabetic));
    let unlike: Vec<_> = told.filter(|line| !line.starts_with("ok ")).collect();
    let [shop, verdict] = unlike[..] else { panic!("{said}") };
    assert!(shop.starts_with("not checked  shop "), "the guard answers for it: {said}");
    assert_eq!(verdict, "demo is ready: no problems, no warnings, 1 not checked");
}

/// What the shop's own lines say still holds, behind the guard.
fn visitors_come_and_go(machine: &Machine) {
    let door = format!("{}/beekeeper", machine.url());
    for path in ["/", "/tickets/7?seat=a", "/own/x", "/index.php"] {
        let sent = machine.shop(path, &[]);
        assert_eq!((status(&sent), header(&sent, "location")), ("303", Some(&*door)), "{path}: {sent}");
    }
    assert_eq!(
        machine.arrives("/tickets/7?seat=a"),
        "shop /app/tickets/7?seat=a",
        "from the link to the shop"
    );
    let page = machine.browse("/tickets/7?seat=a");
    assert!(page.contains("shop /app/tickets/7?seat=a"), "a browser, too: {page}");
    assert_eq!(
        status(&machine.shop("/.well-known/acme-challenge/x", &[])),
        "200",
        "its own certificate is renewed"
    );
    let framed =
        machine.shop("/", &["--header", "Sec-Fetch-Dest: iframe", "--header", "Sec-Fetch-Mode: navigate"]);
    assert!(status(&framed) == "403" && framed.contains("Open the shop in its own window"), "{framed}");
    let script = ["--header", "Sec-Fetch-Dest: empty", "--header", "Sec-Fetch-Mode: cors"];
    let no_body = ["--http1.1", "--max-time", "5", "--request", "POST", "--header", "Content-Length: 1000"];
    let refused = machine.shop("/api", &[script.as_slice(), &no_body].concat());
    assert_eq!(status(&refused), "403", "it waits for no body: {refused}");
    let posted = machine.shop("/order", &["--data", "a form"]);
    assert_eq!((status(&posted), header(&posted, "location")), ("303", Some(&*door)));

    // What is too much for the guard to read.
    let many: Vec<_> = (0..120).map(|number| format!("X-{number}: a header")).collect();
    let many: Vec<_> = many.iter().flat_map(|header| ["--header", header]).collect();
    let unread = machine.shop("/", &many);
    assert!(status(&unread) == "503" && unread.contains("cannot be entered just now"), "{unread}");

    // Somebody with a session.
    let away = machine.shop("/tickets/7", &[]);
    let cookie = |answer: &str| {
        format!("Cookie: {}", header(answer, "set-cookie").unwrap().split(';').next().unwrap())
    };
    let pass = machine.visit(&door, &[]);
    let arrival = header(&pass, "location").unwrap().to_owned();
    let exchanged = machine.visit(&arrival, &["--header", &cookie(&away)]);
    assert_eq!(
        (status(&exchanged), header(&exchanged, "location")),
        ("303", Some("/tickets/7")),
        "{exchanged}"
    );
    let session = cookie(&exchanged);
    let inside = |path: &str| machine.shop(path, &["--header", &session]);
    assert!(inside("/own/x").ends_with("shop /app/own/x"));
    let photo = machine.folder.join("photo");
    fs::write(&photo, vec![b'x'; 2 << 20]).unwrap();
    let photo = format!("@{}", photo.display());
    let upload = ["--header", &*session, "--header", "Expect:", "--data-binary", &*photo];
    let uploaded = machine.shop("/upload", &upload);
    assert!(uploaded.ends_with("shop /app/upload"), "what the shop takes, the guard takes: {uploaded}");

    // The shop is told by the guard who that is, whatever the visitor says, also in a location with headers of its own.
    let forged = ["X-Beekeeper-Subject: evil", "x-beekeeper-number: 1", "Connection: X-Beekeeper-Subject"];
    let forged = forged.map(|header| ["--header", header]).concat();
    for (path, site) in [("/who", ""), ("/own/who", "seals")] {
        for more in [&[][..], &forged] {
            let told = machine.shop(path, &[&["--http1.1", "--header", &session], more].concat());
            let subject = told.split("subject=[").nth(1).unwrap().split(']').next().unwrap();
            assert!(
                subject.len() == 64 && told.ends_with(&format!(" number=[] site=[{site}]")),
                "{path}: {told}"
            );
        }
    }
    let bypassing = machine.shop("/.well-known/acme-challenge/who", &forged);
    assert!(bypassing.ends_with("subject=[] number=[] site=[]"), "{bypassing}");
    let forbidden = inside("/secret/");
    assert!(status(&forbidden) == "403" && forbidden.contains("the shop's own 403"), "{forbidden}");
    let staff = inside("/staff/");
    assert!(
        status(&staff) == "401" && header(&staff, "www-authenticate").unwrap().contains("staff"),
        "{staff}"
    );
    let stranger = machine.shop("/staff/", &["--user", "anna:honey"]);
    assert_eq!(status(&stranger), "303", "a password alone is no pass");
    let anna = machine.shop("/staff/", &["--header", &session, "--user", "anna:honey"]);
    assert!(anna.ends_with("shop /app/staff/"), "{anna}");

    // The shop ends it, in a location that has a header of its own, and in one that inherits those of the http block.
    for (path, own) in [("/thanks", "x-everywhere"), ("/own/thanks", "x-own")] {
        let thanks = inside(path);
        assert!(thanks.ends_with("thank you") && header(&thanks, own).is_some(), "{thanks}");
        assert_eq!(header(&thanks, "beekeeper-session"), None, "{thanks}");
        assert!(header(&thanks, "set-cookie").unwrap().starts_with("__Host-bk_demo_end="), "{thanks}");
    }
    assert_eq!(header(&inside("/own/x"), "set-cookie"), None);
}

#[test]
#[ignore = "needs nginx, curl and openssl: cargo xtask test beekeeper"]
fn a_guard_reports_through_the_nginx_that_was_set_up() {
    let machine = Machine::with("active_visitors = 50\n");
    machine.set_up_until_https();
    from_now_on("the room answers at its name", || {
        machine.curl(&format!("{}/polling", machine.url()), &[]).status.success()
    });
    let report = guards_report(&machine.room);
    let taken = machine.visit(&format!("{}/guard", machine.url()), &report.each_ref().map(String::as_str));
    assert!(status(&taken) == "200" && taken.contains("\"session\":"), "{taken}");
    eventually("the report is kept", || is_reported(&machine.room));

    let page = machine.visit(&format!("{}/wait/index.html", machine.url()), &[]);
    assert_eq!(status(&page), "200");
    assert!(!page.to_ascii_lowercase().contains("x-everywhere"), "a policy there would stop it: {page}");

    // A body that nobody reads, and that doesn't come, holds no connection.
    for (path, said, expected) in [
        ("/polling", "Content-Length: 1000", "413"),
        ("/polling", "Transfer-Encoding: chunked", "411"),
        ("/guard", "Content-Length: 1000", "401"),
    ] {
        let at_once = ["--http1.1", "--max-time", "5", "--request", "POST", "--header", said];
        let refused = machine.visit(&format!("{}{path}", machine.url()), &at_once);
        assert_eq!(status(&refused), expected, "{path}, {said}: {refused}");
    }
}

/// The first nginx that tests the new configuration is the one that refuses it: the certificate is none.
#[test]
#[ignore = "needs nginx, curl and openssl: cargo xtask test beekeeper"]
fn what_nginx_refuses_is_put_back() {
    let machine = Machine::new();
    machine.set_up(&[]);
    let before = machine.tree();
    fs::create_dir(machine.folder.join("wait")).unwrap();
    for file in ["fullchain.pem", "privkey.pem"] {
        fs::write(machine.folder.join("wait").join(file), "no certificate").unwrap();
    }
    let output = machine.command(&["--yes"]).output().unwrap();
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(
        said.contains("everything was put back:\n") && said.contains("cannot load certificate"),
        "{said}"
    );
    assert_eq!(machine.tree(), before);
    assert_eq!(machine.arrives("/a"), "shop /app/a");

    // A configuration that is broken already is not touched.
    fs::write(machine.folder.join("etc/conf.d/mine.conf"), "lissten 80;\n").unwrap();
    let broken = machine.tree();
    let output = machine.command(&["--yes"]).output().unwrap();
    let said = text(&output.stderr);
    assert!(said.contains("does not take its present configuration") && said.contains("lissten"), "{said}");
    assert_eq!(machine.tree(), broken);
}

#[test]
#[ignore = "needs nginx, curl and openssl: cargo xtask test beekeeper"]
fn a_setup_that_is_killed_is_put_back_by_the_next_run() {
    let mut machine = Machine::new();
    machine.set_up_until_https();
    machine.start_guard();
    let before = machine.tree();
    // This nginx takes what is there. When it is to test the new files, it kills the setup.
    let bin = machine.folder.join("bin");
    fs::create_dir(&bin).unwrap();
    let real = Nginx::program().unwrap();
    let script = format!(
        "#!/bin/sh\ncase \"$*\" in *-t*) if [ -e {0}/once ]; then kill -9 $PPID; exit 1; fi; touch {0}/once;; esac\nexec {1} \"$@\"\n",
        bin.display(),
        real.display()
    );
    fs::write(bin.join("nginx"), script).unwrap();
    fs::set_permissions(bin.join("nginx"), fs::Permissions::from_mode(0o755)).unwrap();
    let path = std::env::var("PATH").unwrap();
    let killed =
        machine.command(&["--yes"]).env("PATH", format!("{}:{path}", bin.display())).output().unwrap();
    assert_eq!(killed.status.code(), None, "{}", text(&killed.stderr));
    assert_ne!(machine.tree(), before, "it was killed after it had written");

    let dry = machine.command(&["--dry-run"]).output().unwrap();
    assert!(text(&dry.stderr).contains("killed while it wrote"), "{}", text(&dry.stderr));
    let undone = machine.command(&["--undo", "--yes"]).output().unwrap();
    assert!(text(&undone.stderr).contains("what it had begun is put back"), "{}", text(&undone.stderr));
    from_now_on("the shop is alone", || machine.arrives("/a") == "shop /app/a");
    assert!(!machine.folder.join("etc/beekeeper-guard.conf").exists());
    assert!(!machine.folder.join("kept").exists());
}

#[test]
#[ignore = "needs nginx, curl and openssl: cargo xtask test beekeeper"]
fn a_setup_whose_changes_nobody_reads_is_carried_out() {
    let machine = Machine::new();
    let output = machine.command(&["--yes"]).stdout(closed_pipe()).output().unwrap();
    assert!(output.status.success(), "{}", text(&output.stderr));
    assert!(machine.folder.join("etc/sites-enabled/zz-beekeeper.conf").exists());
}

#[test]
#[ignore = "needs nginx, curl and openssl: cargo xtask test beekeeper"]
fn a_file_that_was_edited_since_is_not_undone() {
    let machine = Machine::new();
    machine.set_up(&[]);
    let site = machine.folder.join("etc/sites-enabled/zz-beekeeper.conf");
    let mine = format!("{}# mine\n", fs::read_to_string(&site).unwrap());
    fs::write(&site, &mine).unwrap();
    for arguments in [&["--undo", "--yes"][..], &["--yes"]] {
        let output = machine.command(arguments).output().unwrap();
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{said}");
        assert!(
            said.contains("was changed by somebody else since") && said.contains("\n+# mine\n"),
            "{said}"
        );
        assert_eq!(fs::read_to_string(&site).unwrap(), mine);
    }
}

#[test]
#[ignore = "needs nginx, curl and openssl: cargo xtask test beekeeper"]
fn what_is_missing_or_not_understood_is_told() {
    let machine = Machine::new();
    let refused = |machine: &Machine| {
        let output = machine.command(&["--yes"]).output().unwrap();
        assert_eq!(text(&output.stdout), "");
        (output.status.code().unwrap(), text(&output.stderr))
    };
    let guard_file = machine.folder.join("guard.toml");
    let guard = fs::read_to_string(&guard_file).unwrap();
    fs::write(&guard_file, guard.replace("wait.example", "other.example")).unwrap();
    let (code, said) = refused(&machine);
    assert!(code == 1 && said.contains("write the same name and URL into both"), "{said}");
    fs::remove_file(&guard_file).unwrap();
    let (code, said) = refused(&machine);
    assert!(code == 2 && said.contains("could not read the flags in "), "{said}");
    fs::write(&guard_file, guard).unwrap();
    let shop = machine.folder.join("etc/sites-available/shop");
    let text = fs::read_to_string(&shop).unwrap();
    let text = text.replace("server_name shop.example;", "server_name ~^shop;");
    fs::write(&shop, text.replace("www.shop.example shop.example ;", "www.shop.example ;")).unwrap();
    let (_, said) = refused(&machine);
    assert!(
        said.contains("no server block has the name shop.example")
            && said.contains("hint: write the name itself"),
        "{said}"
    );
    assert!(!machine.folder.join("kept").exists());
}
