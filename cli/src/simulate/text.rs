use super::answer::SimulationAnswer;

impl SimulationAnswer {
    /// The answer for a terminal of this width: the sentence first, then numbers, charts, limits and costs.
    pub(crate) fn text(&self, width: u16) -> String {
        let mut lines = vec![self.crowd(), self.sentence()];
        lines.extend(self.findings());
        lines.extend(self.warnings().iter().map(|warning| format!("Warning: {warning}")));
        lines.push(String::new());
        lines.extend(self.facts().iter().map(|(name, value)| format!("{name:<14} {value}")));
        lines.push(String::new());
        lines.extend(self.plots().iter().map(|plot| plot.text(width)));
        let limits = self.limits();
        if !limits.is_empty() {
            lines.push(format!("{:<52} {:>9} {:>9} {:>6}  after", "limit", "used", "allowed", "share"));
            lines.extend(limits.iter().map(|[name, used, allowed, share, after]| {
                format!("{name:<52} {used:>9} {allowed:>9} {share:>6}  {after}")
            }));
            lines.push(String::new());
            lines.extend(
                self.event.costs.iter().map(|line| format!("{:<52} {:>9}", line.name, dollars(line.dollars))),
            );
            lines.push(format!("{:<52} {:>9}", "together", dollars(self.event.dollars)));
            lines.push("Computed by a model: no room was ever measured on AWS.".into());
        }
        lines.join("\n")
    }
}

pub(super) fn dollars(dollars: f64) -> String {
    format!("${dollars:.2}")
}
