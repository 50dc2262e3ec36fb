//! What a simulation says, for a person.

use document::words::{count, dollars, number, span};
use document::{Document, DocumentPart, DocumentSection, DocumentTable};

use crate::answer::{SimulationAnswer, as_f64};
use crate::outcome::{LimitUse, ShopSpace};
use crate::wait_spread::WaitSpread;

impl SimulationAnswer {
    /// For a person: the verdict, the numbers that matter most, and how it goes.
    pub fn document(&self) -> Document {
        let summary = [self.verdict(), self.crowd()].into_iter().chain(self.findings());
        let mut event = vec![DocumentPart::Table(self.waits())];
        event.extend(self.plots().into_iter().map(DocumentPart::Plot));
        let mut sections = vec![DocumentSection { heading: "The event", parts: event }];
        if !self.event.limits.is_empty() {
            sections.push(self.limits());
            sections.push(self.costs());
        }
        let name = self.scenario.room.as_deref().unwrap_or("a room");
        Document {
            title: format!("Simulation of {name}"),
            summary: summary.collect(),
            facts: self.facts(),
            sections,
        }
    }

    /// What somebody with a phone wants to know first, each in a few words.
    fn facts(&self) -> Vec<(&'static str, String)> {
        let event = &self.event;
        let (visitors, wait, line) = (event.visitors, &event.from_link, event.longest_line);
        let waits = [
            ("half wait at most", wait.median),
            ("95% wait at most", wait.p95),
            ("longest wait", wait.longest),
        ];
        let is_anybodys_turn = visitors.entered + visitors.never_entered > 0;
        let waits = waits.map(|(name, wait)| (name, span(wait))).into_iter().filter(|_| is_anybodys_turn);
        let last = match (event.drained_after, visitors.too_late) {
            (Some(after), _) => span(after),
            (None, 0) => "never".into(),
            (None, _) => "not all: some came too late".into(),
        };
        let longest = format!("{}, after {}", count(line.people.into()), span(as_f64(line.after)));
        let sold_out = event.sold_out_after.map(|after| ("sold out after", span(after)));
        let ends = [
            ("went straight in", visitors.straight),
            ("refused at least once", visitors.refused),
            ("gave up", visitors.gave_up),
            ("never entered", visitors.never_entered),
            ("came too late", visitors.too_late),
            ("still waiting", visitors.still_waiting),
        ];
        let ends = ends.into_iter().filter(|(_, many)| *many > 0).map(|(name, many)| (name, count(many)));
        let refused = match event.refused_requests {
            0 => String::new(),
            refused => format!(" ({} refused)", count(refused)),
        };
        let requests = count(event.requests) + &refused;
        let costs = (!event.costs.is_empty()).then(|| ("costs", dollars(event.dollars)));
        waits
            .chain([
                ("all released after", last),
                ("longest line", longest),
                ("entered", count(visitors.entered)),
            ])
            .chain(event.shop.iter().flat_map(shop_facts))
            .chain(ends)
            .chain(sold_out)
            .chain([("requests", requests)])
            .chain(event.answered_by_edge.map(|answered| ("by the edge", count(answered))))
            .chain(costs)
            .collect()
    }

    /// A wait, and its two parts. A row for each percentile, because as columns they don't fit a narrow terminal.
    fn waits(&self) -> DocumentTable {
        const COLUMNS: [&str; 4] = ["wait at most", "from the click", "until in line", "then in line"];

        let waits = [self.event.from_link, self.event.until_in_line, self.event.waits];
        let row = |name: &str, of: fn(&WaitSpread) -> f64| {
            [name.to_owned()].into_iter().chain(waits.iter().map(|wait| span(of(wait)))).collect()
        };
        let rows = [
            row("half", |wait| wait.median),
            row("90%", |wait| wait.p90),
            row("95%", |wait| wait.p95),
            row("99%", |wait| wait.p99),
            row("all", |wait| wait.longest),
        ];
        DocumentTable::new("How long visitors wait", &COLUMNS, rows)
    }

    fn limits(&self) -> DocumentSection {
        const COLUMNS: [&str; 5] = ["limit", "used", "allowed", "share", "after"];

        let row = |used: &LimitUse| {
            vec![
                used.name.to_owned(),
                number(used.used.ceil()),
                number(used.available),
                format!("{:.0}%", used.share * 100.0),
                span(as_f64(used.after as u64)),
            ]
        };
        let rows = self.event.limits.iter().map(row);
        let table = DocumentTable::new("The most that is used of each limit", &COLUMNS, rows);
        let refusing = if self.scenario.edge {
            "Requests are refused beyond the limit of the functions."
        } else {
            "Requests are refused beyond API Gateway's limits and that of the functions."
        };
        let about = [refusing, "The other limits are compared, and refuse nobody here."];
        let about = about.map(|sentence| DocumentPart::Paragraph(sentence.into()));
        let parts = [DocumentPart::Table(table)].into_iter().chain(about);
        DocumentSection { heading: "Limits", parts: parts.collect() }
    }

    fn costs(&self) -> DocumentSection {
        let costs = self.event.costs.iter().map(|line| (line.name, line.dollars));
        let free = self.event.dollars_after_free_tier.map(|dollars| ("with CloudFront's free tier", dollars));
        let costs = costs.chain([("together", self.event.dollars)]).chain(free);
        let rows = costs.map(|(name, cost)| vec![name.to_owned(), dollars(cost)]);
        let caption = "By AWS's list prices in us-east-1; no room was ever measured on AWS";
        let table = DocumentTable::new(caption, &["service", "costs"], rows);
        let monthly = "What a month costs without visitors: beekeeper deploy NAME --dry-run";
        let parts = vec![DocumentPart::Table(table), DocumentPart::Paragraph(monthly.into())];
        DocumentSection { heading: "Costs", parts }
    }
}

/// In a room that limits its active visitors.
fn shop_facts(shop: &ShopSpace) -> [(&'static str, String); 2] {
    let full =
        if shop.full_for == 0 { "never".into() } else { format!("for {}", span(as_f64(shop.full_for))) };
    let most = format!("at most {}, after {}", count(shop.most.into()), span(shop.after));
    [("in the shop", most), ("shop full", full)]
}
