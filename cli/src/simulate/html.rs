use simulation::WaitSpread;

use super::answer::{SimulationAnswer, dollars, span};
use crate::html_report::{HtmlPart, HtmlReport, HtmlSection, HtmlTable};
use crate::plot::{number, thousands};

impl SimulationAnswer {
    /// The same as the text, as a page.
    pub(crate) fn html(&self) -> String {
        let told = [self.crowd(), self.waits()].into_iter().chain(self.findings());
        let mut answer: Vec<_> = told.map(HtmlPart::Paragraph).collect();
        answer.push(table("The waits", &["", "half", "95%", "longest"], self.wait_rows()));
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
            summary: self.verdict(),
            facts: self.cards(),
            sections,
        };
        report.render()
    }

    /// What somebody with a phone wants to know first, each in a word or a number.
    fn cards(&self) -> Vec<(String, String)> {
        let event = &self.event;
        let (count, wait) = (event.visitors, &event.from_link);
        let is_anybodys_turn = count.entered + count.never_entered > 0;
        let spans = [
            ("Half wait at most", wait.median),
            ("95% wait at most", wait.p95),
            ("Longest wait", wait.longest),
        ];
        let waits = spans.map(|(name, wait)| (name, span(wait))).into_iter().filter(|_| is_anybodys_turn);
        let last = event.drained_after.map(|after| ("Last one released after", span(after)));
        let ends = [
            ("Refused at least once", count.refused),
            ("Gave up", count.gave_up),
            ("Never entered", count.never_entered),
            ("Still waiting", count.still_waiting),
        ];
        let ends = ends.into_iter().filter(|(_, many)| *many > 0).map(|(name, many)| (name, number(many)));
        let costs = (!event.costs.is_empty()).then(|| ("Costs", dollars(event.dollars)));
        let verdict = ("Verdict", self.verdict_in_short().to_owned());
        let cards = std::iter::once(verdict)
            .chain(waits)
            .chain(last)
            .chain([
                ("Entered", number(count.entered)),
                ("Longest line", thousands(event.longest_line.people.into())),
                ("Requests", number(event.requests)),
            ])
            .chain(ends)
            .chain(costs);
        cards.map(|(name, value)| (name.to_owned(), value)).collect()
    }

    /// A wait, and its two parts.
    fn wait_rows(&self) -> Vec<Vec<String>> {
        let event = &self.event;
        let row = |(name, of): (&str, &WaitSpread)| {
            vec![name.to_owned(), span(of.median), span(of.p95), span(of.longest)]
        };
        let all = [
            ("from the click", &event.from_link),
            ("until in line", &event.until_in_line),
            ("then in line", &event.waits),
        ];
        all.map(row).into()
    }
}

fn section(heading: &str, parts: Vec<HtmlPart>) -> HtmlSection {
    HtmlSection { heading: heading.into(), parts }
}

fn table(caption: &str, columns: &[&str], rows: Vec<Vec<String>>) -> HtmlPart {
    let columns = columns.iter().map(|name| (*name).to_owned()).collect();
    HtmlPart::Table(HtmlTable { caption: caption.into(), columns, rows })
}
