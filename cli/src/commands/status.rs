//! `beekeeper status`: shows the state of a room, once or continuously.

use std::io::{self, IsTerminal};

use anyhow::Result;
use control::wording::{
    alarm_mail, alarms, found, joined, longest_wait, newcomers_wait, rate, refusals_missing,
    refused_by_limit, refused_in_full, stock, turnout, urls,
};
use control::{AlarmState, Status};
use document::words;
use waitroom::throttle_rules::{Finding, Verdict};
use waitroom::{Mode, Room, RoomState, Timestamp, Valve};

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
    let Status { room, line, released, windows, findings, dead_letters, .. } = status;
    let windows: Vec<_> =
        windows.iter().map(|window| format!("{} of {}", window.released, window.planned)).collect();
    let (waiting_room, client_check) = urls(status);
    let mut lines = vec![
        format!("{} ({}), {}", room.settings.title, room.settings.room, state(status, colours)),
        format!("joined         {}", joined(status)),
        format!("waiting        {}{}", line.waiting, for_newcomers(status)),
        format!("released       {released}{}", rest(status)),
        format!("longest wait   {}", of_those_released(status)),
        format!("line reached   {}", line.reached),
        format!("this window    {}", windows.first().map_or("none yet", String::as_str)),
        format!("window before  {}", windows.get(1).map_or("none yet", String::as_str)),
        format!("rate           {}", if line.slow { colours.yellow(&rate(status)) } else { rate(status) }),
    ];
    if let Some(turnout) = turnout(status) {
        lines.push(format!("turnout        {turnout}"));
    }
    for (what, at) in [("ends  ", room.ends), ("closes", room.closes), ("opens ", room.opens)] {
        if let Some(at) = at {
            lines.insert(1, format!("{what}         {}, {}", words::at(at), words::ahead(at, now)));
        }
    }
    if let Some(stock) = stock(status) {
        lines.insert(1, format!("stock          {stock}, then the room ends"));
    }
    if room.rehearsal.is_some() {
        lines
            .insert(1, colours.yellow("rehearsal      under way, or left behind: `beekeeper reset` ends it"));
    }
    if let Some(limited) = &status.limited {
        lines.push(colours.yellow(&format!("join limit     {}", refused_by_limit(limited))));
    }
    if let Some(refused) = refused_in_full(status) {
        lines.insert(1, colours.red(&format!("refused        {refused}")));
    }
    if let Some(missing) = refusals_missing(status) {
        lines.insert(1, colours.yellow(&format!("refused        {missing}")));
    }
    for finding in findings.iter().rev().take(5) {
        lines.push(format!("shop's health  {}", health(finding, colours)));
    }
    match room.settings.mode {
        Mode::Line => {}
        Mode::Overflow => lines.push(format!("mode           {}", overflow(room))),
        Mode::Observe => lines.push(format!("mode           {}", observe(status))),
    }
    if let Some(line) = status.observed.filter(|line| line.waited > 0) {
        lines.push(format!("line now       {} would wait", words::count(line.waiting)));
        lines.push(format!(
            "longest line   {}, {} to wait",
            words::count(line.longest_line),
            words::time(line.longest_wait)
        ));
        let busiest = words::count(line.busiest);
        lines.push(format!(
            "busiest        at {busiest} a minute, nobody would have waited longer than a minute"
        ));
    }
    if !room.settings.message.as_str().is_empty() {
        lines.push(format!("message        {:?}", room.settings.message.as_str()));
    }
    if !room.notice.text.as_str().is_empty() {
        lines.push(format!("notice         {:?}", room.notice.text.as_str()));
    }
    if let Some(link) = &room.notice.link {
        lines.push(format!("link           {link}"));
    }
    if room.then_off {
        lines.push("then           off, when everybody who waited was let in".into());
    }
    if room.stretch != waitroom::Stretch::USUAL {
        lines.push(format!("polls          {} times less often than usual", room.stretch));
    }
    if let Some(dead_letters) = dead_letters {
        lines.push(format!("dead letters   {dead_letters}"));
    }
    let rings = status.alarms.iter().any(|alarm| alarm.state == AlarmState::Ringing);
    let alarms =
        alarms(status).map(|alarms| if rings { colours.red(&alarms) } else { colours.green(&alarms) });
    lines.extend(alarms.map(|alarms| format!("alarms         {alarms}")));
    for alarm in status.alarms.iter().filter(|alarm| alarm.state == AlarmState::Ringing) {
        lines.push(colours.red(&format!("               {}: {}", alarm.name, alarm.told())));
    }
    let mail = status.alarm_mail.as_ref().and_then(alarm_mail);
    lines.extend(mail.map(|mail| colours.yellow(&format!("alarm e-mails  {mail}"))));
    lines.push(format!("waiting room   {waiting_room}"));
    lines.push(format!("client check   {client_check}"));
    lines.push(format!("shop           {}", room.settings.shop));
    lines.join("\n")
}

/// Whether newcomers go straight in now.
fn overflow(room: &Room) -> &'static str {
    match room.valve() {
        Valve::Doors(_) => "overflow: newcomers go straight in",
        Valve::Open(_) => {
            "overflow: a line has formed, and newcomers go straight in once hardly anybody has waited for a minute"
        }
        Valve::Limited(..) => "overflow: while there's a stock, everyone joins the line",
        Valve::Closed => "overflow",
    }
}

/// What everybody is spared who passes.
fn observe(status: &Status) -> String {
    match status.observed {
        None => "observe: everybody passes while the room is on".into(),
        Some(line) if line.waited == 0 => {
            "observe: everybody passes. In the last hour, nobody would have waited".into()
        }
        Some(line) => {
            let waited = words::count(line.waited);
            format!("observe: everybody passes. In the last hour, {waited} would have waited")
        }
    }
}

fn state(status: &Status, colours: Colours) -> String {
    let state = status.room.state;
    if let Some(at) = status.stopped_at {
        return colours.red(&format!("not running since {at}, when it was {state}"));
    }
    match state {
        RoomState::On => colours.green(state.as_str()),
        RoomState::Paused | RoomState::Closed | RoomState::ClosedPaused => colours.yellow(state.as_str()),
        // Nobody is let in any more, or nobody is kept out of the shop.
        RoomState::Ended | RoomState::Off => colours.red(state.as_str()),
    }
}

fn health(finding: &Finding, colours: Colours) -> String {
    let found = found(finding);
    match finding.verdict {
        _ if finding.refused => colours.yellow(&found),
        Verdict::Well => colours.green(&found),
        Verdict::Slow => colours.yellow(&found),
        Verdict::Failing => colours.red(&found),
    }
}

fn for_newcomers(status: &Status) -> String {
    newcomers_wait(status).map_or_else(String::new, |wait| format!(", {wait} for somebody who joins now"))
}

fn of_those_released(status: &Status) -> String {
    match longest_wait(status) {
        Some(wait) => format!("{wait}, of those released in the last two minutes"),
        None => "nobody was released in the last two minutes".into(),
    }
}

/// Who joined, and neither waits nor is counted as released.
fn rest(status: &Status) -> String {
    match status.joined.saturating_sub(status.released.saturating_add(status.line.waiting)) {
        0 => String::new(),
        rest => format!(", and {rest} not counted yet or left otherwise"),
    }
}

#[cfg(test)]
mod tests {
    use control::AlarmMailState;
    use control::example::suffering;

    use super::*;

    const NOW: Timestamp = Timestamp::from_millis(1_804_000_000_000);

    #[test]
    fn a_status_shows_every_problem_of_a_room_on_aws() {
        snapbox::assert_data_eq!(
            text(&suffering(), NOW, Colours::None),
            snapbox::str![[r#"
Seal's Spring Sale (spring-sale), on
joined         about 13210
waiting        9120, 30 min for somebody who joins now
released       4090
longest wait   28 min, of those released in the last two minutes
line reached   4100
this window    31 of 300
window before  298 of 300
rate           600 a minute, throttled to 300: the shop is slow or fails
shop's health  slow: 212 ms on average (limit 131 ms), 0 of 20 failed, rate 300 a minute
shop's health  well: 98 ms on average (limit 131 ms), 1 of 20 failed, rate 600 a minute
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
        status.refusals = Some(control::Refusals { requests: 36_251, since: NOW, reason });
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
            "\nrate           \x1b[33m600 a minute, throttled to 300: the shop is slow or fails\x1b[0m\n",
            "\nshop's health  \x1b[33mslow: ",
            "\nshop's health  \x1b[32mwell: ",
            "\nalarms         \x1b[1;31m1 of 2 is ringing\x1b[0m\n",
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
    fn a_room_that_opens_by_itself_says_when() {
        let mut status = suffering();
        status.room.open_at(NOW + std::time::Duration::from_hours(76));
        let text = text(&status, NOW, Colours::None);
        let opens = words::at(status.room.opens.unwrap());
        assert_eq!(text.lines().nth(1), Some(&*format!("opens          {opens}, in 3 d 4 h")));
    }
}
