use super::answer::{SimulationAnswer, dollars};

impl SimulationAnswer {
    /// The answer for a terminal of this width: the verdict first, then the waits, numbers, charts, limits and costs.
    pub(crate) fn text(&self, width: u16) -> String {
        let mut lines = vec![self.verdict(), self.crowd(), self.waits()];
        lines.extend(self.findings());
        lines.push(String::new());
        lines.extend(self.facts().iter().map(|(name, value)| format!("{name:<14} {value}")));
        lines.push(String::new());
        lines.extend(self.plots().iter().map(|plot| plot.text(width)));
        if !self.event.limits.is_empty() {
            lines.extend(self.limit_lines());
            lines.extend(
                Self::ABOUT_LIMITS.split_inclusive(". ").map(|sentence| sentence.trim_end().to_owned()),
            );
            lines.push(String::new());
            let costs = self.event.costs.iter().map(|line| (line.name, line.dollars));
            let costs = costs.chain([("together", self.event.dollars)]);
            lines.extend(costs.map(|(name, cost)| format!("{name:<14} {:>9}", dollars(cost))));
            lines.push("Computed by a model: no room was ever measured on AWS.".into());
        }
        lines.join("\n")
    }

    /// The limits in columns: with the longest name, and `59 min 59 s` in the last one, 80 characters.
    fn limit_lines(&self) -> Vec<String> {
        let columns = Self::LIMIT_COLUMNS.map(ToOwned::to_owned);
        let line = |[name, used, allowed, share, after]: [String; 5]| {
            format!("{name:<43} {used:>8} {allowed:>8} {share:>5}  {after}")
        };
        std::iter::once(columns).chain(self.limits()).map(line).collect()
    }
}
