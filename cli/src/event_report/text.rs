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
        lines.extend(self.course());
        lines.push(String::new());
        lines.extend(self.notes());
        lines.join("\n")
    }

    /// The minutes, and the orders between them.
    fn course(&self) -> Vec<String> {
        let width = self.clock(self.from).len();
        let names = ["until", "joined", "released", "came", "waiting", "rate", "longest", "median"];
        let [until, joined, released, came, waiting, rate, longest, median] = names;
        let heading = format!(
            "{until:<width$}  {joined:>9}  {released:>9}  {came:>9}  {waiting:>9}  {rate:>7}  {longest:>8}  {median:>8}"
        );
        let minutes = self.minutes.iter().map(|minute| (minute.count.at, self.minute_line(minute)));
        let order = |line: &HistoryLine| {
            (line.at(), format!("{}  {} {}", self.clock(line.at()), line.who(), line.what()))
        };
        // Orders first, so that one of the same instant is before the minute's record.
        let mut lines: Vec<_> = self.orders.iter().map(order).chain(minutes).collect();
        lines.sort_by_key(|(at, _)| *at);
        std::iter::once(heading).chain(lines.into_iter().map(|(_, line)| line)).collect()
    }

    fn minute_line(&self, minute: &ReportedMinute) -> String {
        let count = minute.count;
        let rate = count.rate.map_or_else(|| minute.closed().into(), |rate| number(rate.get().into()));
        let wait = |wait: Option<u64>| wait.map_or("-".into(), time);
        let throttled = if minute.throttled { "  throttled" } else { "" };
        let rehearsal = if count.rehearsal { "  rehearsal" } else { "" };
        format!(
            "{}  {:>9}  {:>9}  {:>9}  {:>9}  {rate:>7}  {:>8}  {:>8}{throttled}{rehearsal}",
            self.clock(count.at),
            number(count.joined),
            number(count.released),
            count.entered.map_or("-".into(), number),
            number(count.waiting),
            wait(count.longest_wait),
            wait(minute.median_wait),
        )
    }
}
