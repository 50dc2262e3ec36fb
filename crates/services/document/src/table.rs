//! A table, and how its columns stand on lines of text.

/// A column is this far from the one before it.
const GAP: usize = 2;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DocumentTable {
    /// What the table shows.
    pub caption: String,
    pub columns: Vec<&'static str>,
    pub rows: Vec<TableRow>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TableRow {
    /// As many as there are columns.
    Cells(Vec<String>),
    /// What stands between two rows, such as an order between two minutes.
    Note { at: String, text: String },
}

impl DocumentTable {
    pub fn new(
        caption: impl Into<String>,
        columns: &[&'static str],
        rows: impl IntoIterator<Item = Vec<String>>,
    ) -> Self {
        let rows = rows.into_iter().map(TableRow::Cells).collect();
        Self { caption: caption.into(), columns: columns.to_vec(), rows }
    }

    /// Whether a column has numbers, perhaps with their unit or in dollars, and besides them single words at most. It is aligned
    /// on the right.
    pub(crate) fn is_numbers(&self, column: usize) -> bool {
        let cells = || self.cells().filter_map(|cells| cells.get(column)).filter(|cell| !cell.is_empty());
        cells().any(|cell| is_number(cell)) && cells().all(|cell| is_number(cell) || !cell.contains(' '))
    }

    fn cells(&self) -> impl Iterator<Item = &Vec<String>> {
        self.rows.iter().filter_map(|row| match row {
            TableRow::Cells(cells) => Some(cells),
            TableRow::Note { .. } => None,
        })
    }

    /// In this many columns of text. What is too wide for a line stands on several.
    pub(crate) fn text(&self, width: u16) -> String {
        let layout = self.layout(width.into());
        let heading: Vec<_> = self.columns.iter().map(|&name| name.to_owned()).collect();
        let rows = self.rows.iter().map(|row| match row {
            TableRow::Cells(cells) => layout.text(cells),
            TableRow::Note { at, text } => format!("{at}  {text}"),
        });
        let lines = [self.caption.clone(), layout.text(&heading)].into_iter().chain(rows);
        lines.collect::<Vec<_>>().join("\n")
    }

    /// The one with the fewest lines a row that fits. None may: then the terminal breaks the lines.
    fn layout(&self, width: usize) -> RowLayout {
        let columns = (0..self.columns.len()).map(|column| {
            let cells = self.cells().filter_map(|cells| cells.get(column).map(String::as_str));
            let widths = cells.chain([self.columns[column]]).map(|cell| cell.chars().count());
            (widths.max().unwrap_or_default(), self.is_numbers(column))
        });
        let columns: Vec<_> = columns.collect();
        let others = columns.len().saturating_sub(1);
        let layouts = (1..=others).flat_map(|lines| {
            let per_line = others.div_ceil(lines);
            [false, true].map(|is_first_above| RowLayout::new(&columns, per_line, is_first_above))
        });
        let fits = layouts.filter(|layout| layout.width() <= width);
        fits.min_by_key(RowLayout::lines).unwrap_or_else(|| RowLayout::new(&columns, others, false))
    }
}

/// How the cells of a row stand on lines: the first beside the others or above them, so many of these on a line, and the rest
/// of them below.
struct RowLayout {
    /// The width of the first column.
    first: usize,
    is_first_above: bool,
    /// The widths on a line after the first column.
    widths: Vec<usize>,
    /// Of each column, whether it is aligned on the right.
    is_right: Vec<bool>,
}

impl RowLayout {
    /// `columns` are their widths, and whether they are aligned on the right.
    fn new(columns: &[(usize, bool)], per_line: usize, is_first_above: bool) -> Self {
        let per_line = per_line.max(1);
        let others = || columns.iter().skip(1).map(|(width, _)| *width);
        let widest = |place: usize| others().skip(place).step_by(per_line).max().unwrap_or_default();
        Self {
            first: columns.first().map_or(0, |(width, _)| *width),
            is_first_above,
            widths: (0..per_line).map(widest).collect(),
            is_right: columns.iter().map(|(_, is_right)| *is_right).collect(),
        }
    }

    fn indent(&self) -> usize {
        if self.is_first_above { GAP } else { self.first + GAP }
    }

    fn width(&self) -> usize {
        self.indent() + self.widths.iter().sum::<usize>() + GAP * self.widths.len().saturating_sub(1)
    }

    /// How many lines a row has.
    fn lines(&self) -> usize {
        let others = self.is_right.len().saturating_sub(1);
        others.div_ceil(self.widths.len()) + usize::from(self.is_first_above)
    }

    fn text(&self, cells: &[String]) -> String {
        let padded = |(column, cell): (usize, &String), width: usize| match self.is_right.get(column) {
            Some(true) => format!("{cell:>width$}"),
            _ => format!("{cell:<width$}"),
        };
        let cells: Vec<_> = cells.iter().enumerate().collect();
        let Some((first, others)) = cells.split_first() else { return String::new() };
        let mut text = padded(*first, self.first);
        let below = format!("\n{}", " ".repeat(self.indent()));
        for (at, line) in others.chunks(self.widths.len()).enumerate() {
            let is_beside = at == 0 && !self.is_first_above;
            if is_beside {
                text.push_str("  ");
            } else {
                // No line ends in a space.
                text.truncate(text.trim_end().len());
                text.push_str(&below);
            }
            let cells = line.iter().zip(&self.widths).map(|(cell, width)| padded(*cell, *width));
            text.push_str(&cells.collect::<Vec<_>>().join("  "));
        }
        text.trim_end().to_owned()
    }
}

fn is_number(cell: &str) -> bool {
    let first = cell.split(' ').next().unwrap_or_default();
    let is_of_number = |letter: char| letter.is_ascii_digit() || "$-.,%".contains(letter);
    first.contains(|letter: char| letter.is_ascii_digit()) && first.chars().all(is_of_number)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn minutes() -> DocumentTable {
        let row = |cells: &str| cells.split('|').map(ToOwned::to_owned).collect();
        let rows = [
            "12:00:31|1,200|0|paused|-|",
            "12:01:31|300|600|600|75 s|",
            "12:02:31|100|300|300|110 s|throttled",
        ]
        .map(row);
        let mut table = DocumentTable::new(
            "Each minute",
            &["until", "joined", "released", "rate", "longest", "note"],
            rows,
        );
        table
            .rows
            .insert(1, TableRow::Note { at: "12:00:35".into(), text: "anna room: paused -> on".into() });
        table
    }

    #[test]
    fn numbers_stand_on_the_right_and_words_on_the_left() {
        let costs = ["S3|$0.04|", "rest|none|2 %"].map(|row| row.split('|').map(Into::into).collect());
        let costs = DocumentTable::new("Costs", &["service", "costs", "share", "what"], costs);
        assert_eq!([0, 1, 2, 3].map(|column| costs.is_numbers(column)), [false, true, true, false]);
        let words =
            DocumentTable::new("Who", &["who"], [vec!["5 and more words".into()], vec!["anna b".into()]]);
        assert!(!words.is_numbers(0));
    }

    #[test]
    fn a_row_is_on_one_line_where_it_fits() {
        snapbox::assert_data_eq!(
            minutes().text(60),
            snapbox::str![[r"
Each minute
until     joined  released    rate  longest  note
12:00:31   1,200         0  paused        -
12:00:35  anna room: paused -> on
12:01:31     300       600     600     75 s
12:02:31     100       300     300    110 s  throttled
"]]
        );
    }

    #[test]
    fn a_row_has_as_few_lines_as_it_needs() {
        snapbox::assert_data_eq!(
            minutes().text(40),
            snapbox::str![[r"
Each minute
until      joined   released    rate
          longest  note
12:00:31    1,200          0  paused
                -
12:00:35  anna room: paused -> on
12:01:31      300        600     600
             75 s
12:02:31      100        300     300
            110 s  throttled
"]]
        );
    }

    #[test]
    fn a_wide_first_column_stands_above_the_others() {
        let names =
            ["the sixteen copies of the status|420|3,000", "API Gateway's requests a second|1,398|10,000"];
        let rows = names.map(|row| row.split('|').map(Into::into).collect());
        let table = DocumentTable::new("Limits", &["limit", "used", "allowed"], rows);
        snapbox::assert_data_eq!(
            table.text(40),
            snapbox::str![[r"
Limits
limit
   used  allowed
the sixteen copies of the status
    420    3,000
API Gateway's requests a second
  1,398   10,000
"]]
        );
    }

    #[test]
    fn a_single_column_and_rows_of_other_lengths_are_shown() {
        let single = DocumentTable::new("Who", &["who"], [vec!["anna".into()], vec!["bo".into()]]);
        assert_eq!(single.text(40), "Who\nwho\nanna\nbo");
        let uneven = DocumentTable::new(
            "Who",
            &["who", "orders"],
            [vec!["anna".into()], vec![], ["bo", "2", "3"].map(Into::into).into()],
        );
        assert_eq!(uneven.text(40), "Who\nwho   orders\nanna\n\nbo         2\n      3");
        assert_eq!(DocumentTable::new("Nothing", &[], []).text(40), "Nothing\n");
    }
}
