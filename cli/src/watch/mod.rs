//! `beekeeper status --watch`: the room, looked at again and again.
//!
//! In a terminal there are charts, and whatever happens the terminal is left as it was found. Elsewhere a line is
//! printed for each change.

mod course;
mod draw;

use std::env;
use std::time::Duration;

use anyhow::{Context, Result};
use operator::Status;
use ratatui::DefaultTerminal;
use ratatui::crossterm::event::{self, Event, KeyCode, KeyEvent, KeyEventKind, KeyModifiers};
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::mpsc::{self, UnboundedReceiver};
use tokio::time::{Instant, MissedTickBehavior, interval_at};

use crate::printer::{note, say};
use crate::room::RoomHandle;
use crate::wording::{alarms, word};
use course::Course;

/// Prints a line, or an object, now and whenever something has changed.
pub(crate) async fn lines(room: &RoomHandle, first: Status, every: Duration, json: bool) -> Result<()> {
    let mut last = first;
    say(&line(&last, json)?)?;
    let mut looks = ticks(every);
    loop {
        tokio::select! {
            _ = looks.tick() => {}
            interrupted = tokio::signal::ctrl_c() => return Ok(interrupted?),
        }
        match room.status().await {
            Ok(status) if status == last => {}
            Ok(status) => {
                say(&line(&status, json)?)?;
                last = status;
            }
            // Whoever watches all day is not to be left alone by one call that failed.
            Err(error) => note(&format!("not up to date: {error:#}")),
        }
    }
}

fn line(status: &Status, json: bool) -> Result<String> {
    if json {
        return Ok(serde_json::to_string(status)?);
    }
    let now = humantime::format_rfc3339_seconds(std::time::SystemTime::now());
    Ok(format!("{now}  {}", in_short(status)))
}

fn in_short(status: &Status) -> String {
    let (room, line) = (&status.room, &status.line);
    let wanted = if line.slow { format!(" (of {})", room.settings.rate) } else { String::new() };
    let mut said = format!(
        "{}, {} waiting, served up to {}, {} released, {}{wanted} a minute",
        room.state, line.waiting, line.served, status.released, line.rate
    );
    if let Some(finding) = status.findings.last() {
        said = format!("{said}, shop {}", word(finding.verdict));
    }
    match alarms(status) {
        Some(alarms) => format!("{said}, alarms: {alarms}"),
        None => said,
    }
}

fn ticks(every: Duration) -> tokio::time::Interval {
    let mut ticks = interval_at(Instant::now() + every, every);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    ticks
}

/// Shows charts until somebody leaves them.
pub(crate) async fn charts(room: &RoomHandle, first: Status, every: Duration) -> Result<()> {
    let mut course = Course::new(room.name.clone(), first);
    let has_colours = env::var_os("NO_COLOR").is_none_or(|value| value.is_empty());
    let mut terminate = signal(SignalKind::terminate())?;
    let mut screen = Screen::enter()?;
    let mut keys = keys();
    let (sender, mut seen) = mpsc::unbounded_channel();
    // Looking may take a while, and must not keep anybody from leaving.
    let look = async {
        let mut looks = ticks(every);
        loop {
            looks.tick().await;
            if sender.send(room.status().await).is_err() {
                return;
            }
        }
    };
    let show = async {
        loop {
            screen.0.draw(|frame| draw::draw(frame, &course, has_colours))?;
            tokio::select! {
                Some(status) = seen.recv() => course.see(status),
                key = keys.recv() => match key {
                    Some(Event::Key(key)) if leaves(key) => return Ok(()),
                    Some(_) => {}
                    None => return Ok(()),
                },
                _ = terminate.recv() => return Ok(()),
            }
        }
    };
    tokio::select! {
        () = look => Ok(()),
        shown = show => shown,
    }
}

fn leaves(key: KeyEvent) -> bool {
    let interrupts = key.modifiers.contains(KeyModifiers::CONTROL) && key.code == KeyCode::Char('c');
    key.kind == KeyEventKind::Press
        && (interrupts || matches!(key.code, KeyCode::Char('q' | 'Q') | KeyCode::Esc))
}

/// The terminal, taken over. Given back when this is dropped, and by a panic before it is told.
struct Screen(DefaultTerminal);

impl Screen {
    fn enter() -> Result<Self> {
        ratatui::try_init()
            .map(Self)
            .context("could not draw in this terminal; add --json, or | cat, for lines")
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        ratatui::restore();
    }
}

/// What is typed, and that the terminal has another size now.
fn keys() -> UnboundedReceiver<Event> {
    const GLANCE: Duration = Duration::from_millis(100);

    let (sender, receiver) = mpsc::unbounded_channel();
    std::thread::spawn(move || {
        while !sender.is_closed() {
            let typed = match event::poll(GLANCE) {
                Ok(false) => continue,
                Ok(true) => event::read(),
                Err(error) => Err(error),
            };
            // A terminal that cannot be read any more is gone.
            let Ok(typed) = typed else { return };
            if sender.send(typed).is_err() {
                return;
            }
        }
    });
    receiver
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::suffering;

    #[test]
    fn a_line_says_what_matters() {
        assert_eq!(
            in_short(&suffering()),
            "on, 9120 waiting, served up to 4100, 4090 released, 300 (of 600) a minute, shop slow, alarms: 1 of 2 rings"
        );
    }

    #[test]
    fn q_escape_and_ctrl_c_leave() {
        let key = |code, modifiers| leaves(KeyEvent::new(code, modifiers));
        assert!(key(KeyCode::Char('q'), KeyModifiers::NONE) && key(KeyCode::Esc, KeyModifiers::NONE));
        assert!(key(KeyCode::Char('c'), KeyModifiers::CONTROL));
        assert!(!key(KeyCode::Char('c'), KeyModifiers::NONE));
    }
}
