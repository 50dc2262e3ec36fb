use ratatui::style::Style;
use ratatui::text::{Line, Span};

/// A text as facts: it may be broken between any two words.
pub(super) fn by_words(text: &str, style: Style) -> impl Iterator<Item = (&'static str, Span<'static>)> {
    text.split(' ').map(move |word| (" ", Span::styled(word.to_owned(), style)))
}

/// Breaks facts into lines of at most `width` columns. Each fact comes with what separates it from the one before. A line
/// ends between two facts, so that no number is cut in two. Only a fact that is longer than a line is broken.
pub(super) fn fit(
    facts: impl IntoIterator<Item = (&'static str, Span<'static>)>,
    width: u16,
) -> Vec<Line<'static>> {
    let width = usize::from(width.max(1));
    let mut lines: Vec<Line<'static>> = Vec::new();
    for (gap, fact) in facts {
        if let Some(line) = lines.last_mut()
            && line.width() + gap.len() + fact.width() <= width
        {
            line.push_span(gap);
            line.push_span(fact);
            continue;
        }
        let letters: Vec<char> = fact.content.chars().collect();
        let pieces =
            letters.chunks(width).map(|piece| Span::styled(piece.iter().collect::<String>(), fact.style));
        lines.extend(pieces.map(Line::from));
    }
    lines
}
