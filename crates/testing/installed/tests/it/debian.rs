//! The Debian package: installed by apt into a Debian that has booted, upgraded with people in line, removed.

use std::fs;
use std::path::PathBuf;
use std::thread;
use std::time::Duration;

use emulators::{free_port, workspace};

use crate::container::{Container, copy};
use crate::crowd::Crowd;

/// The program and the unit of the commit before the first release.
fn before() -> PathBuf {
    workspace::target().join("release-work/beekeeper_0.0.9_amd64.deb")
}

fn this_release() -> PathBuf {
    workspace::target().join("release-files/beekeeper_amd64.deb")
}

/// What the operator writes down, at a port that is free: the container has the network of this machine.
fn configure(container: &Container, port: u16) -> String {
    let ours = format!(
        "# Ours.\nname = \"spring-sale\"\ntitle = \"Seal Brewing\"\nshop = \"https://shop.example/sale\"\n\
         url = \"https://wait.example\"\ndata = \"/var/lib/beekeeper\"\nlisten = \"127.0.0.1:{port}\"\n"
    );
    fs::write(container.root().join("etc/beekeeper/room.toml"), &ours).unwrap();
    ours
}

/// Waits until the room takes orders, which is after it listens. Until it runs, its file answers, with the time when it stopped.
fn until_it_answers(container: &Container) {
    container.run(
        "for i in $(seq 100); do status=$(beekeeper status spring-sale --local --json --data /var/lib/beekeeper 2>/dev/null) && \
         case $status in *stopped_at*) ;; *) exit 0 ;; esac; sleep 0.1; done; exit 1",
    );
}

/// An order or a question of the operator's.
fn operate(container: &Container, arguments: &str) -> String {
    container.run(&format!("beekeeper {arguments} --local --data /var/lib/beekeeper"))
}

#[test]
fn a_visitor_walks_through_a_room_that_apt_installed() {
    let container = Container::boot();
    copy(&this_release(), &container, "/opt/beekeeper.deb");
    let printed = container.run("apt-get install --yes /opt/beekeeper.deb 2>&1");
    assert!(printed.contains("systemctl enable --now beekeeper"), "says what comes next: {printed}");
    let states = container.try_run("systemctl is-enabled beekeeper beekeeper-guard").stdout;
    assert_eq!(
        String::from_utf8_lossy(&states),
        "disabled\ndisabled\n",
        "nothing starts before it is configured"
    );

    let port = free_port().unwrap();
    let ours = configure(&container, port);
    container.run("systemctl enable --now beekeeper");
    until_it_answers(&container);
    assert_eq!(Crowd::join(port, 1).enter().into_iter().collect::<Vec<_>>(), [1]);
    let file = container.root().join("etc/beekeeper/room.toml");
    fs::write(&file, format!("{ours}titel = \"Seal Brewing\"\n")).unwrap();
    let mistaken = ours.lines().count() + 1;
    // As the file says to look at it after a change. The restart itself succeeds.
    container.run("systemctl restart beekeeper");
    container.run(&format!(
        "for i in $(seq 100); do case $(systemctl status beekeeper; journalctl --unit beekeeper --lines 10) in \
         *'Active: activating'*'room.toml, line {mistaken}: '*) exit 0 ;; esac; sleep 0.1; done; exit 1"
    ));
    fs::write(&file, ours).unwrap();
    until_it_answers(&container);
    assert!(container.run("man --version; ls /usr/share/man/man1").contains("beekeeper-local.1.gz"));
    assert!(container.run("beekeeper --version").contains("x86_64-unknown-linux-musl"));

    container.run("apt-get remove --yes beekeeper");
    assert!(!container.root().join("usr/bin/beekeeper").exists());
    assert!(container.root().join("etc/beekeeper/room.toml").exists(), "a removal keeps the configuration");
    let printed = container.run("apt-get purge --yes beekeeper 2>&1");
    assert!(!container.root().join("etc/beekeeper").exists());
    assert!(
        container.root().join("var/lib/beekeeper/room.redb").exists(),
        "nobody loses a line by a clean-up"
    );
    assert!(printed.contains("rm -r /var/lib/beekeeper"), "and the operator is told: {printed}");
}

#[test]
fn ten_thousand_in_line_outlive_an_upgrade() {
    let container = Container::boot();
    copy(&before(), &container, "/opt/before.deb");
    copy(&this_release(), &container, "/opt/beekeeper.deb");
    container.run("apt-get install --yes /opt/before.deb");
    let port = free_port().unwrap();
    let ours = configure(&container, port);
    // The version before had its flags in the unit.
    let flags = format!(
        "[Service]\nExecStart=\nExecStart=/usr/bin/beekeeper local spring-sale --data /var/lib/beekeeper --port {port} \
         --title \"Seal Brewing\" --shop https://shop.example/sale --url https://wait.example\n"
    );
    let folder = container.root().join("etc/systemd/system/beekeeper.service.d");
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join("flags.conf"), flags).unwrap();
    container.run("systemctl daemon-reload && systemctl enable --now beekeeper");
    until_it_answers(&container);
    assert!(container.run("beekeeper --version").starts_with("beekeeper 0."));
    operate(&container, "pause spring-sale");
    // Until it is in force, which the answer promises within three seconds.
    thread::sleep(Duration::from_secs(4));
    let crowd = Crowd::join(port, 10_000);
    let earlier = container.run("systemctl show --property MainPID beekeeper");

    fs::remove_dir_all(&folder).unwrap();
    container.run("apt-get install --yes /opt/beekeeper.deb");
    until_it_answers(&container);
    assert_ne!(container.run("systemctl show --property MainPID beekeeper"), earlier, "started again");
    let kept = fs::read_to_string(container.root().join("etc/beekeeper/room.toml")).unwrap();
    assert_eq!(kept, ours, "the operator's configuration");
    let status = operate(&container, "status spring-sale");
    assert!(status.contains("waiting        10000"), "{status}");

    operate(&container, "set-rate spring-sale 100000 --yes");
    operate(&container, "on spring-sale --yes");
    let numbers = crowd.enter();
    assert!(numbers.into_iter().eq(1..=10_000), "each number once");
    // The count follows the visitors, who are let in as soon as they may enter.
    container.run(
        "for i in $(seq 60); do if beekeeper status spring-sale --local --data /var/lib/beekeeper | \
         grep -q 'released *10000$'; then exit 0; fi; sleep 1; done; exit 1",
    );
}
