//! The container image, unpacked: it says what to run, and has all that this needs.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use emulators::{busybox, workspace};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::installer::Said;

/// An unpacked archive of an image for several processors.
struct Image(TempDir);

impl Image {
    fn of_this_build() -> Self {
        let archive = workspace::target().join("release-files/beekeeper-image.tar");
        assert!(archive.is_file(), "there is no {}: run `cargo xtask release`", archive.display());
        let image = Self(tempfile::tempdir().unwrap());
        unpack(&archive, image.0.path());
        image
    }

    fn json(&self, path: &str) -> Value {
        serde_json::from_slice(&fs::read(self.0.path().join(path)).unwrap()).unwrap()
    }

    /// Where the content is that this descriptor names.
    fn blob(descriptor: &Value) -> String {
        format!("blobs/{}", descriptor["digest"].as_str().unwrap().replace(':', "/"))
    }

    /// The manifest for a processor, by Docker's name for it.
    fn manifest(&self, architecture: &str) -> Value {
        let index = self.json(&Self::blob(&self.json("index.json")["manifests"][0]));
        let manifests = index["manifests"].as_array().unwrap();
        let found = manifests.iter().find(|one| one["platform"]["architecture"] == architecture);
        self.json(&Self::blob(found.unwrap_or_else(|| panic!("there is none for {architecture}"))))
    }

    fn layers(&self, architecture: &str) -> Vec<PathBuf> {
        let manifest = self.manifest(architecture);
        let layers = manifest["layers"].as_array().unwrap();
        layers.iter().map(|layer| self.0.path().join(Self::blob(layer))).collect()
    }
}

fn unpack(archive: &Path, folder: &Path) {
    let tar = Command::new("tar").arg("xf").arg(archive).arg("-C").arg(folder).status().unwrap();
    assert!(tar.success());
}

#[test]
fn it_runs_a_room_as_nobody_in_particular() {
    let image = Image::of_this_build();
    for architecture in ["amd64", "arm64"] {
        let config = image.json(&Image::blob(&image.manifest(architecture)["config"]))["config"].clone();
        assert_eq!(config["User"], "65532:65532", "{architecture}");
        assert_eq!(config["Entrypoint"], json!(["/beekeeper"]), "{architecture}");
        let command = [
            "local",
            "--listen",
            "0.0.0.0:8080",
            "--data",
            "/var/lib/beekeeper",
            "--metrics",
            "0.0.0.0:9180",
        ];
        assert_eq!(config["Cmd"], json!(command), "{architecture}");
        assert!(config["Volumes"]["/var/lib/beekeeper"].is_object(), "{architecture}: {config}");
        let mut list = Command::new("tar");
        list.args(["--list", "--verbose", "--numeric-owner", "--file"]);
        let lists = image.layers(architecture).into_iter().map(|layer| {
            Said::of(Command::new(list.get_program()).args(list.get_args()).arg(layer).output().unwrap()).out
        });
        let files = lists.collect::<String>();
        let mut lines = files.lines();
        let is_owned = |line: &str| line.contains(" 65532/65532 ") && line.ends_with(" var/lib/beekeeper/");
        assert!(lines.any(is_owned), "a new volume belongs to the room: {files}");
    }
}

/// In a root that is read-only, with a network and a volume of its own, as `compose.yaml` has it.
#[test]
fn it_has_what_a_room_and_a_guard_need() {
    const INSIDE: &str = r#"
        root=$1; busybox=$2
        "$busybox" ip link set lo up
        mount --bind "$root" "$root" && mount -o remount,bind,ro "$root"
        mount -t tmpfs none "$root/var/lib/beekeeper"
        run() { chroot "$root" /beekeeper "$@"; }
        answers() {
            for attempt in 1 2 3 4 5 6 7 8 9 10; do
                curl --silent --fail --max-time 5 "$1" && return
                sleep 0.5
            done
            false
        }
        set -e
        run local --listen 0.0.0.0:8080 --url http://127.0.0.1:8080 --data /var/lib/beekeeper --metrics 0.0.0.0:9180 &
        answers http://127.0.0.1:9180/healthz
        run health --data /var/lib/beekeeper
        run guard demo --room http://127.0.0.1:8080 --http --listen 0.0.0.0:8090 --data /var/lib/beekeeper/guard \
            --metrics 0.0.0.0:9181 &
        answers http://127.0.0.1:9181/healthz
        echo "both are well"
    "#;
    let image = Image::of_this_build();
    let root = tempfile::tempdir().unwrap();
    let here = if cfg!(target_arch = "aarch64") { "arm64" } else { "amd64" };
    for layer in image.layers(here) {
        unpack(&layer, root.path());
    }
    let mut inside = Command::new("unshare");
    // A container has no variables of whoever starts it.
    inside.env_clear().env("PATH", "/usr/sbin:/usr/bin:/sbin:/bin");
    inside.args([
        "--map-root-user",
        "--mount",
        "--net",
        "--pid",
        "--fork",
        "--kill-child",
        "sh",
        "-c",
        INSIDE,
        "sh",
    ]);
    let said = Said::of(inside.arg(root.path()).arg(busybox().unwrap()).output().unwrap());
    assert!(said.well && said.out.ends_with("both are well\n"), "{}\n{}", said.out, said.err);
}
