//! Reads how many visitors came when: a list of counts, or the record of a past event.

use serde::Deserialize;

const MINUTE: u32 = 60_000;
const LONGEST: u32 = 7 * 24 * 60 * MINUTE;

/// So many came in this time, in milliseconds since the beginning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CountedTime {
    pub from: u32,
    pub to: u32,
    pub visitors: u32,
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RecordError {
    #[error("line {line} of the counts: {problem}")]
    WrongLine { line: usize, problem: String },
    #[error("the record cannot be read: {0}")]
    WrongRecord(String),
    #[error("the counts have no visitors")]
    Nobody,
}

/// A minute of a past event. `at` is when it ended, in milliseconds since 1970.
#[derive(Clone, Copy, Debug, Deserialize)]
struct PastMinute {
    at: u64,
    joined: u32,
    #[serde(default)]
    rehearsal: bool,
}

/// A report of ours. If it is not about rehearsals, their minutes are in it and count for nothing.
#[derive(Debug, Deserialize)]
struct PastEvent {
    minutes: Vec<PastMinute>,
    #[serde(default)]
    rehearsal: bool,
}

/// The times of a text, in which at least one visitor came.
pub(crate) fn read(text: &str) -> Result<Vec<CountedTime>, RecordError> {
    // Spreadsheets begin a file with this mark.
    let counted_times = read_any(text.trim_start_matches('\u{feff}'))?;
    let is_nobody = counted_times.iter().all(|counted| counted.visitors == 0);
    if is_nobody { Err(RecordError::Nobody) } else { Ok(counted_times) }
}

fn read_any(text: &str) -> Result<Vec<CountedTime>, RecordError> {
    if text.trim_start().starts_with('{') {
        let event: PastEvent =
            serde_json::from_str(text).map_err(|error| RecordError::WrongRecord(error.to_string()))?;
        let counts = |minute: &PastMinute| minute.rehearsal == event.rehearsal;
        return counted_times(event.minutes.iter().copied().filter(counts));
    }
    let lines = || (1..).zip(text.lines()).filter(|(_, line)| !line.trim().is_empty());
    let Some((_, first)) = lines().next() else { return Err(RecordError::Nobody) };
    if first.trim().parse::<u32>().is_ok() {
        return counts_a_minute(lines());
    }
    let columns = fields(first);
    let column = |name: &str| {
        let found = columns.iter().position(|column| *column == name);
        let problem = || {
            format!(
                "there is no column {name:?}: write a number of visitors on each line, or the columns at and joined"
            )
        };
        found.ok_or_else(|| RecordError::WrongLine { line: 1, problem: problem() })
    };
    let (at, joined) = (column("at")?, column("joined")?);
    let minutes: Vec<_> =
        lines().skip(1).map(|(line, text)| past_minute(line, text, at, joined)).collect::<Result<_, _>>()?;
    counted_times(minutes.into_iter())
}

/// A number of visitors on each line, a line for each minute.
fn counts_a_minute<'a>(
    lines: impl Iterator<Item = (usize, &'a str)>,
) -> Result<Vec<CountedTime>, RecordError> {
    let mut counted_times = Vec::new();
    let mut from = 0;
    for (line, text) in lines {
        let wrong = || RecordError::WrongLine {
            line,
            problem: format!("{:?} is not a number of visitors", text.trim()),
        };
        let visitors = text.trim().parse().map_err(|_| wrong())?;
        let to = later(from, line)?;
        counted_times.push(CountedTime { from, to, visitors });
        from = to;
    }
    Ok(counted_times)
}

fn later(from: u32, line: usize) -> Result<u32, RecordError> {
    let too_long =
        || RecordError::WrongLine { line, problem: "visitors may come for seven days at most".into() };
    from.checked_add(MINUTE).filter(|to| *to <= LONGEST).ok_or_else(too_long)
}

/// Separated by commas, or by semicolons where people write a comma in a number. No column of a record has either.
fn fields(line: &str) -> Vec<&str> {
    line.split([',', ';']).map(|field| field.trim().trim_matches('"')).collect()
}

fn past_minute(line: usize, text: &str, at: usize, joined: usize) -> Result<PastMinute, RecordError> {
    let fields = fields(text);
    let field = |index: usize| fields.get(index).copied().unwrap_or_default();
    let wrong = |field: &str, what: &str| RecordError::WrongLine {
        line,
        problem: format!("{field:?} is not {what}"),
    };
    let at = instant(field(at)).ok_or_else(|| wrong(field(at), "an instant like 2027-03-05T11:00:00Z"))?;
    let joined = field(joined).parse().map_err(|_| wrong(field(joined), "a number of visitors"))?;
    Ok(PastMinute { at, joined, rehearsal: false })
}

/// An instant as our own records write it: `2027-03-05 11:00:00 UTC`, or as RFC 3339 has it, or in milliseconds.
fn instant(text: &str) -> Option<u64> {
    if let Ok(millis) = text.parse() {
        return Some(millis);
    }
    let text = text.strip_suffix(" UTC").map_or_else(|| text.to_owned(), |time| format!("{time}Z"));
    let instant: jiff::Timestamp = text.parse().ok()?;
    u64::try_from(instant.as_millisecond()).ok()
}

/// Each minute of a record ends at its instant, and begins when the one before it ended, or a minute earlier.
fn counted_times(minutes: impl Iterator<Item = PastMinute>) -> Result<Vec<CountedTime>, RecordError> {
    let mut all: Vec<CountedTime> = Vec::new();
    let mut begin = None;
    for PastMinute { at, joined, .. } in minutes {
        let begin = *begin.get_or_insert(at.saturating_sub(MINUTE.into()));
        let to = at.checked_sub(begin).and_then(|to| u32::try_from(to).ok());
        let after = all.last().map_or(0, |last| last.to);
        let wrong = |what: &str| RecordError::WrongRecord(what.into());
        let to = to.filter(|to| *to >= after).ok_or_else(|| wrong("its minutes are not in order"))?;
        if to > LONGEST {
            return Err(wrong(
                "its minutes are of more than seven days; take one event: the lines of it in a CSV, as `beekeeper report FILE.json --csv \
                 FILE.csv` writes it",
            ));
        }
        all.push(CountedTime { from: after.max(to.saturating_sub(MINUTE)), to, visitors: joined });
    }
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counted(from: u32, to: u32, visitors: u32) -> CountedTime {
        CountedTime { from: from * 1000, to: to * 1000, visitors }
    }

    #[test]
    fn a_spreadsheet_writes_a_mark_and_semicolons() {
        let commas = read("at,joined\n2027-03-05T11:00:00Z,7\n2027-03-05T11:01:00Z,9\n").unwrap();
        let semicolons = "\u{feff}\"at\";\"joined\"\r\n2027-03-05T11:00:00Z;7\r\n2027-03-05T11:01:00Z;9\r\n";
        assert_eq!(read(semicolons).unwrap(), commas);
        assert_eq!(read("\u{feff}7\n9\n").unwrap(), [counted(0, 60, 7), counted(60, 120, 9)]);
    }

    #[test]
    fn counts_are_a_line_a_minute() {
        assert_eq!(
            read("3\n\n 0 \n7\n"),
            Ok(vec![counted(0, 60, 3), counted(60, 120, 0), counted(120, 180, 7)])
        );
    }

    #[test]
    fn a_past_event_is_read_as_csv_and_as_json() {
        let expected = vec![counted(0, 60, 30), counted(60, 120, 5), counted(240, 300, 2)];
        let csv = "at,joined,released\n2027-03-05 11:00:07 UTC,30,1\n2027-03-05T11:01:07Z,5,2\n\"2027-03-05 11:04:07 UTC\",2,3\n";
        assert_eq!(read(csv), Ok(expected.clone()));
        let json = r#"{"minutes": [{"at": 60000, "joined": 30, "waiting": 3}, {"at": 120000, "joined": 5}, {"at": 300000, "joined": 2}]}"#;
        assert_eq!(read(json), Ok(expected));
    }

    #[test]
    fn visitors_of_a_rehearsal_are_no_customers() {
        let minutes =
            r#""minutes": [{"at": 60000, "joined": 5000, "rehearsal": true}, {"at": 120000, "joined": 8}]}"#;
        assert_eq!(read(&format!("{{{minutes}")), Ok(vec![counted(0, 60, 8)]));
        let of_rehearsal = format!("{{\"rehearsal\": true, {minutes}");
        assert_eq!(read(&of_rehearsal), Ok(vec![counted(0, 60, 5000)]));
    }

    #[test]
    fn a_record_of_weeks_says_how_to_take_one_event() {
        let week = u64::from(LONGEST) + 60_000;
        let error = read(&format!("at,joined\n60000,1\n{week},2\n")).unwrap_err().to_string();
        assert!(error.contains("more than seven days; take one event: "), "{error}");
    }

    #[test]
    fn a_mistake_is_named_with_its_line() {
        for (text, expected) in [
            ("3\nmany\n", r#"line 2 of the counts: "many" is not a number of visitors"#),
            ("3\n-1\n", r#"line 2 of the counts: "-1" is not a number of visitors"#),
            (
                "at,joined\n1,2\nnoon,3\n",
                r#"line 3 of the counts: "noon" is not an instant like 2027-03-05T11:00:00Z"#,
            ),
            ("at,joined\n60000\n", r#"line 2 of the counts: "" is not a number of visitors"#),
            (
                "{\"minutes\": 3}",
                "the record cannot be read: invalid type: integer `3`, expected a sequence at line 1 column 13",
            ),
            ("at,joined\n120000,2\n60000,3\n", "the record cannot be read: its minutes are not in order"),
            ("", "the counts have no visitors"),
        ] {
            assert_eq!(read(text).unwrap_err().to_string(), expected, "{text}");
        }
        let error = read("when,who\n1,2\n").unwrap_err().to_string();
        assert!(error.contains("there is no column \"at\""), "{error}");
    }
}
