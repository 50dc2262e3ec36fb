//! Puts a document together. Everything that a page needs to show its first state is inside it, so that a browser sends
//! one request for it.

use std::collections::BTreeSet;
use std::ops::Range;

use crate::document::{self, Link};
use crate::policy::{OWN_ORIGIN, hash, policy};
use crate::{File, HTML};

/// The program: the modules in `site/`, put together by `cargo xtask page`.
const PROGRAM: &str = include_str!("../../../site/built/wait.min.js");
/// For browsers that are too old for the program, and for a document that was not loaded to its end, where the program is:
/// goes to the door after 10 to 30 seconds. Written in ECMAScript 3, which every browser can parse.
const WITHOUT_PROGRAM: &str = include_str!("../../../site/old.js");
const HEAD: &str = include_str!("../../../site/head.html");
const ICON: &str = include_str!("../../../site/icon.html");
const FALLBACK: &str = include_str!("../../../site/fallback.html");

/// The built-in page, whose style sheet is this one.
pub(crate) fn built_in(html: &str, style: &str) -> File {
    let mut assembly = Assembly::new(html);
    let style_element = assembly.style(style, "");
    assembly.finish(&style_element)
}

/// A custom page, and the files that a browser still loads for it. `sheet` returns the text of the style sheet with a name.
pub(crate) fn custom<'a>(html: &str, sheet: impl Fn(&str) -> Option<&'a str>) -> (File, BTreeSet<String>) {
    let html = as_parsed(html);
    let mut assembly = Assembly::new(&html);
    // A sheet that stays a file, and one that another imports, must be loaded.
    assembly.styles.push(OWN_ORIGIN.into());
    for link in std::mem::take(&mut assembly.links) {
        assembly.inline(&link, &sheet);
    }
    let without_sheets = assembly.edits.iter().map(|(at, _)| (at.clone(), String::new())).collect();
    let (_, files) = document::check(&edited(&html, without_sheets));
    (assembly.finish(""), files)
}

/// A document, and what changes in it.
struct Assembly<'a> {
    html: &'a str,
    has_icon: bool,
    links: Vec<Link>,
    edits: Vec<(Range<usize>, String)>,
    /// What the policy allows.
    scripts: Vec<String>,
    styles: Vec<String>,
}

impl<'a> Assembly<'a> {
    fn new(html: &'a str) -> Self {
        let links = document::head_links(html);
        let has_icon = links.iter().any(Link::is_icon);
        Self { html, has_icon, links, edits: Vec::new(), scripts: Vec::new(), styles: Vec::new() }
    }

    /// Puts a style sheet in place of the link to it, if that changes nothing else.
    fn inline<'s>(&mut self, link: &Link, sheet: impl Fn(&str) -> Option<&'s str>) {
        let Some(text) = link.sheet().and_then(|name| sheet(&name)).map(as_parsed) else { return };
        // The text would end the element, or the browser would replace a character of it.
        if text.to_ascii_lowercase().contains("</style") || text.contains('\0') {
            return;
        }
        let media = link.attribute("media").map(|media| format!(" media=\"{}\"", document::escape(media)));
        let element = self.style(&text, &media.unwrap_or_default());
        self.edits.push((link.at.clone(), element));
    }

    fn style(&mut self, text: &str, attributes: &str) -> String {
        self.styles.push(hash(text));
        format!("<style{attributes}>{text}</style>")
    }

    fn script(&mut self, text: &str, attributes: &str) -> String {
        self.scripts.push(hash(text));
        format!("<script{attributes}>{text}</script>\n")
    }

    fn finish(mut self, style: &str) -> File {
        let icon = if self.has_icon { "" } else { ICON };
        let head = [HEAD, icon, &self.script(WITHOUT_PROGRAM, ""), style, "\n"].concat();
        // The program comes last, so that the browser shows the page while it still receives the program.
        let body = [FALLBACK, &self.script(PROGRAM, " type=\"module\"")].concat();
        for (name, addition) in [("head", head), ("body", body)] {
            let at = document::find_end(self.html, name).next().unwrap_or(self.html.len());
            self.edits.push((at..at, addition));
        }
        let policy = policy(&self.scripts, &self.styles);
        File { content_type: HTML, policy, body: edited(self.html, self.edits).into_bytes() }
    }
}

/// Replaces each range by a text. The ranges do not overlap.
fn edited(html: &str, mut edits: Vec<(Range<usize>, String)>) -> String {
    edits.sort_by_key(|(at, _)| at.start);
    let mut result =
        String::with_capacity(html.len() + edits.iter().map(|(_, text)| text.len()).sum::<usize>());
    let mut copied = 0;
    for (at, text) in edits {
        result.push_str(&html[copied..at.start]);
        result.push_str(&text);
        copied = at.end;
    }
    result + &html[copied..]
}

/// The text as a browser sees it, which is what it hashes: without the byte order mark, and with line feeds alone.
fn as_parsed(text: &str) -> String {
    text.strip_prefix('\u{feff}').unwrap_or(text).replace("\r\n", "\n").replace('\r', "\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: &str = "<html><head><link rel=icon href=bee.svg><link rel=stylesheet href=own.css media='(width > 9em)'>\
        </head><body>…</body></html>";

    fn text(file: &File) -> &str {
        str::from_utf8(&file.body).unwrap()
    }

    /// The texts of all elements with this name.
    fn inside<'a>(html: &'a str, name: &str) -> Vec<&'a str> {
        let (start, end) = (format!("<{name}"), format!("</{name}>"));
        let elements = html.split(&start).skip(1);
        elements.map(|element| element.split_once('>').unwrap().1.split_once(&end).unwrap().0).collect()
    }

    #[test]
    fn the_policy_allows_what_is_inside_and_nothing_else() {
        let page = built_in("<head></head><body></body>", "p { color: red }");
        let hashes = |name| inside(text(&page), name).into_iter().map(hash).collect::<Vec<_>>();
        let (scripts, styles) = (hashes("script"), hashes("style"));
        assert_eq!((scripts.len(), styles.len()), (2, 1));
        assert_eq!(page.policy, policy(&scripts, &styles));
        assert!(page.policy.contains("script-src 'sha256-") && page.policy.contains("; style-src 'sha256-"));
        let own_origin = page.policy.replace("connect-src 'self'; font-src 'self'; img-src 'self'", "");
        assert!(!own_origin.contains(OWN_ORIGIN), "{own_origin}");
    }

    #[test]
    fn a_browser_finds_the_end_of_each_script() {
        for script in [PROGRAM, WITHOUT_PROGRAM] {
            let script = script.to_ascii_lowercase();
            for ending in ["</script", "<script", "<!--", "\r", "\0"] {
                assert!(!script.contains(ending), "{ending:?}");
            }
        }
    }

    #[test]
    fn a_custom_page_contains_its_style_sheets() {
        let (page, files) =
            custom(PAGE, |name| (name == "own.css").then_some("\u{feff}b {\r\n} </head> {{title}}"));
        let style = "b {\n} </head> {{title}}";
        let html = text(&page);
        assert!(html.contains(&format!("<style media=\"(width &gt; 9em)\">{style}</style>")), "{html}");
        assert!(page.policy.contains(&format!("; style-src 'self' {};", hash(style))), "{}", page.policy);
        assert!(
            html.find("</style>") < html.find("noindex"),
            "what is added to the head follows the style sheet"
        );
        assert!(html.ends_with("</script>\n</body></html>"), "{html}");
        assert_eq!(files.into_iter().collect::<Vec<_>>(), ["bee.svg"]);
        assert_eq!(
            html.matches("rel=icon").count() + html.matches("rel=\"icon\"").count(),
            1,
            "its own icon"
        );
    }

    #[test]
    fn a_style_sheet_that_cannot_be_inside_stays_a_file() {
        for sheet in
            [None, Some("b { background: url('data:image/svg+xml,<svg><style></STYLE>') }"), Some("\0")]
        {
            let (page, files) = custom(PAGE, |_| sheet);
            assert!(files.contains("own.css"), "{sheet:?}");
            assert!(text(&page).contains("<link rel=stylesheet href=own.css"), "{sheet:?}");
            assert!(page.policy.contains("; style-src 'self';"), "{}", page.policy);
        }
    }

    #[test]
    fn a_page_has_an_icon_from_the_start() {
        let page = built_in(include_str!("../../../site/index.html"), "");
        assert_eq!(
            text(&page).matches("rel=\"icon\"").count(),
            1,
            "so that no browser looks for /favicon.ico"
        );
    }
}
