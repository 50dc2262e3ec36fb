//! The room that is a service of this machine, and how to get to it: its data is in a directory of its own, which every order has
//! to name.

use std::env;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use rooms::data;
use waitroom::RoomId;

use crate::arguments::ROOM_FILE;
use crate::exit::{Exit, Failure};
use crate::flags_file::text_of;

/// How a service is started, whatever it was doing, how it's started again, and how it's stopped.
pub(crate) const START: &str = "sudo systemctl start beekeeper";
pub(crate) const RESTART: &str = "sudo systemctl restart beekeeper";
pub(crate) const STOP: &str = "sudo systemctl stop beekeeper";

/// Where a service has its data, unless its file says otherwise.
pub(crate) const USUAL_DATA: &str = "/var/lib/beekeeper";

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ServiceRoom {
    pub(crate) name: RoomId,
    pub(crate) data: PathBuf,
}

impl ServiceRoom {
    /// The service of this machine, if its file can be read and says where its data is.
    pub(crate) fn of_this_machine() -> Option<Self> {
        Self::described_in(Path::new(ROOM_FILE))
    }

    fn described_in(file: &Path) -> Option<Self> {
        let [name, data] = ["name", "data"].map(|key| text_of(file, key));
        Some(Self { name: name?.parse().ok()?, data: data?.into() })
    }

    /// Whether the room in this directory is the service of this machine.
    pub(crate) fn is_in(directory: &Path) -> bool {
        Self::of_this_machine().is_some_and(|service| service.data == directory)
    }

    /// Whether it was ever started. The package only brings its configuration.
    pub(crate) fn has_run(&self) -> bool {
        !self.data.symlink_metadata().is_err_and(|error| error.kind() == ErrorKind::NotFound)
    }

    /// Where it is, for a sentence.
    pub(crate) fn place(&self) -> String {
        format!("the service {} has --data {}", self.name, self.data.display())
    }

    /// Refuses a second room of its name, which whoever forgot where the service has its data would begin in another folder.
    pub(crate) fn refuse_elsewhere(
        &self,
        directory: &Path,
        name: &RoomId,
        instead: &str,
    ) -> Result<(), Failure> {
        if self.name != *name || self.data == directory {
            return Ok(());
        }
        let elsewhere = format!("there is no room {name} in {}; {}", directory.display(), self.place());
        let advice = format!("{instead}; or name the other folder with --data, if you mean that");
        Err(Failure::new(Exit::Usage, elsewhere).advising(advice))
    }

    /// Asks whether this one was meant by whoever looked elsewhere for a room of this name, or of none. `demo` is looked for where
    /// none was named.
    pub(crate) fn asked_about(&self, named: Option<&RoomId>) -> Option<String> {
        let words: Option<Vec<_>> = env::args_os().skip(1).map(|word| word.into_string().ok()).collect();
        self.asked_of(named, words.as_deref().unwrap_or_default())
    }

    fn asked_of(&self, named: Option<&RoomId>, typed: &[String]) -> Option<String> {
        let is_usual = |name: &RoomId| data::default_name().is_ok_and(|usual| usual == *name);
        let Some(name) = named else { return Some(self.question(typed)) };
        if *name != self.name && (!is_usual(name) || typed.iter().any(|word| word == name.as_str())) {
            return None;
        }
        Some(self.question(typed))
    }

    fn question(&self, typed: &[String]) -> String {
        let data = format!("--data {}", self.data.display());
        // After `--`, a flag is none. With another directory, the order was meant for that.
        let is_more = |word: &String| word == "--" || word.starts_with("--data");
        if typed.is_empty() || typed.iter().any(is_more) {
            return format!("do you mean the service {}? Add {data}", self.name);
        }
        let typed: Vec<_> = typed.iter().map(|word| for_shell(word)).collect();
        format!("do you mean the service {}? beekeeper {} {data}", self.name, typed.join(" "))
    }
}

/// A word as it has to be typed.
fn for_shell(word: &str) -> String {
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "-_./:=,@%+".contains(letter);
    if !word.is_empty() && word.chars().all(is_plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn shipped() -> ServiceRoom {
        let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/hosting/room.toml");
        ServiceRoom::described_in(Path::new(file)).unwrap()
    }

    #[test]
    fn an_order_that_forgot_the_directory_of_the_service_is_told_with_it() {
        let service = shipped();
        let asked = |named: Option<&str>, typed: &[&str]| {
            let typed: Vec<_> = typed.iter().map(ToString::to_string).collect();
            service.asked_of(named.map(|name| name.parse().unwrap()).as_ref(), &typed)
        };
        let order = |order: &str| {
            Some(format!("do you mean the service spring-sale? beekeeper {order} --data /var/lib/beekeeper"))
        };
        assert_eq!(asked(Some("spring-sale"), &["pause", "spring-sale"]), order("pause spring-sale"));
        assert_eq!(asked(Some("demo"), &["pause", "--local"]), order("pause --local"), "none was named");
        assert_eq!(asked(None, &["pause"]), order("pause"));
        assert_eq!(
            asked(None, &["message", "it's two more hours"]),
            order(r"message 'it'\''s two more hours'")
        );
        let flags = Some("do you mean the service spring-sale? Add --data /var/lib/beekeeper".to_owned());
        assert_eq!(asked(Some("spring-sale"), &["pause", "--data=/srv/sale"]), flags);
        assert_eq!(asked(Some("spring-sale"), &["message", "--", "spring-sale", "-5"]), flags);
        assert_eq!(asked(Some("summer"), &["pause", "summer"]), None, "another one was named");
        assert_eq!(asked(Some("demo"), &["pause", "demo", "--local"]), None, "another one was named");
    }

    #[test]
    fn a_second_room_of_its_name_is_not_begun_in_another_folder_unasked() {
        let service = shipped();
        let refused = |name: &str, directory: &Path| {
            service.refuse_elsewhere(directory, &name.parse().unwrap(), "start it").is_err()
        };
        let home = Path::new("/root/.local/share/beekeeper/spring-sale");
        assert!(refused("spring-sale", home));
        assert!(!refused("spring-sale", &service.data) && !refused("another", home));
    }

    #[test]
    fn a_file_that_does_not_describe_a_service_is_none() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("room.toml");
        assert_eq!(ServiceRoom::described_in(&file), None);
        for text in
            ["name = \"sale\"\n", "data = \"/srv\"\n", "name = \"A sale\"\ndata = \"/srv\"\n", "name ="]
        {
            fs::write(&file, text).unwrap();
            assert_eq!(ServiceRoom::described_in(&file), None, "{text}");
        }
    }
}
