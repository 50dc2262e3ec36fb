//! `beekeeper status --watch`: reads the status again and again.
//!
//! In a terminal it draws charts, and always restores the terminal when it ends. Otherwise it prints a line for each
//! change.

mod charts;
mod draw;
mod fit;
mod orders;

use std::pin::pin;
use std::time::Duration;

use anyhow::{Context, Result};
use clock::SystemClock;
use control::wording::{in_short, refusals_missing};
use control::{ControlError, Course, OperatedRoom, Reading, Status};
use ratatui::DefaultTerminal;
use ratatui::crossterm::event::{self, Event, KeyCode, KeyEvent, KeyEventKind, KeyModifiers};
use serde::Serialize;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::mpsc::{self, UnboundedReceiver};
use tokio::time::{Instant, MissedTickBehavior, interval_at, timeout};
use waitroom::ports::Clock;
use waitroom::{Timestamp, with_causes};

use crate::ending;
use crate::printer::{are_colours_wanted, note, say};

/// For how long a look may go unanswered before that is said. On AWS it's several calls, and takes seconds.
const PATIENCE: Duration = Duration::from_secs(10);

/// Prints a line, or a JSON object, at the start and for each change.
pub(crate) async fn lines(room: &OperatedRoom, first: Status, every: Duration, json: bool) -> Result<()> {
    let mut last = first;
    if let Some(missing) = refusals_missing(&last).filter(|_| !json) {
        note(&format!("Whether visitors are refused is {missing}"));
    }
    say(&line(&last, json)?)?;
    // What was told last of looks that fail, or take long.
    let (mut looks, mut problem) = (ticks(every), None);
    loop {
        let look = async {
            looks.tick().await;
            let mut status = pin!(room.watched_status());
            if let Ok(status) = timeout(PATIENCE, status.as_mut()).await {
                return status;
            }
            if problem.is_none() {
                let silent = format!("no answer for {} s", PATIENCE.as_secs());
                note(&silent);
                problem = Some(silent);
            }
            status.await
        };
        // Beside the whole look, which may take as long as the room does not answer.
        let status = tokio::select! {
            status = look => status,
            interrupted = tokio::signal::ctrl_c() => return Ok(interrupted?),
        };
        let status = match status {
            Ok(status) => status,
            // One failed call must not end a day of watching, nor be told all day.
            Err(error) => {
                let failed = Some(unread(&error));
                if failed != problem {
                    note(&format!("could not read the status: {}", failed.as_deref().unwrap_or_default()));
                    problem = failed;
                }
                continue;
            }
        };
        if problem.take().is_some() {
            note("the room answers again");
        }
        if status != last {
            say(&line(&status, json)?)?;
            last = status;
        }
    }
}

/// Why there is no status, and what to do.
fn unread(error: &ControlError) -> String {
    let why = with_causes(error);
    ending::advice_for(error).map_or_else(|| why.clone(), |advice| format!("{why}; {advice}"))
}

fn line(status: &Status, json: bool) -> Result<String> {
    if json {
        return Ok(serde_json::to_string(&TimedStatus { at: SystemClock.now(), status })?);
    }
    let now = humantime::format_rfc3339_seconds(std::time::SystemTime::now());
    Ok(format!("{now}  {}", in_short(status, SystemClock.now())))
}

/// One line of `--watch --json`.
#[derive(Serialize)]
struct TimedStatus<'a> {
    at: Timestamp,
    #[serde(flatten)]
    status: &'a Status,
}

fn ticks(every: Duration) -> tokio::time::Interval {
    let mut ticks = interval_at(Instant::now() + every, every);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    ticks
}

/// Shows charts until a key is pressed that ends them. They begin with the history of the last hour.
pub(crate) async fn charts(room: &OperatedRoom, every: Duration) -> Result<()> {
    let first = Reading::read(room, None).await?;
    let mut last = first.records.last().copied();
    let mut course = Course::new(room.name.clone(), first);
    let has_colours = are_colours_wanted();
    let mut terminate = signal(SignalKind::terminate())?;
    let mut screen = Screen::enter()?;
    let mut keys = keys();
    let (sender, mut seen) = mpsc::unbounded_channel();
    // Reading the status may take a while, and must not delay the keys.
    let look = async {
        let mut looks = ticks(every);
        loop {
            looks.tick().await;
            let reading = Reading::read(room, last.as_ref()).await;
            last = reading.as_ref().ok().and_then(|reading| reading.records.last().copied()).or(last);
            if sender.send(reading).is_err() {
                return;
            }
        }
    };
    let show = async {
        let (mut seconds, mut heard) = (ticks(Duration::from_secs(1)), Instant::now());
        loop {
            let silent = overdue(heard.elapsed(), every);
            screen.0.draw(|frame| draw::draw(frame, &course, silent, has_colours))?;
            tokio::select! {
                Some(reading) = seen.recv() => {
                    course.see(reading.map_err(|error| unread(&error)));
                    heard = Instant::now();
                }
                _ = seconds.tick() => {}
                key = keys.recv() => match key {
                    Some(Event::Key(key)) if quits(key) => return Ok(()),
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

/// How long the room has owed an answer, if that's longer than usual.
fn overdue(heard_ago: Duration, every: Duration) -> Option<Duration> {
    Some(heard_ago.saturating_sub(every)).filter(|taken| *taken > PATIENCE)
}

fn quits(key: KeyEvent) -> bool {
    let interrupts = key.modifiers.contains(KeyModifiers::CONTROL) && key.code == KeyCode::Char('c');
    key.kind == KeyEventKind::Press
        && (interrupts || matches!(key.code, KeyCode::Char('q' | 'Q') | KeyCode::Esc))
}

/// The terminal while charts are shown. Dropping this restores it. A panic also restores it, before its message is
/// printed.
struct Screen(DefaultTerminal);

impl Screen {
    fn enter() -> Result<Self> {
        ratatui::try_init()
            .map(Self)
            .context("could not draw in this terminal; for lines, add --json or | cat")
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        ratatui::restore();
    }
}

/// Keys, and changes of the terminal's size.
fn keys() -> UnboundedReceiver<Event> {
    const POLL: Duration = Duration::from_millis(100);

    let (sender, receiver) = mpsc::unbounded_channel();
    std::thread::spawn(move || {
        while !sender.is_closed() {
            let typed = match event::poll(POLL) {
                Ok(false) => continue,
                Ok(true) => event::read(),
                Err(error) => Err(error),
            };
            // The terminal was closed.
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

    #[test]
    fn q_escape_and_ctrl_c_quit() {
        let key = |code, modifiers| quits(KeyEvent::new(code, modifiers));
        assert!(key(KeyCode::Char('q'), KeyModifiers::NONE) && key(KeyCode::Esc, KeyModifiers::NONE));
        assert!(key(KeyCode::Char('c'), KeyModifiers::CONTROL));
        assert!(!key(KeyCode::Char('c'), KeyModifiers::NONE));
    }

    #[test]
    fn an_answer_is_overdue_some_seconds_after_it_was_asked() {
        let overdue = |ago, every| {
            overdue(Duration::from_secs(ago), Duration::from_secs(every)).map(|taken| taken.as_secs())
        };
        assert_eq!([overdue(4, 2), overdue(12, 2), overdue(15, 2)], [None, None, Some(13)]);
        assert_eq!([overdue(3600, 3600), overdue(3612, 3600)], [None, Some(12)]);
    }
}
