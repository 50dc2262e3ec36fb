//! A report as one HTML file: it has no script and loads nothing, so that it can be kept, sent and printed.

use std::fmt::Write as _;

use page::escape;

use crate::plot::{PLOT_CSS, Plot};

const CSS: &str = include_str!("html_report.css");

/// What the file says, from top to bottom.
#[derive(Clone, Debug)]
pub(crate) struct HtmlReport {
    pub(crate) title: String,
    /// What happened, in a sentence or two.
    pub(crate) summary: String,
    /// The numbers that matter most, each with its name before it.
    pub(crate) facts: Vec<(String, String)>,
    pub(crate) sections: Vec<HtmlSection>,
}

#[derive(Clone, Debug)]
pub(crate) struct HtmlSection {
    pub(crate) heading: String,
    pub(crate) parts: Vec<HtmlPart>,
}

#[derive(Clone, Debug)]
pub(crate) enum HtmlPart {
    Paragraph(String),
    Plot(Plot),
    Table(HtmlTable),
}

#[derive(Clone, Debug)]
pub(crate) struct HtmlTable {
    /// What the table shows.
    pub(crate) caption: String,
    pub(crate) columns: Vec<String>,
    /// As many cells in each as there are columns.
    pub(crate) rows: Vec<Vec<String>>,
}

impl HtmlReport {
    pub(crate) fn render(&self) -> String {
        let title = escape(&self.title);
        let mut html = format!(
            "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
             <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\n\
             <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
             <meta name=\"color-scheme\" content=\"light dark\">\n<title>{title}</title>\n\
             <style>\n{CSS}{PLOT_CSS}</style>\n</head>\n<body>\n<main>\n<h1>{title}</h1>\n"
        );
        if !self.summary.is_empty() {
            let _ = writeln!(html, "<p class=\"summary\">{}</p>", escape(&self.summary));
        }
        if !self.facts.is_empty() {
            html.push_str("<dl>\n");
            for (name, value) in &self.facts {
                let _ = writeln!(html, "<div><dt>{}</dt><dd>{}</dd></div>", escape(name), escape(value));
            }
            html.push_str("</dl>\n");
        }
        let mut plots = 0;
        for section in &self.sections {
            let _ = writeln!(html, "<section>\n<h2>{}</h2>", escape(&section.heading));
            for part in &section.parts {
                html.push_str(&part.render(&mut plots));
            }
            html.push_str("</section>\n");
        }
        let _ = write!(
            html,
            "</main>\n<footer>beekeeper {}</footer>\n</body>\n</html>\n",
            env!("CARGO_PKG_VERSION")
        );
        html
    }
}

impl HtmlPart {
    fn render(&self, plots: &mut usize) -> String {
        match self {
            Self::Paragraph(text) => format!("<p>{}</p>\n", escape(text)),
            Self::Plot(plot) => {
                *plots += 1;
                // It scrolls where it would be too small to be read, so it must be reached with the keyboard.
                let name = escape(&plot.title);
                format!(
                    "<figure role=\"group\" tabindex=\"0\" aria-label=\"{name}\">\n{}</figure>\n",
                    plot.svg(*plots)
                )
            }
            Self::Table(table) => table.render(),
        }
    }
}

impl HtmlTable {
    fn render(&self) -> String {
        let caption = escape(&self.caption);
        let mut html = format!(
            "<div class=\"table\" role=\"group\" tabindex=\"0\" aria-label=\"{caption}\">\n\
             <table>\n<caption>{caption}</caption>\n<thead><tr>"
        );
        let class = |column: usize| if self.is_numbers(column) { " class=\"number\"" } else { "" };
        for (column, name) in self.columns.iter().enumerate() {
            let _ = write!(html, "<th scope=\"col\"{}>{}</th>", class(column), escape(name));
        }
        html.push_str("</tr></thead>\n<tbody>\n");
        for row in &self.rows {
            html.push_str("<tr>");
            for (column, cell) in row.iter().enumerate() {
                let _ = write!(html, "<td{}>{}</td>", class(column), escape(cell));
            }
            html.push_str("</tr>\n");
        }
        html + "</tbody>\n</table>\n</div>\n"
    }

    /// Whether each cell of a column is empty or a number, perhaps with its unit or in dollars. Numbers are aligned on the right.
    fn is_numbers(&self, column: usize) -> bool {
        let is_number = |cell: &String| {
            let first = cell.split(' ').next().unwrap_or_default();
            first.chars().all(|character| character.is_ascii_digit() || "$-.,%".contains(character))
        };
        self.rows.iter().filter_map(|row| row.get(column)).all(is_number)
    }
}

#[cfg(test)]
mod tests {
    use html5gum::{Token, Tokenizer};

    use super::*;
    use crate::plot::{PlotAxis, PlotSeries, PlotShape};

    fn report() -> HtmlReport {
        let noon = 1_774_008_000_000.0;
        let minute = |n: u32| noon + 60_000.0 * f64::from(n);
        let of = |name: &str, shape, value: fn(f64) -> f64| PlotSeries {
            name: name.into(),
            shape,
            points: (0..90).map(|n| (minute(n), value(f64::from(n)))).collect(),
        };
        let plot = |title: &str, series| Plot {
            title: title.into(),
            unit: "visitors".into(),
            x: PlotAxis::Clock,
            series,
        };
        let waiting = of("waiting", PlotShape::Line, |n| (12_000.0 * (n / 30.0) * (2.0 - n / 45.0)).max(0.0));
        let released = of("released", PlotShape::Bars, |n| 590.0 + 10.0 * (n % 2.0));
        let joined = of("joined", PlotShape::Line, |n| 900.0 - 10.0 * n);
        let rate = of("rate", PlotShape::Steps, |n| if n < 40.0 { 600.0 } else { 800.0 });
        let row = |n: u32| {
            [format!("12:{n:02}"), "812".into(), "600".into(), format!("{} s", 10 * n), "anna & <b>".into()]
                .to_vec()
        };
        let columns = ["minute", "joined", "released", "longest wait", "who"].map(String::from).to_vec();
        let table = HtmlTable { caption: "Each minute".into(), columns, rows: (0..30).map(row).collect() };
        HtmlReport {
            title: "Spring sale <script>alert(1)</script>".into(),
            summary: "48,213 visitors joined on 20 March 2026 between 12:00 and 13:30 UTC.".into(),
            facts: [
                ("Joined", "48,213"),
                ("Released", "48,213"),
                ("Longest line", "11,982 at 12:41"),
                ("Longest wait", "19 min"),
            ]
            .map(|(name, value)| (name.into(), value.into()))
            .to_vec(),
            sections: vec![HtmlSection {
                heading: "Minute by minute".into(),
                parts: vec![
                    HtmlPart::Paragraph("Times are UTC & \"exact\".".into()),
                    HtmlPart::Plot(plot("The line", vec![waiting])),
                    HtmlPart::Plot(plot("Each minute", vec![joined, released, rate])),
                    HtmlPart::Plot(plot("Nothing", Vec::new())),
                    HtmlPart::Table(table),
                ],
            }],
        }
    }

    #[test]
    fn each_element_is_closed_and_nothing_is_loaded() {
        const VOID: [&str; 1] = ["meta"];

        let html = report().render();

        let (mut open, mut ids): (Vec<String>, Vec<String>) = (Vec::new(), Vec::new());
        for token in Tokenizer::new(&html) {
            match token.unwrap() {
                Token::StartTag(tag) => {
                    let name = String::from_utf8_lossy(&tag.name).into_owned();
                    assert!(!["script", "img", "link", "iframe", "b"].contains(&name.as_str()), "<{name}>");
                    for (key, value) in &tag.attributes {
                        let key = String::from_utf8_lossy(key);
                        assert!(!key.starts_with("on") && key != "href" && key != "src", "{key} in <{name}>");
                        if key == "id" {
                            ids.push(String::from_utf8_lossy(value).into_owned());
                        }
                    }
                    if !tag.self_closing && !VOID.contains(&name.as_str()) {
                        open.push(name);
                    }
                }
                Token::EndTag(tag) => {
                    let name = String::from_utf8_lossy(&tag.name).into_owned();
                    assert_eq!(open.pop(), Some(name), "after {open:?}");
                }
                Token::Error(error) => panic!("{error:?}"),
                _ => {}
            }
        }
        assert_eq!(open, Vec::<String>::new());
        let all = ids.len();
        ids.sort();
        ids.dedup();
        assert_eq!((ids.len(), all), (6, 6), "each id is there once");
    }

    #[test]
    fn texts_are_escaped() {
        let html = report().render();
        assert!(html.contains("<h1>Spring sale &lt;script&gt;alert(1)&lt;/script&gt;</h1>"), "{html}");
        assert!(html.contains("anna &amp; &lt;b&gt;"), "{html}");
    }

    #[test]
    fn columns_of_numbers_are_aligned_on_the_right() {
        let html = report().render();
        assert!(
            html.contains("<th scope=\"col\" class=\"number\">longest wait</th><th scope=\"col\">who</th>"),
            "{html}"
        );
        let costs = HtmlTable {
            caption: "Costs".into(),
            columns: vec!["service".into(), "costs".into()],
            rows: vec![vec!["S3".into(), "$0.04".into()]],
        };
        assert_eq!((costs.is_numbers(0), costs.is_numbers(1)), (false, true));
    }
}
