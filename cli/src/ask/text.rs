//! A question that is answered with a line of text.
//!
//! The question is drawn again after every key: the line itself, then the suggestions, and what is wrong with the answer
//! or how to give one. When it is answered, one line stays.

use std::io::{self, Write};

use anyhow::Result;
use ratatui::crossterm::cursor::{MoveToColumn, MoveUp};
use ratatui::crossterm::event::{
    self, DisableBracketedPaste, EnableBracketedPaste, Event, KeyCode, KeyEvent, KeyEventKind, KeyModifiers,
};
use ratatui::crossterm::style::{Print, Stylize};
use ratatui::crossterm::terminal::{self, Clear, ClearType};
use ratatui::crossterm::{execute, queue};
use ratatui::text::Line;

use super::line_editor::LineEditor;
use crate::exit::Failure;
use crate::printer::{are_colours_wanted, terminal_columns};
use document::wrap::wrapped;

const SUGGESTIONS: usize = 7;

pub(crate) struct TextQuestion<'a> {
    pub(crate) question: &'a str,
    pub(crate) help: &'a str,
    /// An answer that can be edited.
    pub(crate) initial: String,
    /// Says what is wrong with an answer.
    pub(crate) check: &'a dyn Fn(&str) -> Result<(), String>,
    /// Answers that begin like this text. The first is taken with the tabulator key.
    pub(crate) suggest: &'a dyn Fn(&str) -> Vec<String>,
}

impl TextQuestion<'_> {
    /// Asks until the answer passes the check. Ctrl-C and Escape end the command.
    pub(crate) fn ask(&self) -> Result<String> {
        let _raw = RawTerminal::enter()?;
        let mut asked = Asked::new(self);
        loop {
            asked.draw()?;
            let key = match event::read()? {
                Event::Key(key) if key.kind == KeyEventKind::Press => key,
                Event::Paste(text) => {
                    asked.edit(|line| line.insert(&text));
                    continue;
                }
                _ => continue,
            };
            match asked.press(key) {
                None => {}
                Some(Outcome::Answered(answer)) => {
                    asked.leave(&answer)?;
                    return Ok(answer);
                }
                Some(Outcome::Interrupted) => {
                    asked.leave("")?;
                    return Err(Failure::interrupted().into());
                }
            }
        }
    }
}

#[derive(Debug, PartialEq, Eq)]
enum Outcome {
    Answered(String),
    Interrupted,
}

/// A question on the screen.
struct Asked<'a> {
    text: &'a TextQuestion<'a>,
    line: LineEditor,
    suggestions: Vec<String>,
    /// The suggestion that is chosen with the arrow keys.
    chosen: Option<usize>,
    mistake: Option<String>,
    /// In which row below the first one the cursor is.
    cursor_row: u16,
    has_colours: bool,
}

impl<'a> Asked<'a> {
    fn new(text: &'a TextQuestion<'a>) -> Self {
        let has_colours = are_colours_wanted();
        let mut asked = Self {
            text,
            line: LineEditor::default(),
            suggestions: Vec::new(),
            chosen: None,
            mistake: None,
            cursor_row: 0,
            has_colours,
        };
        asked.edit(|line| *line = LineEditor::new(&text.initial));
        asked
    }

    fn edit(&mut self, edit: impl FnOnce(&mut LineEditor)) {
        edit(&mut self.line);
        (self.chosen, self.mistake) = (None, None);
        self.suggestions = (self.text.suggest)(&self.line.text());
    }

    fn press(&mut self, key: KeyEvent) -> Option<Outcome> {
        let count = self.suggestions.len();
        let chosen = self.chosen.and_then(|at| self.suggestions.get(at)).cloned();
        match key.code {
            KeyCode::Esc => return Some(Outcome::Interrupted),
            KeyCode::Char('c') if key.modifiers.contains(KeyModifiers::CONTROL) => {
                return Some(Outcome::Interrupted);
            }
            KeyCode::Enter => {
                let answer = chosen.unwrap_or_else(|| self.line.text());
                match (self.text.check)(&answer) {
                    Ok(()) => return Some(Outcome::Answered(answer)),
                    Err(mistake) => self.mistake = Some(mistake),
                }
            }
            KeyCode::Tab => {
                if let Some(suggestion) = chosen.or_else(|| self.suggestions.first().cloned()) {
                    self.edit(|line| *line = LineEditor::new(&suggestion));
                }
            }
            KeyCode::Down if count > 0 => {
                self.chosen = Some(self.chosen.map_or(0, |at| (at + 1).min(count - 1)));
            }
            KeyCode::Up => self.chosen = self.chosen.and_then(|at| at.checked_sub(1)),
            _ => {
                let mut line = self.line.clone();
                if line.press(key) {
                    self.edit(|edited| *edited = line);
                }
            }
        }
        None
    }

    fn draw(&mut self) -> io::Result<()> {
        let columns = usize::from(terminal_columns());
        let width = |text: &str| Line::raw(text).width();
        let prompt = format!("? {} ", self.text.question);
        // The space at the end is for the cursor.
        let before = format!("{prompt}{}", self.line.before_cursor());
        let mut frame = vec![format!("{prompt}{} ", self.line.text())];
        // The chosen suggestion stays in sight.
        let first = self.chosen.map_or(0, |at| (at + 1).saturating_sub(SUGGESTIONS));
        for (at, suggestion) in self.suggestions.iter().enumerate().skip(first).take(SUGGESTIONS) {
            frame.push(format!("{} {suggestion}", if self.chosen == Some(at) { ">" } else { " " }));
        }
        let below = match &self.mistake {
            Some(mistake) => format!("# {mistake}"),
            None => format!("[{}]", self.text.help),
        };
        let is_above = frame.len();
        // The last column stays free, because a terminal goes to the next line when it is written.
        let narrower = u16::try_from(columns.saturating_sub(1)).unwrap_or(u16::MAX);
        frame.extend(wrapped(&below, narrower).split('\n').map(ToOwned::to_owned));
        let rows: usize = frame.iter().map(|line| width(line).max(1).div_ceil(columns)).sum();
        let (row, column) = (width(&before) / columns, width(&before) % columns);

        let mut screen = io::stderr().lock();
        self.clear(&mut screen)?;
        for (at, line) in frame.iter().enumerate() {
            let (is_below, is_last) = (at >= is_above, at + 1 == frame.len());
            let line = match (self.has_colours, is_below, &self.mistake) {
                (false, _, _) | (true, false, _) => line.clone(),
                (true, true, Some(_)) => line.as_str().red().to_string(),
                (true, true, None) => line.as_str().cyan().to_string(),
            };
            queue!(screen, Print(line))?;
            if !is_last {
                queue!(screen, Print("\r\n"))?;
            }
        }
        let short = |number: usize| u16::try_from(number).unwrap_or(u16::MAX);
        if rows > row + 1 {
            queue!(screen, MoveUp(short(rows - row - 1)))?;
        }
        queue!(screen, MoveToColumn(short(column)))?;
        self.cursor_row = short(row);
        screen.flush()
    }

    fn clear(&self, screen: &mut impl Write) -> io::Result<()> {
        if self.cursor_row > 0 {
            queue!(screen, MoveUp(self.cursor_row))?;
        }
        queue!(screen, MoveToColumn(0), Clear(ClearType::FromCursorDown))
    }

    /// Leaves the question with its answer on the screen.
    fn leave(&self, answer: &str) -> io::Result<()> {
        let mut screen = io::stderr().lock();
        self.clear(&mut screen)?;
        queue!(screen, Print(format!("> {} {answer}\r\n", self.text.question)))?;
        screen.flush()
    }
}

/// The terminal while a question is asked: it passes every key on. Dropping this restores it.
struct RawTerminal;

impl RawTerminal {
    fn enter() -> io::Result<Self> {
        terminal::enable_raw_mode()?;
        let raw = Self;
        execute!(io::stderr(), EnableBracketedPaste)?;
        Ok(raw)
    }
}

impl Drop for RawTerminal {
    fn drop(&mut self) {
        drop(execute!(io::stderr(), DisableBracketedPaste));
        drop(terminal::disable_raw_mode());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn press(asked: &mut Asked<'_>, keys: &[KeyCode]) -> Option<Outcome> {
        keys.iter().find_map(|key| asked.press(KeyEvent::new(*key, KeyModifiers::NONE)))
    }

    fn regions(text: &str) -> Vec<String> {
        let all = ["eu-central-1", "eu-north-1", "us-east-1"];
        all.into_iter().filter(|region| region.starts_with(text)).map(ToOwned::to_owned).collect()
    }

    fn question(check: &dyn Fn(&str) -> Result<(), String>) -> TextQuestion<'_> {
        TextQuestion { question: "Region:", help: "a code", initial: "eu".into(), check, suggest: &regions }
    }

    #[test]
    fn an_answer_is_taken_when_it_passes_the_check() {
        let check = |text: &str| if text == "eu!" { Ok(()) } else { Err(format!("not {text}")) };
        let question = question(&check);
        let mut asked = Asked::new(&question);
        assert_eq!(press(&mut asked, &[KeyCode::Enter]), None);
        assert_eq!(asked.mistake.as_deref(), Some("not eu"));
        assert_eq!(press(&mut asked, &[KeyCode::Char('!')]), None);
        assert_eq!(asked.mistake, None, "it may be right now");
        assert_eq!(press(&mut asked, &[KeyCode::Enter]), Some(Outcome::Answered("eu!".into())));
    }

    #[test]
    fn suggestions_are_completed_and_chosen() {
        let question = question(&|_| Ok(()));
        let answered = |keys: &[KeyCode]| press(&mut Asked::new(&question), keys);
        let answer = |text: &str| Some(Outcome::Answered(text.into()));
        let (up, down, tab, enter) = (KeyCode::Up, KeyCode::Down, KeyCode::Tab, KeyCode::Enter);
        assert_eq!(answered(&[enter]), answer("eu"));
        assert_eq!(answered(&[tab, enter]), answer("eu-central-1"));
        assert_eq!(answered(&[down, down, down, enter]), answer("eu-north-1"));
        assert_eq!(answered(&[down, down, up, tab, enter]), answer("eu-central-1"));
        assert_eq!(answered(&[down, up, enter]), answer("eu"), "above the first is the line itself");
        assert_eq!(answered(&[KeyCode::Char('x'), tab, down, enter]), answer("eux"), "nothing to suggest");
    }

    #[test]
    fn escape_and_ctrl_c_interrupt() {
        let question = question(&|_| Ok(()));
        let mut asked = Asked::new(&question);
        assert_eq!(press(&mut asked, &[KeyCode::Esc]), Some(Outcome::Interrupted));
        let ctrl_c = KeyEvent::new(KeyCode::Char('c'), KeyModifiers::CONTROL);
        assert_eq!(asked.press(ctrl_c), Some(Outcome::Interrupted));
    }
}
