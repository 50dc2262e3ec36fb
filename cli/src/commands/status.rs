//! `beekeeper status`: shows the state of a room, once or continuously.

use std::io::{self, IsTerminal};

use anyhow::Result;
use control::{Status, StatusLine};
use waitroom::Timestamp;

use crate::arguments;
use crate::printer::{Colours, say};
use crate::room::RoomHandle;
use crate::runtime::block_on;
use crate::watch;

pub(crate) fn run(arguments: &arguments::ShowStatus, json: bool) -> Result<()> {
    block_on(async {
        let found = if arguments.watch {
            // Nothing happens in a room that doesn't run.
            RoomHandle::find(&arguments.which).await?
        } else {
            RoomHandle::find_to_read(&arguments.which).await?
        };
        let room = found.room;
        let status = room.watched_status().await?;
        if !arguments.watch {
            return Ok(say(&if json {
                serde_json::to_string(&status)?
            } else {
                text(&status, room.transport.now(), Colours::of_output())
            })?);
        }
        let shows_charts = !json && io::stdout().is_terminal() && io::stdin().is_terminal();
        if shows_charts {
            Box::pin(watch::charts(&room, arguments.every)).await
        } else {
            Box::pin(watch::lines(&room, status, arguments.every, json)).await
        }
    })
}

fn text(status: &Status, now: Timestamp, colours: Colours) -> String {
    let (settings, (state, mark)) = (&status.room.settings, status.state());
    let headline = format!("{} ({}), {}", settings.title, settings.room, colours.marked(Some(mark), &state));
    let line = |StatusLine { label, text, mark }| colours.marked(mark, &format!("{label:<15}{text}"));
    std::iter::once(headline).chain(status.lines(now).into_iter().map(line)).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use control::AlarmMailState;
    use control::example::suffering;
    use document::words;
    use waitroom::{Refusals, RoomState};

    use super::*;

    const NOW: Timestamp = Timestamp::from_millis(1_804_000_000_000);

    #[test]
    fn a_status_shows_every_problem_of_a_room_on_aws() {
        let mut status = suffering();
        let ago = |seconds| NOW - std::time::Duration::from_secs(seconds);
        (status.findings[0].at, status.findings[1].at) = (ago(330), ago(30));
        (status.windows[0].start, status.windows[0].end) =
            (ago(10), ago(10) + std::time::Duration::from_secs(82));
        snapbox::assert_data_eq!(
            text(&status, NOW, Colours::None),
            snapbox::str![[r#"
Seal's Spring Sale (spring-sale), on
joined         about 13210
waiting        9120, 30 min for somebody who joins now
released       4090
longest wait   28 min, of those released in the last two minutes
line reached   4100
this window    31 of 300 in 82 s
window before  298 of 300
rate           600 a minute, throttled to 300: the shop is slow or fails
shop's health  slow: 212 ms on average (limit 131 ms), 0 of 20 failed, rate 300 a minute
               5 min ago well: 98 ms on average (limit 131 ms), 1 of 20 failed, rate 600 a minute
message        "More beer at noon"
polls          3 times less often than usual
dead letters   2
alarms         1 of 2 is ringing
               producer-errors: the door is broken
alarm e-mails  anna@shop.example gets none yet: nobody has confirmed the subscription; click the link in AWS's e-mail "AWS Notification - Subscription Confirmation", within two days
waiting room   https://abc.example/prod/beekeeper
client check   https://abc.example/prod/client
shop           https://shop.example/sale
"#]]
        );
    }

    #[test]
    fn the_shops_health_is_said_once_as_long_as_it_stays_the_same() {
        let mut status = suffering();
        let [well, slow] = [0, 1].map(|finding: usize| status.findings[finding].clone());
        status.findings = [&slow, &well, &well, &well, &slow, &slow].map(Clone::clone).into();
        for (minute, finding) in (0..).zip(&mut status.findings) {
            finding.at = NOW - std::time::Duration::from_secs(330 - 60 * minute);
        }
        let text = text(&status, NOW, Colours::None);
        let told: Vec<_> = text.lines().filter(|line| line.contains(" ms on average")).collect();
        let [latest, before, first] = &*told else { panic!("{text}") };
        assert!(latest.starts_with("shop's health  slow: "), "{latest}");
        assert!(before.starts_with("               2 min ago well: "), "{before}");
        assert!(first.starts_with("               5 min ago slow: "), "{first}");
    }

    #[test]
    fn a_status_says_who_gets_no_alarms() {
        let mut status = suffering();
        let mut line = |state, error: Option<&str>| {
            let mail = status.alarm_mail.as_mut().unwrap();
            (mail.state, mail.error) = (state, error.map(ToOwned::to_owned));
            let text = text(&status, NOW, Colours::None);
            text.lines().find_map(|line| line.strip_prefix("alarm e-mails  ").map(ToOwned::to_owned))
        };
        assert_eq!(line(AlarmMailState::Confirmed, None), None);
        let missing = line(AlarmMailState::Missing, None).unwrap();
        assert!(missing.ends_with(
            "subscribe again: aws sns subscribe --topic-arn arn:aws:sns:eu-central-1:123456789012:alarms --protocol email \
             --notification-endpoint anna@shop.example"
        ), "{missing}");
        let unknown = line(AlarmMailState::Unknown, Some("AuthorizationError: no"));
        assert_eq!(
            unknown.as_deref(),
            Some("not known whether anna@shop.example gets them: AuthorizationError: no")
        );
    }

    #[test]
    fn a_status_says_first_and_in_red_that_visitors_are_refused() {
        let mut status = suffering();
        let reason = "could not put a visitor in line: the disk of /srv/room is full".to_owned();
        status.refusals = Some(Refusals { requests: 36_251, since: NOW, reason });
        let text = text(&status, NOW, Colours::Ansi);
        let line = text.lines().nth(1).unwrap();
        assert!(
            line.starts_with(
                "\x1b[1;31mrefused        36,251 requests in the last two minutes, since 2027-03-0"
            ),
            "{line:?}"
        );
        assert!(
            line.ends_with(": could not put a visitor in line: the disk of /srv/room is full\x1b[0m"),
            "{line:?}"
        );
        assert!(
            text.contains("\x1b[1;31m               producer-errors: the door is broken\x1b[0m\n"),
            "{text:?}"
        );
    }

    #[test]
    fn a_status_says_that_nobody_knows_whether_visitors_are_refused() {
        let mut status = suffering();
        let why = "could not read how many requests the room sale refused: AccessDenied";
        status.refusals_missing = Some(why.into());
        let text = text(&status, NOW, Colours::Ansi);
        let expected = format!("\x1b[33mrefused        not known: {why}\x1b[0m");
        assert_eq!(text.lines().nth(1), Some(expected.as_str()));
    }

    #[test]
    fn a_colour_says_again_what_a_word_says() {
        let mut status = suffering();
        let coloured = text(&status, NOW, Colours::Ansi);
        for line in [
            "Seal's Spring Sale (spring-sale), \x1b[32mon\x1b[0m\n",
            "\n\x1b[33mrate           600 a minute, throttled to 300: the shop is slow or fails\x1b[0m\n",
            "\n\x1b[33mshop's health  slow: ",
            " ago well: 98 ms",
            "\n\x1b[1;31malarms         1 of 2 is ringing\x1b[0m\n",
            "\n\x1b[33malarm e-mails  anna@shop.example gets none yet",
        ] {
            assert!(coloured.contains(line), "{line:?} in {coloured:?}");
        }
        let without: String = ["\x1b[32m", "\x1b[33m", "\x1b[1;31m", "\x1b[0m"]
            .iter()
            .fold(coloured, |text, code| text.replace(code, ""));
        assert_eq!(without, text(&status, NOW, Colours::None));
        for (state, begin) in [(RoomState::Paused, "\x1b[33mpaused"), (RoomState::Off, "\x1b[1;31moff")] {
            status.room.state = state;
            let text = text(&status, NOW, Colours::Ansi);
            assert!(text.lines().next().unwrap().contains(begin), "{text:?}");
        }
    }

    #[test]
    fn the_numbers_of_a_status_add_up() {
        let mut status = suffering();
        status.joined += 3;
        assert!(
            text(&status, NOW, Colours::None)
                .contains("released       4090, and 3 not counted yet or left otherwise\n")
        );
        (status.joined, status.longest_wait) = (0, None);
        let text = text(&status, NOW, Colours::None);
        assert!(
            text.contains("released       4090\n"),
            "the room's version does not count who joins: {text}"
        );
        assert!(text.contains("longest wait   nobody was released in the last two minutes\n"), "{text}");
    }

    #[test]
    fn windows_of_before_a_reset_are_told_apart() {
        let mut status = suffering();
        let before = |status: &control::Status| {
            text(status, NOW, Colours::None).matches(", before the line was emptied\n").count()
        };
        assert_eq!(before(&status), 0);
        status.released = 40;
        assert_eq!(before(&status), 1, "31 of this window, 298 of the one before");
        status.released = 0;
        assert_eq!(before(&status), 2);
    }

    #[test]
    fn a_room_that_opens_by_itself_says_when() {
        let mut status = suffering();
        status.room.open_at(NOW + std::time::Duration::from_hours(76));
        let text = text(&status, NOW, Colours::None);
        let opens = words::at(status.room.opens.unwrap());
        assert_eq!(text.lines().nth(1), Some(&*format!("opens          {opens}, in 3 d 4 h")));
    }
}
