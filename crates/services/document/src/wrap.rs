//! Breaks lines for a terminal: between words, and what follows stands below the text that it continues.
//!
//! A command to copy stays in one piece, because half of it is another command.

use ratatui_core::text::Line;

/// The words with which a command begins that people copy.
const COMMANDS: [&str; 4] = ["aws", "beekeeper", "cargo", "kill"];

/// The text in lines of at most so many columns, as far as its words are not longer.
pub fn wrapped(text: &str, columns: u16) -> String {
    let columns = usize::from(columns);
    let lines: Vec<_> = text.split('\n').map(|line| wrapped_line(line, columns)).collect();
    lines.join("\n")
}

/// A word or a command, and the spaces before it.
struct Piece {
    gap: usize,
    text: String,
}

fn wrapped_line(line: &str, columns: usize) -> String {
    if width(line) <= columns {
        return line.to_owned();
    }
    let pieces = pieces(line);
    let hang = hang(&pieces, columns);
    let (mut wrapped, mut used) = (String::new(), 0);
    for piece in &pieces {
        let wide = width(&piece.text);
        if used > hang && used + piece.gap + wide > columns {
            wrapped.push('\n');
            wrapped.push_str(&" ".repeat(hang));
            used = hang;
        } else {
            wrapped.push_str(&" ".repeat(piece.gap));
            used += piece.gap;
        }
        wrapped.push_str(&piece.text);
        used += wide;
    }
    wrapped
}

fn pieces(line: &str) -> Vec<Piece> {
    let mut pieces: Vec<Piece> = Vec::new();
    let (mut gap, mut in_command) = (0, false);
    for (at, word) in line.split(' ').enumerate() {
        gap += usize::from(at > 0);
        if word.is_empty() {
            continue;
        }
        let follows = in_command && gap == 1;
        match pieces.last_mut().filter(|_| follows) {
            Some(command) => {
                command.text.push(' ');
                command.text.push_str(word);
            }
            None => pieces.push(Piece { gap, text: word.to_owned() }),
        }
        let begins = COMMANDS.contains(&word.trim_start_matches('`'));
        in_command = (begins || follows) && !word.ends_with([',', ';', '`', ')']);
        gap = 0;
    }
    pieces
}

/// In which column a line goes on: in that of its last column of text, or behind a label such as `error:`.
fn hang(pieces: &[Piece], columns: usize) -> usize {
    let indent = pieces.first().map_or(0, |first| first.gap);
    let mut at = 0;
    let mut hang = indent;
    for (number, piece) in pieces.iter().enumerate() {
        at += piece.gap;
        if number > 0 && piece.gap > 1 && at <= columns * 2 / 3 {
            hang = at;
        }
        at += width(&piece.text);
        let is_label = number == 0 && indent == 0 && plain(&piece.text).ends_with(':');
        if is_label && at < columns / 3 {
            hang = at + 1;
        }
    }
    hang
}

fn width(text: &str) -> usize {
    Line::raw(plain(text)).width()
}

/// The text without its colours.
fn plain(text: &str) -> String {
    let mut parts = text.split('\x1b');
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |plain, part| plain + part.split_once('m').map_or("", |(_, text)| text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_that_fits_stays_as_it_is() {
        for line in ["", "  two  columns", "joined         1"] {
            assert_eq!(wrapped(line, 16), line);
        }
    }

    #[test]
    fn what_follows_stands_below_the_text_that_it_continues() {
        assert_eq!(
            wrapped("ok           page          the room serves the built-in page, 35 kB", 50),
            "ok           page          the room serves the\n                           built-in page, 35 kB"
        );
        assert_eq!(wrapped("error: the room is not there", 24), "error: the room is not\n       there");
        assert_eq!(wrapped("nothing at all is here", 12), "nothing at\nall is here");
        assert_eq!(wrapped("    nothing at all", 12), "    nothing\n    at all");
    }

    #[test]
    fn a_command_is_never_cut() {
        assert_eq!(
            wrapped("hint: look: beekeeper off --local demo; or: kill 12, now", 26),
            "hint: look:\n      beekeeper off --local demo;\n      or: kill 12, now"
        );
        assert_eq!(
            wrapped("it stays: `beekeeper reset` ends it", 22),
            "it stays:\n`beekeeper reset` ends\nit"
        );
    }

    #[test]
    fn a_colour_has_no_width_and_a_long_word_is_left_whole() {
        assert_eq!(wrapped("\x1b[32mon\x1b[0m and open", 11), "\x1b[32mon\x1b[0m and open");
        assert_eq!(wrapped("at https://shop.example/sale now", 10), "at\nhttps://shop.example/sale\nnow");
    }
}
