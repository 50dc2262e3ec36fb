//! A scenario file: each key is a flag of `simulate`, with underscores, and is read as that flag is.

use std::path::Path;

use clap::{Args, Command, FromArgMatches};
use simulation::ScenarioRequest;
use toml_edit::{Document, Item};

use crate::arguments::{ScenarioFlags, names_file};
use crate::exit::{Exit, Failure};
use crate::flags_file::{first_line, line_of, unreadable, words};

/// Reads a file. A mistake is named with its line.
pub(crate) fn read(file: &Path) -> Result<ScenarioRequest, Failure> {
    let failure = |problem: String| Failure::new(Exit::Usage, problem);
    let text = std::fs::read_to_string(file)
        .map_err(|error| failure(format!("could not read the scenario {}: {error}", file.display())))?;
    let folder = file.parent().unwrap_or(Path::new(""));
    parse(&text, folder).map_err(|(line, problem)| {
        failure(format!("{}, line {line}: {problem}", file.display()))
            .advising("a key is a flag of simulate with underscores, such as give_up = 15: docs/simulate.md")
    })
}

fn parse(text: &str, folder: &Path) -> Result<ScenarioRequest, (usize, String)> {
    let file = Document::parse(text).map_err(|error| unreadable(text, &error))?;
    let known = ScenarioFlags::augment_args(Command::new("scenario").no_binary_name(true));
    let mut all = Vec::new();
    for (key, item) in file.as_table() {
        let line = line_of(text, file.as_table().key(key).and_then(toml_edit::Key::span));
        let flags = flags(&known, key, item, folder).map_err(|problem| (line, problem))?;
        known.clone().try_get_matches_from(&flags).map_err(|error| (line, first_line(&error)))?;
        all.extend(flags);
    }
    let flags = known.try_get_matches_from(all).and_then(|found| ScenarioFlags::from_arg_matches(&found));
    flags.map(ScenarioFlags::request).map_err(|error| (1, first_line(&error)))
}

/// What would be typed for this key. A file of counts is beside the scenario, wherever you are.
fn flags(known: &Command, key: &str, item: &Item, folder: &Path) -> Result<Vec<String>, String> {
    let keys = || known.get_arguments().map(|flag| flag.get_id().as_str()).collect::<Vec<_>>();
    let found = known.get_arguments().find(|flag| flag.get_id() == key);
    let flag = found.ok_or_else(|| format!("there is no {key}; the keys are {}", keys().join(", ")))?;
    words(flag, key, item, |text| {
        let is_beside = key == "arrivals" && names_file(text, folder);
        if is_beside { folder.join(text).display().to_string() } else { text.to_owned() }
    })
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn parse(text: &str) -> Result<ScenarioRequest, (usize, String)> {
        super::parse(text, Path::new(""))
    }

    #[test]
    fn a_file_says_what_flags_say_and_flags_count_first() {
        let file = parse(
            "# A sale\nvisitors = \"20k\"\nrate = 600\ngive_up = 2.5\nlocal = false\nnew_account = true\n\
             limit = [\"api-burst=9\", \"concurrency=7\"]\norder = [\n  \"1m pause\",\n  \"2m on\",\n]\n",
        )
        .unwrap();
        let typed = parse("rate = \"3k\"\nlimit = [\"concurrency=8\"]\nopens_after = \"5m\"").unwrap();
        let both = typed.or(file);
        assert_eq!((both.visitors, both.rate.map(waitroom::Rate::get)), (Some(20_000), Some(3000)));
        assert_eq!((both.give_up, both.here, both.new_account), (Some(2.5), false, true));
        assert_eq!((both.orders.len(), both.opens_after), (2, Some(Duration::from_mins(5))));
        assert_eq!(both.limits.iter().map(|limit| limit.1).collect::<Vec<_>>(), [9.0, 7.0, 8.0]);
    }

    #[test]
    fn a_mistake_is_named_with_its_line() {
        for (text, line, told) in [
            ("rate = 60\nvisitor = 9", 2, "there is no visitor; the keys are local, visitors, "),
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
            ("html = \"a.html\"", 1, "there is no html"),
            ("rate = \n", 1, ""),
            ("local = true\nnew_account = true", 1, "cannot be used with"),
        ] {
            let (at, problem) = parse(text).unwrap_err();
            assert!(at == line && problem.contains(told), "{text}: line {at}: {problem}");
        }
    }
}
