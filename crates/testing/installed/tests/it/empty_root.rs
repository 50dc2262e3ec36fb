//! The archive's program in a root where there is nothing else: no C library, no certificates, no time zones, no shell. Its
//! network has one name server and one shop.

use std::fs;
use std::path::Path;
use std::process::Command;

use emulators::{certify, workspace};
use tempfile::TempDir;

/// Answers every question for a name with this machine, and https at port 443.
const NETWORK: &str = r#"
import http.server, socket, ssl, sys, threading

def names():
    asked = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    asked.bind(("127.0.0.1", 53))
    while True:
        question, whom = asked.recvfrom(512)
        end = question.index(b"\0", 12) + 5
        ipv4 = question[end - 4:end - 2] == b"\0\1"
        answer = b"\xc0\x0c\0\1\0\1\0\0\0\x3c\0\4\x7f\0\0\1" if ipv4 else b""
        count = b"\0\1" if ipv4 else b"\0\0"
        asked.sendto(question[:2] + b"\x81\x80\0\1" + count + b"\0\0\0\0" + question[12:end] + answer, whom)

class Shop(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.send_header("content-length", "4")
        self.end_headers()
        self.wfile.write(b"shop")
    def log_message(self, *words):
        pass

context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
context.load_cert_chain(sys.argv[1], sys.argv[2])
shop = http.server.ThreadingHTTPServer(("127.0.0.1", 443), Shop)
shop.socket = context.wrap_socket(shop.socket, server_side=True)
threading.Thread(target=names, daemon=True).start()
print("ready", flush=True)
shop.serve_forever()
"#;

/// Takes the program out of the archive for this target.
fn unpack(target: &str, folder: &Path) {
    let archive = workspace::target().join(format!("release-files/beekeeper-{target}.tar.gz"));
    let mut tar = Command::new("tar");
    tar.arg("xzf").arg(&archive).arg("-C").arg(folder);
    let unpacked = tar.args(["--strip-components=1", "--wildcards", "*/beekeeper"]).status().unwrap();
    assert!(unpacked.success(), "{}: run `cargo xtask release`", archive.display());
}

/// A root with the program for this machine, and nothing else.
fn empty_root() -> TempDir {
    let root = tempfile::tempdir().unwrap();
    unpack("x86_64-unknown-linux-musl", root.path());
    fs::create_dir(root.path().join("data")).unwrap();
    root
}

/// What lines of shell print in which `beekeeper` is the program in this root.
fn run_in(root: &Path, environment: &[(&str, &str)], lines: &str) -> String {
    let network = root.join("data/network.py");
    fs::write(&network, NETWORK).unwrap();
    certify("shop.test", &root.join("data")).unwrap();
    let line = format!(
        "ip link set lo up\ncd {0}/data\npython3 network.py certificate.pem key.pem > ready &\n\
         until grep -q ready ready; do sleep 0.1; done\n\
         beekeeper() {{ timeout --signal=INT 5 chroot {0} /beekeeper \"$@\"; }}\n{lines}",
        root.display()
    );
    let mut command = Command::new("unshare");
    command.args(["--map-root-user", "--net", "--pid", "--fork", "--kill-child", "sh", "-c", &line]);
    command.env_clear().env("PATH", "/usr/sbin:/usr/bin:/sbin:/bin").env("HOME", "/data");
    let output = command.envs(environment.iter().copied()).output().unwrap();
    String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned()
}

/// Starts a room for this shop, for some seconds.
const ROOM: &str =
    "beekeeper local sale --title Sale --shop https://shop.test/sale --data /data/room --port 0";

#[test]
fn a_shop_is_asked_by_its_name_and_its_certificate_checked() {
    let root = empty_root();
    let distrusted = run_in(root.path(), &[], ROOM);
    assert!(distrusted.contains("Sale is open"), "{distrusted}");
    let unknown = "doesn't know who signed the certificate";
    assert!(distrusted.contains(unknown), "nobody in the program's own list signed it: {distrusted}");
    let trusted = run_in(root.path(), &[("SSL_CERT_FILE", "/data/certificate.pem")], ROOM);
    assert!(!trusted.contains(unknown) && !trusted.contains("does not answer"), "{trusted}");
}

#[test]
fn noon_in_berlin_is_noon_in_berlin() {
    let root = empty_root();
    let opening = |zone| {
        let on = "beekeeper on sale --local --data /data/room --at 'Friday 12:00' --yes";
        run_in(root.path(), &[("TZ", zone)], &format!("{ROOM} > log &\nsleep 1\n{on}"))
    };
    let printed = opening("Europe/Berlin");
    assert!(printed.contains("12:00 CE"), "CET or CEST: {printed}");
    let printed = opening("Europe/Berlinn");
    assert!(printed.contains("Europe/Berlinn") && !printed.contains("UTC"), "{printed}");
}

#[test]
fn the_program_for_arm_runs_too() {
    let folder = tempfile::tempdir().unwrap();
    unpack("aarch64-unknown-linux-musl", folder.path());
    let mut version = Command::new("qemu-aarch64-static");
    let output = version.arg(folder.path().join("beekeeper")).arg("--version").output();
    let output = output.unwrap_or_else(|error| {
        panic!("{error}: the program for arm64 runs by qemu: sudo apt install qemu-user-static")
    });
    let printed = String::from_utf8_lossy(&output.stdout);
    assert!(printed.contains("aarch64-unknown-linux-musl"), "{printed}");
}
