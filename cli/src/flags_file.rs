//! A file of flags, in TOML: `--config FILE` of `local` and `guard`, so that a service starts with one line, and `--scenario FILE`
//! of `simulate`. A key is a flag with underscores. What the file says goes before what was typed, and a flag that was typed
//! counts alone, but for limits: they add up.

use std::ffi::OsString;
use std::fs;
use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::parser::ValueSource;
use clap::{Arg, ArgAction, ArgMatches, Command};
use config::nearest;
use toml_edit::{Document, Item, Value};

use crate::arguments::rehearse::names_file;
use crate::exit::{Exit, Failure};

/// The flags that name a file.
const FILES: [&str; 2] = ["config", "scenario"];

/// Where the file is, what is asked about it, and where the answer goes.
const ONLY_TYPED: [&str; 5] = ["config", "scenario", "find", "within", "html"];

/// What a file says, but for the flags that were typed too.
#[derive(Clone, Debug, Default)]
pub(crate) struct FileFlags {
    file: PathBuf,
    flags: Vec<FileFlag>,
}

#[derive(Clone, Debug)]
struct FileFlag {
    id: String,
    line: usize,
    /// A flag with its value is one word.
    words: Vec<String>,
}

impl FileFlags {
    /// Where the file says this, as file and line. None if it doesn't, or if it was typed too.
    pub(crate) fn place_of(&self, id: &str) -> Option<String> {
        let flag = self.flags.iter().find(|flag| flag.id == id)?;
        Some(format!("{}, line {}", self.file.display(), flag.line))
    }

    /// Adds to an error about flags which belong together that the file has some of them.
    pub(crate) fn with_tip(&self, mut error: clap::Error) -> clap::Error {
        let is_about_several =
            matches!(error.kind(), ErrorKind::MissingRequiredArgument | ErrorKind::ArgumentConflict);
        if is_about_several && !self.flags.is_empty() {
            let file = self.file.display();
            let tip = format!("see also {file}: a key there is a flag, with underscores for dashes");
            error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![tip.into()]));
        }
        error
    }
}

/// The command line with what its file says.
pub(crate) fn expanded(
    program: &Command,
    mut words: Vec<OsString>,
) -> Result<(Vec<OsString>, FileFlags), Failure> {
    let Some((after, from_file)) = said_in_file(program, &words)? else {
        return Ok((words, FileFlags::default()));
    };
    let said = from_file.flags.iter().flat_map(|flag| &flag.words);
    words.splice(after..after, said.map(OsString::from));
    Ok((words, from_file))
}

/// What the file says that is named here, and where among the words it belongs.
fn said_in_file(program: &Command, words: &[OsString]) -> Result<Option<(usize, FileFlags)>, Failure> {
    // What is missing may be in the file, and what is wrong is told when the file has been read.
    let Ok(typed) = program.clone().ignore_errors(true).try_get_matches_from(words) else { return Ok(None) };
    let Some((name, typed)) = typed.subcommand() else { return Ok(None) };
    let named = |flag| typed.try_get_one::<PathBuf>(flag).ok().flatten();
    let Some(file) = FILES.into_iter().find_map(named) else { return Ok(None) };
    // Not among the program's own name, which may be anything.
    let at = words.iter().skip(1).position(|word| word == name);
    let (Some(known), Some(at)) = (program.find_subcommand(name), at) else { return Ok(None) };
    let flags = read(file, known, typed)?;
    Ok(Some((at + 2, FileFlags { file: file.clone(), flags })))
}

fn read(file: &Path, known: &Command, typed: &ArgMatches) -> Result<Vec<FileFlag>, Failure> {
    let failure = |problem: String| Failure::new(Exit::Usage, problem);
    let command = known.get_name();
    let (guide, key) = match command {
        "simulate" => ("docs/simulate.md shows such a file", "give_up = 15"),
        _ => ("docs/hosting.md says how to put it there", "trust_proxy = [\"127.0.0.1\"]"),
    };
    let text = fs::read_to_string(file).map_err(|error| {
        let unread = failure(format!("could not read the flags in {}: {error}", file.display()));
        match error.kind() {
            io::ErrorKind::NotFound => unread.advising(guide),
            io::ErrorKind::PermissionDenied => {
                unread.advising("run the command as a user who may read it, or with sudo")
            }
            _ => unread,
        }
    })?;
    let folder = file.parent().unwrap_or(Path::new(""));
    parse(&text, folder, known, typed).map_err(|mistakes| {
        let mistakes =
            mistakes.iter().map(|(line, problem)| format!("{}, line {line}: {problem}", file.display()));
        failure(mistakes.collect::<Vec<_>>().join("\n")).advising(format!(
            "a key is a flag of {command} with underscores, such as {key}: beekeeper {command} --help"
        ))
    })
}

/// What a file says for this key, if it is a text.
pub(crate) fn text_of(file: &Path, key: &str) -> Option<String> {
    let text = fs::read_to_string(file).ok()?;
    Some(Document::parse(&*text).ok()?.as_table().get(key)?.as_str()?.to_owned())
}

/// All keys that count, or all mistakes with their lines.
fn parse(
    text: &str,
    folder: &Path,
    known: &Command,
    typed: &ArgMatches,
) -> Result<Vec<FileFlag>, Vec<(usize, String)>> {
    let file = Document::parse(text).map_err(|error| vec![unreadable(text, &error)])?;
    let is_typed = |flag: &Arg| typed.value_source(flag.get_id().as_str()) == Some(ValueSource::CommandLine);
    let typed: Vec<&Arg> = known.get_arguments().filter(|flag| is_typed(flag)).collect();
    let (mut all, mut mistakes) = (Vec::new(), Vec::new());
    for (key, item) in file.as_table() {
        let line = line_of(text, file.as_table().key(key).and_then(toml_edit::Key::span));
        match flag(known, key).and_then(|flag| Ok((flag, checked(known, flag, key, item, folder)?))) {
            Ok((flag, words)) if !typed.iter().any(|typed| decides(known, typed, flag)) => {
                all.push(FileFlag { id: flag.get_id().to_string(), line, words });
            }
            Ok(_) => {}
            Err(problem) => mistakes.push((line, problem)),
        }
    }
    if mistakes.is_empty() { Ok(all) } else { Err(mistakes) }
}

/// Whether a flag that was typed leaves nothing to say for this one.
fn decides(known: &Command, typed: &Arg, flag: &Arg) -> bool {
    let excludes = |one: &Arg, other: &Arg| {
        known.get_arg_conflicts_with(one).iter().any(|excluded| excluded.get_id() == other.get_id())
    };
    // Each limit has a name, so those that are typed add to the file's.
    let replaces = typed.get_id() == flag.get_id() && flag.get_id() != "limit";
    replaces || excludes(typed, flag) || excludes(flag, typed)
}

fn flag<'a>(known: &'a Command, key: &str) -> Result<&'a Arg, String> {
    match known.get_arguments().find(|flag| keys(flag).any(|known| known == key)) {
        Some(flag) if ONLY_TYPED.contains(&flag.get_id().as_str()) => {
            Err(format!("{key} can only be typed, as --{key}"))
        }
        Some(flag) => Ok(flag),
        None => {
            let all: Vec<_> = known.get_arguments().flat_map(keys).collect();
            let meant = nearest(key, all.iter().map(String::as_str));
            let meant = meant.map(|meant| format!("; did you mean {meant}?")).unwrap_or_default();
            Err(format!("{key}: {} has no such flag{meant}", known.get_name()))
        }
    }
}

/// How a file names a flag, or a value without one.
fn keys(flag: &Arg) -> impl Iterator<Item = String> {
    let longs = flag.get_long_and_visible_aliases().unwrap_or_default();
    let name = longs.is_empty().then(|| flag.get_id().to_string());
    longs.into_iter().map(|long| long.replace('-', "_")).chain(name)
}

/// What would be typed, if its values can be read.
fn checked(
    known: &Command,
    flag: &Arg,
    key: &str,
    item: &Item,
    folder: &Path,
) -> Result<Vec<String>, String> {
    if matches!(flag.get_action(), ArgAction::SetTrue) && item.as_bool() == Some(false) {
        // There may be a flag that says no.
        let no = format!("no-{}", key.replace('_', "-"));
        let no = known.get_arguments().filter(|flag| flag.get_long() == Some(&no)).map(|_| format!("--{no}"));
        return Ok(no.collect());
    }
    let words = words(flag, key, item, folder)?;
    // Alone, without what it needs.
    let alone = known.clone().no_binary_name(true).mut_args(|flag| flag.required(false));
    match alone.try_get_matches_from(&words) {
        Err(error) if matches!(error.kind(), ErrorKind::ValueValidation | ErrorKind::InvalidValue) => {
            Err(first_line(&error))
        }
        _ => Ok(words),
    }
}

/// What would be typed for this key of a file.
fn words(flag: &Arg, key: &str, item: &Item, folder: &Path) -> Result<Vec<String>, String> {
    let word = |value: String| {
        if flag.is_positional() { value } else { format!("--{}={value}", key.replace('_', "-")) }
    };
    // A file of counts is beside the scenario, wherever you are.
    let text = |text: &str| {
        let is_beside = key == "arrivals" && names_file(text, folder);
        if is_beside { folder.join(text).display().to_string() } else { text.to_owned() }
    };
    let typed = |value: &Value| match value {
        Value::String(value) => Ok(word(text(value.value()))),
        Value::Integer(number) => Ok(word(number.value().to_string())),
        Value::Float(number) => Ok(word(number.value().to_string())),
        _ => Err(format!("{key} must be a text in quotation marks or a number")),
    };
    match (flag.get_action(), item.as_value()) {
        (ArgAction::SetTrue, Some(Value::Boolean(is_set))) => {
            Ok(is_set.value().then(|| format!("--{}", key.replace('_', "-"))).into_iter().collect())
        }
        (ArgAction::SetTrue, _) => Err(format!("{key} must be true or false")),
        (ArgAction::Append, Some(Value::Array(values))) => values.iter().map(typed).collect(),
        (ArgAction::Append, _) => Err(format!("{key} must be a list: [\"…\", \"…\"]")),
        (_, Some(value)) => Ok(vec![typed(value)?]),
        (_, None) => Err(format!("{key} must be a text in quotation marks or a number")),
    }
}

/// Where a file is no TOML, and why.
fn unreadable(text: &str, error: &toml_edit::TomlError) -> (usize, String) {
    let line = line_of(text, error.span());
    let quoted = text
        .lines()
        .nth(line - 1)
        .and_then(quoted)
        .map(|quoted| format!("; put the value in quotation marks: {quoted}"));
    (line, error.message().trim().replace('\n', "; ") + &quoted.unwrap_or_default())
}

/// A line whose value is a text without quotation marks, with them.
fn quoted(line: &str) -> Option<String> {
    let (key, value) = line.split_once('=')?;
    let value = value.split(" #").next().unwrap_or_default().trim();
    let is_readable = value.parse::<toml_edit::Value>().is_ok();
    let is_flag = ["true", "false"].contains(&value.to_lowercase().as_str());
    let is_bare = !value.is_empty() && !value.contains(['"', '\'', '[', '{']);
    (is_bare && !is_readable && !is_flag).then(|| format!("{} = \"{value}\"", key.trim()))
}

fn line_of(text: &str, span: Option<Range<usize>>) -> usize {
    let before = span.and_then(|span| text.get(..span.start)).unwrap_or_default();
    1 + before.matches('\n').count()
}

/// What is wrong with the flags of a file.
pub(crate) fn first_line(error: &clap::Error) -> String {
    if error.kind() == ErrorKind::MissingRequiredArgument
        && let Some(ContextValue::Strings(missing)) = error.get(ContextKind::InvalidArg)
    {
        let key = |flag: &String| {
            let name = flag.split([' ', '=']).next().unwrap_or_default().trim_matches(['-', '<', '>']);
            name.to_lowercase().replace('-', "_")
        };
        let missing: Vec<_> = missing.iter().map(key).collect();
        return format!("{} is missing, and the rest needs it", missing.join(", "));
    }
    let text = error.render().to_string();
    let first = text.lines().next().unwrap_or_default();
    first.strip_prefix("error: ").unwrap_or(first).to_owned()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use clap::{CommandFactory, Parser};
    use simulation::ScenarioRequest;

    use super::*;
    use crate::arguments::{Arguments, Command as Subcommand, Local};

    /// The command line with this file in the place of FILE.
    fn expanded(typed: &str, file: &str) -> Result<Vec<String>, String> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("room.toml");
        fs::write(&path, file).unwrap();
        let words = typed.split(' ').map(|word| word.replace("FILE", path.to_str().unwrap()).into());
        let masked = |text: &str| text.replace(path.to_str().unwrap(), "FILE");
        let expanded = super::expanded(&Arguments::command(), words.collect());
        let (words, _) = expanded.map_err(|failure| masked(&failure.to_string()))?;
        Ok(words.iter().map(|word| masked(word.to_str().unwrap())).collect())
    }

    fn command(typed: &str, file: &str) -> Subcommand {
        let words = expanded(&format!("beekeeper {typed}"), file).unwrap();
        Arguments::try_parse_from(words).unwrap().command
    }

    fn local(typed: &str, file: &str) -> Local {
        match command(typed, file) {
            Subcommand::Local(local) => *local,
            _ => panic!("{typed}"),
        }
    }

    fn simulate(typed: &str, file: &str) -> ScenarioRequest {
        match command(typed, file) {
            Subcommand::Simulate(simulate) => simulate.flags.request(),
            _ => panic!("{typed}"),
        }
    }

    const ROOM: &str = "name = \"spring-sale\"\nshop = \"https://shop.example/sale\"\nrate = 300\nthrottle = true\n\
        listen = \"0.0.0.0:8080\"\ntrust_proxy = [\"127.0.0.1\", \"10.0.0.0/8\"]\njoin_limit = 20\n";

    #[test]
    fn a_key_is_a_flag() {
        let room = local("local --config FILE", ROOM);
        assert_eq!(room.name.unwrap().as_str(), "spring-sale");
        assert_eq!(room.settings.shop.unwrap().to_string(), "https://shop.example/sale");
        assert_eq!(room.settings.throttling.wanted(), Some(true));
        assert_eq!(
            (room.trust_proxy.len(), room.join_limit.map(server::PlacesPerMinute::get)),
            (2, Some(20))
        );
        let quiet = local(
            "local --config=FILE",
            "throttle = false\norigin = \"http://localhost:1\"\nhealth = \"\"\n",
        );
        assert_eq!(quiet.settings.throttling.wanted(), Some(false));
        assert!(quiet.settings.shop.is_some() && quiet.settings.health.is_some());
    }

    #[test]
    fn a_flag_that_is_typed_counts_alone() {
        let room =
            local("--log info local brew --no-throttle --port 0 --trust-proxy ::1 --config FILE", ROOM);
        assert_eq!(room.name.unwrap().as_str(), "brew");
        assert_eq!(room.settings.throttling.wanted(), Some(false));
        assert_eq!((room.trust_proxy.len(), room.port), (1, Some(0)));
        assert_eq!(room.settings.rate.unwrap().get(), 300);
    }

    #[test]
    fn a_flag_that_is_typed_counts_before_the_scenario_and_limits_add_up() {
        let file = "# A sale\nvisitors = \"20k\"\nrate = 600\ngive_up = 2.5\nlocal = false\n\
            new_account = true\nlimit = [\"api-burst=9\", \"concurrency=7\"]\n\
            order = [\n  \"1m pause\",\n  \"2m on\",\n]\n";
        let aws = simulate("simulate --scenario FILE --rate 3k --limit concurrency=8 --opens-after 5m", file);
        assert_eq!((aws.visitors, aws.rate.map(waitroom::Rate::get)), (Some(20_000), Some(3000)));
        assert_eq!((aws.give_up, aws.here, aws.new_account), (Some(2.5), false, true));
        assert_eq!((aws.orders.len(), aws.opens_after), (2, Some(Duration::from_mins(5))));
        assert_eq!(aws.limits.iter().map(|limit| limit.1).collect::<Vec<_>>(), [9.0, 7.0, 8.0]);
        let here = simulate("simulate --local --scenario FILE", file);
        assert!(here.here && !here.is_about_aws(), "{here:?}");
    }

    #[test]
    fn what_is_required_may_be_in_the_file() {
        let file = "name = \"sale\"\nroom = \"https://wait.example\"\none_session = \"first\"\n";
        let words = expanded("beekeeper guard --config FILE", file).unwrap();
        assert_eq!(
            words,
            [
                "beekeeper",
                "guard",
                "sale",
                "--room=https://wait.example",
                "--one-session=first",
                "--config",
                "FILE"
            ]
        );
        assert!(Arguments::try_parse_from(words).is_ok());
    }

    #[test]
    fn all_mistakes_are_named_with_file_and_line() {
        let file = "# A sale\nthrotle = true\nrate = 0\ntrust_proxy = \"127.0.0.1\"\nthrottle = \"yes\"\nconfig = \"b\"\nurl = 1979-05-27\n";
        let said = expanded("beekeeper local --config FILE", file).unwrap_err();
        let lines: Vec<_> = said.lines().collect();
        assert_eq!(lines[0], "FILE, line 2: throtle: local has no such flag; did you mean throttle?");
        assert!(lines[1].starts_with("FILE, line 3: invalid value '0' for '--rate <RATE>'"), "{said}");
        assert_eq!(lines[2], "FILE, line 4: trust_proxy must be a list: [\"…\", \"…\"]");
        assert_eq!(lines[3], "FILE, line 5: throttle must be true or false");
        assert_eq!(lines[4], "FILE, line 6: config can only be typed, as --config");
        assert_eq!(lines[5], "FILE, line 7: url must be a text in quotation marks or a number");
        let said = expanded("beekeeper local --config FILE", "rate = 1\nrate = ").unwrap_err();
        assert!(said.starts_with("FILE, line 2: ") && !said.contains("quotation marks"), "{said}");
        let said = expanded("beekeeper local --config FILE", "rate = 1\nlisten = 127.0.0.1:8080 # here\n")
            .unwrap_err();
        assert!(said.starts_with("FILE, line 2: "), "{said}");
        assert!(said.ends_with("; put the value in quotation marks: listen = \"127.0.0.1:8080\""), "{said}");
        let missing =
            super::expanded(&Arguments::command(), ["b", "local", "--config", "/no"].map(Into::into).into());
        let missing = missing.unwrap_err();
        assert!(missing.to_string().starts_with("could not read the flags in /no: "), "{missing}");
        assert_eq!(missing.advice.as_deref(), Some("docs/hosting.md says how to put it there"));
    }

    #[test]
    fn a_mistake_in_a_scenario_is_named_with_its_line() {
        for (file, line, told) in [
            ("rate = 60\nvisitor = 9", 2, "visitor: simulate has no such flag; did you mean visitors?"),
            (
                "\n\nvisitors = \"many\"",
                3,
                "invalid value 'many' for '--visitors <N>': must be a whole number",
            ),
            ("visitors = -5", 1, "invalid value '-5' for '--visitors <N>'"),
            ("rate = 0", 1, "from 1 to 270000"),
            ("rate = 60\nrate = 61", 2, "duplicate key"),
            ("rate = 60\norder = \"1m on\"", 2, "order must be a list"),
            ("order = [\n\"1m on\",\n\"1m dance\"]", 1, "20m pause"),
            ("local = \"yes\"", 1, "local must be true or false"),
            ("[visitors]\nmany = 1", 1, "visitors must be a text"),
            ("rate = true", 1, "rate must be a text"),
            ("html = \"a.html\"", 1, "html can only be typed, as --html"),
            ("rate = \n", 1, ""),
        ] {
            let said = expanded("beekeeper simulate --scenario FILE", file).unwrap_err();
            assert!(
                said.starts_with(&format!("FILE, line {line}: ")) && said.contains(told),
                "{file}: {said}"
            );
        }
    }

    #[test]
    fn the_shipped_files_can_be_read_with_all_that_they_show() {
        for (command, file) in [
            ("local", include_str!("../../docs/hosting/room.toml")),
            ("guard", include_str!("../../docs/hosting/guard.toml")),
        ] {
            let line = |line: &str| match line.strip_prefix("# ") {
                Some(shown) if shown.split(' ').nth(1) == Some("=") => format!("{shown}\n"),
                _ => format!("{line}\n"),
            };
            let shown: String = file.lines().map(line).collect();
            assert!(shown.matches("\n#").count() < file.matches("\n#").count());
            let words = expanded(&format!("beekeeper {command} --config FILE"), &shown).unwrap();
            assert!(Arguments::try_parse_from(&words).is_ok(), "{words:?}");
        }
    }

    #[test]
    fn other_commands_are_left_as_they_are() {
        for typed in [
            "beekeeper",
            "beekeeper local",
            "beekeeper config local",
            "beekeeper dance --config FILE",
            "beekeeper local --help",
        ] {
            assert_eq!(expanded(typed, "").unwrap().join(" "), typed);
        }
    }
}
