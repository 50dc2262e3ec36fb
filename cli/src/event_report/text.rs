use super::event::EventReport;
use super::minutes::ReportedMinute;
use crate::history_line::HistoryLine;
use crate::plot::number;
use crate::wording::time;

impl EventReport {
    /// The report for a terminal of this width: the facts, the plots, and the minutes with the orders between them.
    pub(crate) fn text(&self, width: u16) -> String {
        let mut lines = vec![format!("{} ({})", self.title, self.room), self.about(), String::new()];
        lines.extend(self.facts().iter().map(|(name, value)| format!("{name:<13} {value}")));
        lines.push(String::new());
        for plot in self.plots() {
            lines.push(plot.text(width));
        }
        lines.extend(self.course(width));
        lines.push(String::new());
        lines.extend(self.notes());
        lines.join("\n")
    }

    /// The minutes in columns, and the orders between them. Where a minute doesn't fit on a line, each has two.
    fn course(&self, width: u16) -> Vec<String> {
        let until = format!("{:<1$}", "until", self.clock(self.from).len());
        let names = [&until, "joined", "released", "came", "waiting", "rate", "longest", "median"];
        let minutes = self.minutes.iter().map(|minute| self.cells(minute));
        let rows: Vec<_> = std::iter::once(names.map(ToOwned::to_owned)).chain(minutes).collect();
        let marks: Vec<_> = std::iter::once(String::new()).chain(self.minutes.iter().map(marks)).collect();
        let marked = |(line, marks): (String, &String)| format!("{line}  {marks}").trim_end().to_owned();
        let mut table: Vec<_> = in_columns(&rows).into_iter().zip(&marks).map(marked).collect();
        if table.iter().any(|line| line.len() > width.into()) {
            let halves = rows.into_iter().flat_map(|[until, joined, released, came, waiting, rest @ ..]| {
                let [rate, longest, median] = rest;
                [
                    [until, joined, released, came, waiting],
                    [String::new(), rate, longest, median, String::new()],
                ]
            });
            let halves = in_columns(&halves.collect::<Vec<_>>());
            table = halves.chunks(2).map(|halves| halves.join("\n")).zip(&marks).map(marked).collect();
        }
        let mut table = table.into_iter();
        let heading = table.next().unwrap_or_default();
        let minutes = self.minutes.iter().map(|minute| minute.count.at).zip(table);
        let order = |line: &HistoryLine| {
            (line.at(), format!("{}  {} {}", self.clock(line.at()), line.who(), line.what()))
        };
        // Orders first, so that one of the same instant is before the minute's record.
        let mut lines: Vec<_> = self.orders.iter().map(order).chain(minutes).collect();
        lines.sort_by_key(|(at, _)| *at);
        std::iter::once(heading).chain(lines.into_iter().map(|(_, line)| line)).collect()
    }

    /// What the columns say of a minute.
    fn cells(&self, minute: &ReportedMinute) -> [String; 8] {
        let count = minute.count;
        let rate = count.rate.map_or_else(|| minute.closed().into(), |rate| number(rate.get().into()));
        let wait = |wait: Option<u64>| wait.map_or("-".into(), time);
        [
            self.clock(count.at),
            number(count.joined),
            number(count.released),
            count.entered.map_or("-".into(), number),
            number(count.waiting),
            rate,
            wait(count.longest_wait),
            wait(minute.median_wait),
        ]
    }
}

/// What was special about a minute.
fn marks(minute: &ReportedMinute) -> String {
    let marks = [(minute.throttled, "throttled"), (minute.count.rehearsal, "rehearsal")];
    let marks: Vec<_> = marks.into_iter().filter_map(|(is_so, mark)| is_so.then_some(mark)).collect();
    marks.join("  ")
}

/// Rows as lines. Each column is as wide as its longest cell.
fn in_columns<const COLUMNS: usize>(rows: &[[String; COLUMNS]]) -> Vec<String> {
    let widths: [usize; COLUMNS] =
        std::array::from_fn(|column| rows.iter().map(|row| row[column].len()).max().unwrap_or_default());
    let line = |row: &[String; COLUMNS]| {
        let cells: Vec<_> = row.iter().zip(widths).map(|(cell, width)| format!("{cell:>width$}")).collect();
        cells.join("  ").trim_end().to_owned()
    };
    rows.iter().map(line).collect()
}
