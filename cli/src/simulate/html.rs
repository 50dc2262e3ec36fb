use super::answer::{SimulationAnswer, capital, dollars};
use crate::html_report::{HtmlPart, HtmlReport, HtmlSection, HtmlTable};

impl SimulationAnswer {
    /// The same as the text, as a page.
    pub(crate) fn html(&self) -> String {
        let mut answer: Vec<_> = self.findings().into_iter().map(HtmlPart::Paragraph).collect();
        answer.extend(self.plots().into_iter().map(HtmlPart::Plot));
        let mut sections = vec![section("The event", answer)];
        if !self.event.limits.is_empty() {
            let rows = self.limits().into_iter().map(Vec::from).collect();
            let limits = table("The most that is used of each limit", &Self::LIMIT_COLUMNS, rows);
            let about = HtmlPart::Paragraph(Self::ABOUT_LIMITS.into());
            sections.push(section("Limits", vec![limits, about]));
            let costs = self.event.costs.iter().map(|line| vec![line.name.to_owned(), dollars(line.dollars)]);
            let all = [vec!["together".to_owned(), dollars(self.event.dollars)]];
            let model = HtmlPart::Paragraph("Computed by a model: no room was ever measured on AWS.".into());
            let costs = table("By service", &["service", "costs"], costs.chain(all).collect());
            sections.push(section("Costs", vec![costs, model]));
        }
        let name = self.scenario.room.as_deref().unwrap_or("a room");
        let report = HtmlReport {
            title: format!("Simulation of {name}"),
            summary: format!("{} {} {}", self.verdict(), self.crowd(), self.waits()),
            facts: self.facts().into_iter().map(|(name, value)| (capital(name), value)).collect(),
            sections,
        };
        report.render()
    }
}

fn section(heading: &str, parts: Vec<HtmlPart>) -> HtmlSection {
    HtmlSection { heading: heading.into(), parts }
}

fn table(caption: &str, columns: &[&str], rows: Vec<Vec<String>>) -> HtmlPart {
    let columns = columns.iter().map(|name| (*name).to_owned()).collect();
    HtmlPart::Table(HtmlTable { caption: caption.into(), columns, rows })
}
