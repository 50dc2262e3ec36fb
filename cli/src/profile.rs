//! A room as its operator wrote it down: one TOML file for each, in their configuration directory.
//!
//! What a person wrote into a file by hand, comments included, stays when this writes to it. A file is replaced in one
//! step, so that whatever is interrupted leaves the old one or the new one.

use std::env;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use serde::Serialize;
use toml::Value;
use toml_edit::DocumentMut;
use waitroom::entries::{Entries, parsed, rate, whole, yes_or_no};
use waitroom::{Mistakes, Rate, RoomId, Settings, Title, WebUrl};

use crate::exit::{Exit, Failure};
use crate::region::Region;

/// What the operator decides about a room on AWS. What is not set is as the template has it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Profile {
    pub(crate) title: Title,
    pub(crate) region: Region,
    pub(crate) shop: WebUrl,
    /// At first; later the ledger decides.
    pub(crate) rate: Rate,
    pub(crate) throttle: bool,
    #[serde(flatten)]
    pub(crate) more: More,
}

/// What `init` does not ask.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(default)]
pub(crate) struct More {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) health: Option<WebUrl>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) claim_minutes: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) pass_minutes: Option<u32>,
    /// A folder with a page of the operator's own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) page: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) aws_profile: Option<String>,
    /// Written by the first deployment, so that a later command does not act in another account.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) account: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) architecture: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) domain: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) certificate: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) alarm_email: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) log_days: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) access_log: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) requests_per_second: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) request_burst: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) requests_per_address: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) warm_reads: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) warm_writes: Option<u32>,
}

impl Profile {
    pub(crate) fn from_toml(text: &str) -> Result<Self, Mistakes> {
        let mut entries = Entries::of_toml(text)?;
        let title = entries.needed("title", parsed);
        let region = entries.needed("region", parsed);
        let shop = entries.needed("shop", parsed);
        let first_rate = entries.needed("rate", rate);
        let throttle = entries.optional("throttle", yes_or_no);
        let minutes = || whole("minutes", Settings::MINUTES);
        let more = More {
            health: entries.optional("health", parsed),
            claim_minutes: entries.optional("claim_minutes", minutes()),
            pass_minutes: entries.optional("pass_minutes", minutes()),
            page: entries.optional("page", words),
            aws_profile: entries.optional("aws_profile", words),
            account: entries.optional("account", account),
            architecture: entries.optional("architecture", architecture),
            domain: entries.optional("domain", domain),
            certificate: entries.optional("certificate", certificate),
            alarm_email: entries.optional("alarm_email", email),
            log_days: entries.optional("log_days", log_days),
            access_log: entries.optional("access_log", yes_or_no),
            requests_per_second: entries.optional("requests_per_second", whole("requests", 0..=100_000)),
            request_burst: entries.optional("request_burst", whole("requests", 1..=100_000)),
            requests_per_address: entries.optional("requests_per_address", requests_per_address),
            warm_reads: entries.optional("warm_reads", whole("reads a second", 12_000..=1_000_000)),
            warm_writes: entries.optional("warm_writes", whole("writes a second", 4_000..=1_000_000)),
        };
        let mut mistakes = entries.finish();
        if mistakes.is_empty() && more.domain.is_some() != more.certificate.is_some() {
            mistakes.push("domain: belongs together with certificate; set both or none".into());
        }
        let (Some(title), Some(region), Some(shop), Some(rate), true) =
            (title, region, shop, first_rate, mistakes.is_empty())
        else {
            return Err(mistakes.into());
        };
        Ok(Self { title, region, shop, rate, throttle: throttle.unwrap_or(false), more })
    }

    /// The file as it is to be: what is new here, written into what is there.
    fn written_into(&self, name: &RoomId, existing: Option<&str>) -> Result<String> {
        let fresh = || fresh(name);
        let mut file: DocumentMut = existing.map_or_else(fresh, ToOwned::to_owned).parse()?;
        for (entry, value) in self.entries() {
            match (value, file.get_mut(entry)) {
                (None, _) => drop(file.remove(entry)),
                (Some(value), Some(there)) if there.as_value().is_some_and(|there| says(there, &value)) => {}
                (Some(value), Some(there)) => {
                    if let Some(there) = there.as_value_mut() {
                        let decor = there.decor().clone();
                        *there = value;
                        *there.decor_mut() = decor;
                    } else {
                        *there = value.into();
                    }
                }
                (Some(value), None) => drop(file.insert(entry, value.into())),
            }
        }
        Ok(file.to_string())
    }

    /// Every entry that there can be, in the file's order.
    pub(crate) fn entries(&self) -> [(&'static str, Option<toml_edit::Value>); 22] {
        let text = |text: &Option<String>| text.as_ref().map(Into::into);
        let number = |number: Option<u32>| number.map(|number| i64::from(number).into());
        let More {
            health,
            claim_minutes,
            pass_minutes,
            page,
            aws_profile,
            account,
            architecture,
            domain,
            certificate,
            alarm_email,
            log_days,
            access_log,
            requests_per_second,
            request_burst,
            requests_per_address,
            warm_reads,
            warm_writes,
        } = &self.more;
        [
            ("title", Some(self.title.as_str().into())),
            ("region", Some(self.region.as_str().into())),
            ("shop", Some(self.shop.as_url().as_str().into())),
            ("rate", number(Some(self.rate.get()))),
            ("throttle", Some(self.throttle.into())),
            ("health", health.as_ref().map(|health| health.as_url().as_str().into())),
            ("claim_minutes", number(*claim_minutes)),
            ("pass_minutes", number(*pass_minutes)),
            ("page", text(page)),
            ("aws_profile", text(aws_profile)),
            ("account", text(account)),
            ("architecture", text(architecture)),
            ("domain", text(domain)),
            ("certificate", text(certificate)),
            ("alarm_email", text(alarm_email)),
            ("log_days", number(*log_days)),
            ("access_log", access_log.map(Into::into)),
            ("requests_per_second", number(*requests_per_second)),
            ("request_burst", number(*request_burst)),
            ("requests_per_address", number(*requests_per_address)),
            ("warm_reads", number(*warm_reads)),
            ("warm_writes", number(*warm_writes)),
        ]
    }
}

/// Whether two values mean the same, however they are written.
fn says(there: &toml_edit::Value, value: &toml_edit::Value) -> bool {
    (there.as_str(), there.as_integer(), there.as_bool())
        == (value.as_str(), value.as_integer(), value.as_bool())
}

/// A new file, with what can be set besides.
fn fresh(name: &RoomId) -> String {
    format!(
        r#"# The waiting room {name}. `beekeeper deploy {name}` brings it to AWS as it stands here.

title = ""
region = ""
shop = ""
rate = 0  # how many may enter a minute at first; later: beekeeper set-rate {name} 600
throttle = false  # whether fewer enter while the shop is slower than usual or fails

# More can be set. A line counts once the # before it is gone; a line that is gone is as the template has it.
#
# health = "https://shop.example/up"     what the throttle asks instead of the shop's own URL
# claim_minutes = 60                     how long an admitted visitor may come back for another pass
# pass_minutes = 60                      how long the shop accepts a pass
# page = "/home/you/branding"            a folder with your colour and logo, or a page of your own: docs/page.md
# aws_profile = "events"                 which profile of your AWS configuration the room belongs to
# alarm_email = "you@shop.example"       who is told when something is wrong; about 1.50 dollars a month
# domain = "queue.shop.example"          a domain of your own, and its certificate in this region
# certificate = "arn:aws:acm:…"
# log_days = 14                          for how many days logs are kept
# access_log = false                     whether every request is logged; at ten thousand a second that is dear
# requests_per_second = 0                the most of the account's common limit that the room takes; 0: all of it
# request_burst = 5000                   the most at once, where requests_per_second is set
# requests_per_address = 0               the most from one address in five minutes; 0: no limit. About 6 dollars a month
# warm_reads = 12000                     reads and writes a second that the table is ready for at once; more than
# warm_writes = 4000                     these costs once, and cannot be taken back
# architecture = "arm64"                 or "x86_64"
#
# The first deployment adds `account`; later ones refuse any other. While the room is deployed, its region stays.

"#
    )
}

fn words(value: &Value) -> Result<String, String> {
    let text = value.as_str().ok_or("is a text, in quotation marks")?;
    let valid = !text.trim().is_empty() && !text.chars().any(char::is_control);
    valid.then(|| text.to_owned()).ok_or_else(|| "is a text on one line".into())
}

/// A text that `valid` accepts.
fn text(value: &Value, rule: &str, valid: impl Fn(&str) -> bool) -> Result<String, String> {
    words(value)?;
    let text = value.as_str().unwrap_or_default();
    if valid(text) { Ok(text.to_owned()) } else { Err(rule.to_owned()) }
}

fn account(value: &Value) -> Result<String, String> {
    let twelve = |text: &str| text.len() == 12 && text.bytes().all(|byte| byte.is_ascii_digit());
    text(value, "is the number of an AWS account: twelve digits in quotation marks", twelve)
}

fn architecture(value: &Value) -> Result<String, String> {
    text(value, "is \"arm64\" or \"x86_64\"", |text| matches!(text, "arm64" | "x86_64"))
}

fn domain(value: &Value) -> Result<String, String> {
    let label = |label: &str| {
        !label.is_empty()
            && !label.starts_with('-')
            && !label.ends_with('-')
            && label.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-')
    };
    let valid = |text: &str| {
        let last = text.rsplit('.').next().unwrap_or_default();
        text.len() <= 253
            && text.contains('.')
            && text.split('.').all(label)
            && last.len() > 1
            && last.bytes().all(|byte| byte.is_ascii_lowercase())
    };
    text(value, "is a domain name in lower case, like queue.shop.example", valid)
}

fn certificate(value: &Value) -> Result<String, String> {
    let valid = |text: &str| text.starts_with("arn:aws") && text.contains(":acm:") && !text.contains(' ');
    text(value, "is the ARN of a certificate in the room's region", valid)
}

fn email(value: &Value) -> Result<String, String> {
    let valid = |text: &str| {
        let domain = text.split_once('@').filter(|(name, _)| !name.is_empty()).map(|(_, domain)| domain);
        !text.contains(char::is_whitespace)
            && domain.is_some_and(|domain| domain.contains('.') && !domain.ends_with('.'))
    };
    text(value, "is an e-mail address", valid)
}

/// What CloudWatch can be told, and the template lets through.
const LOG_DAYS: [u32; 12] = [1, 3, 5, 7, 14, 30, 60, 90, 120, 150, 180, 365];

fn log_days(value: &Value) -> Result<u32, String> {
    let days = value.as_integer().and_then(|days| u32::try_from(days).ok());
    days.filter(|days| LOG_DAYS.contains(days))
        .ok_or_else(|| "is one of 1, 3, 5, 7, 14, 30, 60, 90, 120, 150, 180 and 365".into())
}

fn requests_per_address(value: &Value) -> Result<u32, String> {
    let number = whole("requests", 0..=999_999_999)(value)?;
    let valid = number == 0 || number >= 10;
    valid.then_some(number).ok_or_else(|| "is 0, or a whole number of requests from 10".into())
}

/// The operator's rooms.
#[derive(Clone, Debug)]
pub(crate) struct Profiles {
    directory: PathBuf,
}

impl Profiles {
    /// In `$XDG_CONFIG_HOME/beekeeper`, usually `~/.config/beekeeper`.
    pub(crate) fn of_this_user() -> Result<Self> {
        let absolute =
            |variable: &str| env::var_os(variable).map(PathBuf::from).filter(|path| path.is_absolute());
        let config = absolute("XDG_CONFIG_HOME").or_else(|| Some(absolute("HOME")?.join(".config")));
        let config = config.context("neither XDG_CONFIG_HOME nor HOME says where your configuration lies")?;
        Ok(Self { directory: config.join("beekeeper") })
    }

    pub(crate) fn path(&self, name: &RoomId) -> PathBuf {
        self.directory.join(format!("{name}.toml"))
    }

    /// In alphabetical order.
    pub(crate) fn names(&self) -> Result<Vec<RoomId>> {
        let files = match fs::read_dir(&self.directory) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            files => files.with_context(|| format!("could not look into {}", self.directory.display()))?,
        };
        let mut names = Vec::new();
        for file in files {
            let path = file?.path();
            let is_profile = path.extension().is_some_and(|extension| extension == "toml");
            let name = path.file_stem().and_then(|name| name.to_str()).and_then(|name| name.parse().ok());
            names.extend(name.filter(|_| is_profile));
        }
        names.sort();
        Ok(names)
    }

    pub(crate) fn find(&self, name: &RoomId) -> Result<Option<Profile>> {
        let path = self.path(name);
        let Some(text) = read(&path)? else { return Ok(None) };
        let profile = Profile::from_toml(&text);
        profile.map(Some).with_context(|| format!("{} cannot be used as it is", path.display()))
    }

    /// The room that a command names. If there is none, says which there are.
    pub(crate) fn load(&self, name: &RoomId) -> Result<Profile> {
        if let Some(profile) = self.find(name)? {
            return Ok(profile);
        }
        let none = format!("there is no room {name}: {} does not exist", self.path(name).display());
        Err(Failure::new(Exit::Missing, none).advising(self.choice(name)?).into())
    }

    /// What to name instead.
    fn choice(&self, name: &RoomId) -> Result<String> {
        Ok(match self.listed()? {
            Some(names) => format!("rooms that are written down: {names}; one more: beekeeper init {name}"),
            None => format!("write it down with: beekeeper init {name}"),
        })
    }

    /// The names in a sentence; nothing if there are none.
    pub(crate) fn listed(&self) -> Result<Option<String>> {
        let names = self.names()?;
        let names: Vec<_> = names.iter().map(RoomId::as_str).collect();
        Ok((!names.is_empty()).then(|| names.join(", ")))
    }

    /// Writes the room down, and returns where. What else stands in its file stays there.
    pub(crate) fn save(&self, name: &RoomId, profile: &Profile) -> Result<PathBuf> {
        let path = self.path(name);
        let text = profile.written_into(name, read(&path)?.as_deref())?;
        let attempt = || format!("could not write {}", path.display());
        fs::create_dir_all(&self.directory).with_context(attempt)?;
        // In the same directory: only there is renaming one step.
        let new = self.directory.join(format!(".{name}.toml.new"));
        replace(&new, &path, &text).with_context(attempt)?;
        Ok(path)
    }
}

fn read(path: &Path) -> Result<Option<String>> {
    match fs::read_to_string(path) {
        Ok(text) => Ok(Some(text)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error).with_context(|| format!("could not read {}", path.display())),
    }
}

fn replace(new: &Path, path: &Path, text: &str) -> io::Result<()> {
    let mut file = File::create(new)?;
    file.write_all(text.as_bytes())?;
    file.sync_all()?;
    fs::rename(new, path)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SMALLEST: &str = r#"
        title = "Seal's Spring Sale"
        region = "eu-central-1"
        shop = "https://shop.example/sale"
        rate = 300
    "#;

    fn name() -> RoomId {
        "spring-sale".parse().unwrap()
    }

    #[test]
    fn four_entries_make_a_profile() {
        let profile = Profile::from_toml(SMALLEST).unwrap();
        assert_eq!((profile.rate.get(), profile.throttle), (300, false));
        assert_eq!(profile.more, More::default());
    }

    #[test]
    fn every_mistake_is_named_at_once() {
        let mistakes = Profile::from_toml(
            r#"
            title = ""
            region = "Frankfurt"
            rate = "many"
            throttle = "yes"
            claim_minutes = 0
            account = 42
            architecture = "arm"
            domain = "Queue"
            certificate = "mine"
            alarm_email = "me"
            log_days = 2
            requests_per_address = 5
            warm_reads = 11999
            colour = "red"
            "#,
        );
        let mistakes = mistakes.unwrap_err();
        assert_eq!(
            mistakes.iter().collect::<Vec<_>>(),
            [
                "title: a title is 1 to 100 characters on one line",
                "region: a region is written like eu-central-1",
                "shop: is missing",
                "rate: a rate is a whole number of visitors a minute, from 1 to 270000",
                "throttle: is true or false, without quotation marks",
                "claim_minutes: is a whole number of minutes, from 1 to 20160",
                "account: is a text, in quotation marks",
                "architecture: is \"arm64\" or \"x86_64\"",
                "domain: is a domain name in lower case, like queue.shop.example",
                "certificate: is the ARN of a certificate in the room's region",
                "alarm_email: is an e-mail address",
                "log_days: is one of 1, 3, 5, 7, 14, 30, 60, 90, 120, 150, 180 and 365",
                "requests_per_address: is 0, or a whole number of requests from 10",
                "warm_reads: is a whole number of reads a second, from 12000 to 1000000",
                "colour: is not a setting; look for a typing error",
            ]
        );
        let alone = Profile::from_toml(&format!("{SMALLEST}\ndomain = \"queue.shop.example\"")).unwrap_err();
        assert_eq!(alone.to_string(), "domain: belongs together with certificate; set both or none");
    }

    #[test]
    fn what_is_written_is_read_again() {
        let mut profile = Profile::from_toml(SMALLEST).unwrap();
        profile.title = "\"Robben\" \\ #1 🦭".parse().unwrap();
        let written = profile.written_into(&name(), None).unwrap();
        assert_eq!(Profile::from_toml(&written).unwrap(), profile, "{written}");
        assert!(written.contains("rate = 300  # how many"), "{written}");
    }

    #[test]
    fn every_entry_that_is_explained_can_be_set_as_it_stands_there() {
        let written = Profile::from_toml(SMALLEST).unwrap().written_into(&name(), None).unwrap();
        let uncommented = written.lines().map(|line| {
            let entry = line.strip_prefix("# ").filter(|rest| {
                rest.split_once(" = ").is_some_and(|(key, _)| !key.contains(' ') && key != "certificate")
            });
            // What explains it follows after several spaces.
            entry.map_or(line, |entry| entry.split("   ").next().unwrap_or(entry)).to_owned()
        });
        let mut text: String = uncommented.map(|line| line + "\n").collect();
        text.push_str(
            "certificate = \"arn:aws:acm:eu-central-1:000000000000:certificate/c\"\naccount = \"000000000000\"",
        );
        let profile = Profile::from_toml(&text).unwrap_or_else(|mistakes| panic!("{mistakes}\n{text}"));
        for (entry, value) in profile.entries() {
            assert!(value.is_some(), "{entry} is not explained in a new file");
        }
    }

    #[test]
    fn what_a_person_wrote_stays() {
        let own = "# Ours.\nrate = 300 # agreed with Kim\ntitle = 'Sale'\nregion = \"eu-central-1\"\n\n# the new one\nshop = \"https://shop.example/\"\nlog_days = 30\n";
        let mut profile = Profile::from_toml(own).unwrap();
        profile.rate = Rate::new(500).unwrap();
        profile.more.log_days = None;
        profile.more.account = Some("012345678901".into());
        let written = profile.written_into(&name(), Some(own)).unwrap();
        let expected = "# Ours.\nrate = 500 # agreed with Kim\ntitle = 'Sale'\nregion = \"eu-central-1\"\n\n# the new one\nshop = \"https://shop.example/\"\nthrottle = false\naccount = \"012345678901\"\n";
        assert_eq!(written, expected);
    }

    #[test]
    fn the_template_knows_the_same_bounds() {
        let template = include_str!("../../infra/template.yaml");
        for bounds in [
            "AllowedValues: [1, 3, 5, 7, 14, 30, 60, 90, 120, 150, 180, 365]",
            "AllowedValues: [arm64, x86_64]",
            "A whole number from 12000 to 1000000.",
            "A whole number from 4000 to 1000000.",
            "A whole number from 0 to 100000.",
            "0, or a whole number from 10 to 999999999.",
        ] {
            assert!(template.contains(bounds), "{bounds}");
        }
    }
}
