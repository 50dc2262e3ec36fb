//! A document as one HTML file: it has no script and loads nothing, so that it can be kept, sent and printed.

use std::fmt::Write as _;

use page::escape;

use crate::plot::PLOT_CSS;
use crate::table::{DocumentTable, TableRow};
use crate::words::capital;
use crate::{CheckLine, CheckMark, Document, DocumentPart};

const CSS: &str = include_str!("html.css");

impl Document {
    /// The document as a page.
    pub fn html(&self) -> String {
        let title = escape(&self.title);
        let mut html = format!(
            "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
             <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\n\
             <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
             <meta name=\"color-scheme\" content=\"light dark\">\n<title>{title}</title>\n\
             <style>\n{CSS}{PLOT_CSS}</style>\n</head>\n<body>\n<main>\n<h1>{title}</h1>\n"
        );
        for sentence in &self.summary {
            let _ = writeln!(html, "<p class=\"summary\">{}</p>", escape(sentence));
        }
        if !self.facts.is_empty() {
            html.push_str("<dl>\n");
            for (name, value) in &self.facts {
                let name = capital(name);
                let _ = writeln!(html, "<div><dt>{}</dt><dd>{}</dd></div>", escape(&name), escape(value));
            }
            html.push_str("</dl>\n");
        }
        let mut plots = 0;
        for section in &self.sections {
            let _ = writeln!(html, "<section>\n<h2>{}</h2>", escape(section.heading));
            for part in &section.parts {
                html.push_str(&part.html(&mut plots));
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

impl DocumentPart {
    fn html(&self, plots: &mut usize) -> String {
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
            Self::Table(table) => table.html(),
            Self::Checks(checks) => {
                let lines: String = checks.iter().map(CheckLine::html).collect();
                format!("<ul class=\"checks\">\n{lines}</ul>\n")
            }
        }
    }
}

impl CheckLine {
    fn html(&self) -> String {
        let class = match self.mark {
            CheckMark::Good => "good",
            CheckMark::Doubtful => "doubtful",
            CheckMark::Bad => "bad",
        };
        let (name, found) = (escape(self.name), escape(&self.found).replace('\n', "<br>"));
        format!("<li><strong class=\"{class}\">{}</strong> {name}: {found}</li>\n", escape(self.word))
    }
}

impl DocumentTable {
    fn html(&self) -> String {
        let caption = escape(&self.caption);
        let mut html = format!(
            "<div class=\"table\" role=\"group\" tabindex=\"0\" aria-label=\"{caption}\">\n\
             <table>\n<caption>{caption}</caption>\n<thead><tr>"
        );
        let columns = (0..self.columns.len()).map(|column| self.is_numbers(column));
        let classes: Vec<_> =
            columns.map(|is_numbers| if is_numbers { " class=\"number\"" } else { "" }).collect();
        for (name, class) in self.columns.iter().zip(&classes) {
            let _ = write!(html, "<th scope=\"col\"{class}>{}</th>", escape(name));
        }
        html.push_str("</tr></thead>\n<tbody>\n");
        for row in &self.rows {
            match row {
                TableRow::Cells(cells) => {
                    let cells = cells.iter().zip(&classes);
                    let cells = cells.map(|(cell, class)| format!("<td{class}>{}</td>", escape(cell)));
                    let _ = writeln!(html, "<tr>{}</tr>", cells.collect::<String>());
                }
                TableRow::Note { at, text } => {
                    let (at, text, others) = (escape(at), escape(text), classes.len().saturating_sub(1));
                    let _ = writeln!(
                        html,
                        "<tr class=\"note\"><td>{at}</td><td colspan=\"{others}\">{text}</td></tr>"
                    );
                }
            }
        }
        html + "</tbody>\n</table>\n</div>\n"
    }
}

#[cfg(test)]
mod tests {
    use html5gum::{Token, Tokenizer};

    use super::*;
    use crate::{DocumentSection, Plot, PlotAxis, PlotSeries, PlotShape};

    fn document() -> Document {
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
        let columns = ["minute", "joined", "released", "longest wait", "who"];
        let mut table = DocumentTable::new("Each minute", &columns, (0..30).map(row));
        table.rows.push(TableRow::Note { at: "12:30".into(), text: "<b>anna</b> room: on -> off".into() });
        let check = CheckLine {
            mark: CheckMark::Bad,
            word: "BROKEN",
            name: "nobody lost a place",
            found: "<b>7</b> lost".into(),
        };
        Document {
            title: "Spring sale <script>alert(1)</script>".into(),
            summary: vec!["48,213 visitors joined on 20 March 2026 between 12:00 and 13:30 UTC.".into()],
            facts: [
                ("joined", "48,213"),
                ("released", "48,213"),
                ("longest line", "11,982 at 12:41"),
                ("longest wait", "19 min"),
            ]
            .map(|(name, value)| (name, value.into()))
            .to_vec(),
            sections: vec![DocumentSection {
                heading: "Minute by minute",
                parts: vec![
                    DocumentPart::Paragraph("Times are UTC & \"exact\".".into()),
                    DocumentPart::Plot(plot("The line", vec![waiting])),
                    DocumentPart::Plot(plot("Each minute", vec![joined, released, rate])),
                    DocumentPart::Plot(plot("Nothing", Vec::new())),
                    DocumentPart::Table(table),
                    DocumentPart::Checks(vec![check]),
                ],
            }],
        }
    }

    #[test]
    fn each_element_is_closed_and_nothing_is_loaded() {
        const VOID: [&str; 1] = ["meta"];

        let html = document().html();

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
        let html = document().html();
        assert!(html.contains("<h1>Spring sale &lt;script&gt;alert(1)&lt;/script&gt;</h1>"), "{html}");
        for text in ["anna &amp; &lt;b&gt;", "&lt;b&gt;anna", "&lt;b&gt;7&lt;/b&gt; lost"] {
            assert!(html.contains(text), "{text} in {html}");
        }
    }

    #[test]
    fn facts_begin_with_a_capital_and_numbers_stand_on_the_right() {
        let html = document().html();
        assert!(html.contains("<dt>Longest line</dt><dd>11,982 at 12:41</dd>"), "{html}");
        assert!(
            html.contains("<th scope=\"col\" class=\"number\">longest wait</th><th scope=\"col\">who</th>"),
            "{html}"
        );
    }
}
