use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

/// A line of text that is edited with the keys of a shell.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct LineEditor {
    text: Vec<char>,
    /// How many characters are before the cursor.
    cursor: usize,
}

impl LineEditor {
    /// With the cursor at the end.
    pub(super) fn new(text: &str) -> Self {
        let mut line = Self::default();
        line.insert(text);
        line
    }

    pub(super) fn text(&self) -> String {
        self.text.iter().collect()
    }

    pub(super) fn before_cursor(&self) -> String {
        self.text.iter().take(self.cursor).collect()
    }

    /// Inserts what was typed or pasted. Line breaks and other control characters are left out.
    pub(super) fn insert(&mut self, text: &str) {
        for letter in text.chars().filter(|letter| !letter.is_control()) {
            self.text.insert(self.cursor, letter);
            self.cursor += 1;
        }
    }

    /// Applies a key. False if the key does not edit a line.
    pub(super) fn press(&mut self, key: KeyEvent) -> bool {
        let end = self.text.len();
        let is_ctrl = key.modifiers.contains(KeyModifiers::CONTROL);
        match key.code {
            KeyCode::Char(letter) if !is_ctrl && !key.modifiers.contains(KeyModifiers::ALT) => {
                self.insert(&letter.to_string());
            }
            KeyCode::Char('a') | KeyCode::Home => self.cursor = 0,
            KeyCode::Char('e') | KeyCode::End => self.cursor = end,
            KeyCode::Char('b') | KeyCode::Left => self.cursor = self.cursor.saturating_sub(1),
            KeyCode::Char('f') | KeyCode::Right => self.cursor = end.min(self.cursor + 1),
            KeyCode::Char('u') => self.remove_from(0),
            KeyCode::Char('k') => self.text.truncate(self.cursor),
            KeyCode::Char('w') => self.remove_from(self.word()),
            KeyCode::Char('h') | KeyCode::Backspace => self.remove_from(self.cursor.saturating_sub(1)),
            KeyCode::Char('d') | KeyCode::Delete if self.cursor < end => {
                self.text.remove(self.cursor);
            }
            _ => return false,
        }
        true
    }

    /// Removes the text between this position and the cursor.
    fn remove_from(&mut self, start: usize) {
        self.text.drain(start..self.cursor);
        self.cursor = start;
    }

    /// Where the word before the cursor begins.
    fn word(&self) -> usize {
        let before = self.text.iter().take(self.cursor).enumerate().rev();
        let mut letters = before.skip_while(|(_, letter)| letter.is_whitespace());
        letters.find(|(_, letter)| letter.is_whitespace()).map_or(0, |(at, _)| at + 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The line with `|` at the cursor, after these keys. `^u` is Ctrl-U, `<` and `>` are the arrows.
    fn after(text: &str, keys: &str) -> String {
        let mut line = LineEditor::new(text);
        let mut keys = keys.chars();
        while let Some(key) = keys.next() {
            let key = match key {
                '^' => KeyEvent::new(KeyCode::Char(keys.next().unwrap()), KeyModifiers::CONTROL),
                '<' => KeyEvent::new(KeyCode::Left, KeyModifiers::NONE),
                '>' => KeyEvent::new(KeyCode::Right, KeyModifiers::NONE),
                letter => KeyEvent::new(KeyCode::Char(letter), KeyModifiers::NONE),
            };
            assert!(line.press(key), "{key:?}");
        }
        let before = line.before_cursor();
        format!("{before}|{}", &line.text()[before.len()..])
    }

    #[test]
    fn keys_edit_as_in_a_shell() {
        for (keys, expected) in [
            ("", "spring sale|"),
            ("!", "spring sale!|"),
            ("<<ö", "spring saö|le"),
            (">", "spring sale|"),
            ("^a>X", "sX|pring sale"),
            ("^u", "|"),
            ("^uautumn", "autumn|"),
            ("<<<<^u", "|sale"),
            ("<<<<^k", "spring |"),
            ("^w", "spring |"),
            ("^w^w^w", "|"),
            ("<<^w", "spring |le"),
            ("^a^d^e^h", "pring sal|"),
            ("^a^h^b", "|spring sale"),
        ] {
            assert_eq!(after("spring sale", keys), expected, "{keys}");
        }
    }

    #[test]
    fn other_keys_do_nothing() {
        let mut line = LineEditor::new("sale");
        for key in [
            KeyEvent::new(KeyCode::Char('t'), KeyModifiers::CONTROL),
            KeyEvent::new(KeyCode::Char('t'), KeyModifiers::ALT),
            KeyEvent::new(KeyCode::Char('d'), KeyModifiers::CONTROL),
            KeyEvent::new(KeyCode::F(1), KeyModifiers::NONE),
        ] {
            assert!(!line.press(key), "{key:?}");
        }
        assert_eq!(line, LineEditor::new("sale"));
    }

    #[test]
    fn what_is_pasted_stays_on_one_line() {
        assert_eq!(LineEditor::new("https://shop.example\n\t/sale\r\n").text(), "https://shop.example/sale");
    }
}
