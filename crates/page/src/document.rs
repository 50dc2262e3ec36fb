//! Reads the HTML of a custom page: the elements it has, what it loads, and what is not allowed.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use html5gum::{DefaultEmitter, StartTag, StringReader, Token, Tokenizer};

/// Elements (by `data-bk`) that every page must have.
const REQUIRED: &[&str] = &["state", "hint", "when", "message", "enter", "check"];

/// All elements that the page's scripts use.
const ELEMENTS: &[&str] = &[
    "ahead",
    "bar",
    "check",
    "choices",
    "countdown",
    "enter",
    "fallback",
    "heard",
    "hint",
    "keep",
    "link",
    "message",
    "messageBox",
    "next",
    "notify",
    "notifyChoice",
    "notifyRefused",
    "opens",
    "place",
    "polls",
    "sound",
    "soundChoice",
    "state",
    "ticket",
    "when",
];

/// Keys for `data-bk-text` and `data-bk-label`: texts in the visitor's language.
const TEXTS: &[&str] = &[
    "ahead", "check", "enter", "help", "keep", "message", "notify", "number", "opens", "sound", "way", "when",
];

/// Attributes with an address that the browser loads without a click.
const LOADING_ATTRIBUTES: &[&str] = &[
    "action",
    "background",
    "data",
    "formaction",
    "href",
    "imagesrcset",
    "manifest",
    "ping",
    "poster",
    "src",
    "srcset",
    "xlink:href",
];

/// Elements that run scripts, embed documents or redirect, and why each is forbidden.
const FORBIDDEN: &[(&str, &str)] = &[
    ("script", "only Beekeeper's own scripts may run; they are added automatically"),
    ("style", "put the styles into a .css file in the folder"),
    ("base", "it would change what the page's addresses refer to"),
    ("iframe", "embedding is not allowed"),
    ("object", "embedding is not allowed"),
    ("embed", "embedding is not allowed"),
    ("frame", "embedding is not allowed"),
    ("form", "forms are not allowed"),
];

/// Checks a custom document. Returns every mistake, and the files that the document refers to.
pub(crate) fn check(html: &str) -> (Vec<String>, BTreeSet<String>) {
    let mut inspector = Inspector::default();
    let mut ends = Vec::new();
    // Content of <noscript> and <title>, which a browser may treat as text, is checked like the rest.
    for Ok(token) in tokens(html, false) {
        match token {
            Token::StartTag(tag) => inspector.check_tag(&tag),
            Token::EndTag(tag) => ends.push(String::from_utf8_lossy(&tag.name).into_owned()),
            _ => {}
        }
    }
    for required in REQUIRED.iter().filter(|required| !inspector.elements.contains(**required)) {
        inspector
            .mistakes
            .push(format!("has no element \"{required}\": add one with data-bk=\"{required}\""));
    }
    for end in ["head", "body"] {
        let count = find_end(html, end).count();
        if count != 1 || !ends.iter().any(|name| name == end) {
            inspector.mistakes.push(format!(
                "contains </{end}> {count} times, comments included: it must contain it once, because Beekeeper inserts its part before it"
            ));
        }
    }
    (inspector.mistakes, inspector.files)
}

/// The positions of `</head>` or `</body>` in a document, in upper or lower case.
pub(crate) fn find_end(html: &str, name: &str) -> impl Iterator<Item = usize> {
    let end = format!("</{name}>");
    let positions = 0..(html.len() + 1).saturating_sub(end.len());
    positions.filter(move |&at| html.as_bytes()[at..at + end.len()].eq_ignore_ascii_case(end.as_bytes()))
}

/// A `<link>` in the head of a document.
#[derive(Debug)]
pub(crate) struct Link {
    /// Where the tag is in the document.
    pub(crate) at: Range<usize>,
    attributes: BTreeMap<String, String>,
}

/// The links in the head that a browser uses: not those in comments, in `<noscript>` and in other text.
pub(crate) fn head_links(html: &str) -> Vec<Link> {
    let head_end = find_end(html, "head").next().unwrap_or(html.len());
    let tags = tokens(html, true).filter_map(|token| match token {
        Ok(Token::StartTag(tag)) => Some(tag),
        _ => None,
    });
    tags.filter(|tag| tag.name.as_slice() == b"link" && tag.span.end <= head_end)
        .map(|tag| Link::new(&tag))
        .collect()
}

/// The document's tokens. `as_text` is whether the content of `<noscript>`, `<title>` and the like is text, as in a browser. All have
/// their place, so that the program has one parser and not one for each kind of token.
fn tokens(html: &str, as_text: bool) -> Tokenizer<StringReader<'_>, DefaultEmitter<usize>> {
    let mut emitter = DefaultEmitter::new_with_span();
    emitter.naively_switch_states(as_text);
    Tokenizer::new_with_emitter(html, emitter)
}

impl Link {
    fn new(tag: &StartTag<usize>) -> Self {
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let attributes = tag.attributes.iter().map(|(name, value)| (text(name), text(value))).collect();
        Self { at: tag.span.start..tag.span.end, attributes }
    }

    pub(crate) fn attribute(&self, name: &str) -> Option<&str> {
        self.attributes.get(name).map(String::as_str)
    }

    pub(crate) fn is_icon(&self) -> bool {
        self.attribute("rel")
            .is_some_and(|rel| rel.split_whitespace().any(|kind| kind.eq_ignore_ascii_case("icon")))
    }

    /// The name of the style sheet that this link loads, if a `<style>` in its place has the same effect.
    pub(crate) fn sheet(&self) -> Option<String> {
        const REPLACEABLE: &[&str] = &["href", "media", "rel", "type"];
        let is = |name, expected| {
            self.attribute(name).is_some_and(|value| value.trim().eq_ignore_ascii_case(expected))
        };
        let is_css = self.attribute("type").is_none() || is("type", "text/css");
        let is_plain = self.attributes.keys().all(|name| REPLACEABLE.contains(&name.as_str()));
        if !is("rel", "stylesheet") || !is_css || !is_plain {
            return None;
        }
        local(self.attribute("href")?).ok()?
    }
}

/// The text for a document, or for an attribute in quotation marks.
pub fn escape(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .replace('"', "&quot;")
        .replace('\'', "&#39;")
}

#[derive(Default)]
struct Inspector {
    elements: BTreeSet<String>,
    files: BTreeSet<String>,
    mistakes: Vec<String>,
}

impl Inspector {
    fn check_tag(&mut self, tag: &StartTag<usize>) {
        let name = String::from_utf8_lossy(&tag.name);
        if let Some((_, why)) = FORBIDDEN.iter().find(|(forbidden, _)| *forbidden == name) {
            self.mistakes.push(format!("has <{name}>: {why}"));
        }
        for (attribute, value) in &tag.attributes {
            let (attribute, value) = (String::from_utf8_lossy(attribute), String::from_utf8_lossy(value));
            match &*attribute {
                "data-bk" if ELEMENTS.contains(&&*value) => drop(self.elements.insert(value.into_owned())),
                "data-bk" => {
                    self.mistakes.push(format!("has data-bk=\"{value}\", which is not a known element"));
                }
                "data-bk-text" | "data-bk-label" if TEXTS.contains(&&*value) => {}
                "data-bk-text" | "data-bk-label" => {
                    self.mistakes.push(format!("has {attribute}=\"{value}\", which is not a known text"));
                }
                "name" if name == "meta" && value.eq_ignore_ascii_case("referrer") => {
                    self.mistakes.push("has <meta name=referrer>: Beekeeper sets this header".into());
                }
                "style" => {
                    self.mistakes
                        .push(format!("has <{name} style>: put the styles into a .css file in the folder"));
                }
                "http-equiv" => {
                    self.mistakes.push(format!("has <{name} http-equiv>: Beekeeper sets these headers"));
                }
                on if on.starts_with("on") => {
                    self.mistakes.push(format!("has <{name} {on}>: only Beekeeper's own scripts may run"));
                }
                // Links to other servers are allowed: visitors decide whether to follow them.
                "href" if matches!(&*name, "a" | "area") && !runs(&value) => {}
                "srcset" | "imagesrcset" => {
                    for candidate in value.split(',') {
                        self.load(&name, candidate.split_whitespace().next().unwrap_or_default());
                    }
                }
                loads if LOADING_ATTRIBUTES.contains(&loads) => self.load(&name, &value),
                _ => {}
            }
        }
    }

    fn load(&mut self, name: &str, address: &str) {
        match local(address) {
            Ok(Some(file)) => drop(self.files.insert(file)),
            Ok(None) => {}
            Err(mistake) => self.mistakes.push(format!("has <{name}> with {address:?}: {mistake}")),
        }
    }
}

/// Whether following this address runs a script. Browsers ignore spaces and control characters in it.
fn runs(address: &str) -> bool {
    let address: String = address.chars().filter(|c| !c.is_whitespace() && !c.is_control()).collect();
    address.to_ascii_lowercase().starts_with("javascript:")
}

/// The file in the page's folder that an address refers to, if any.
pub(crate) fn local(address: &str) -> Result<Option<String>, &'static str> {
    let address = address.trim();
    let is_image = address.get(..11).is_some_and(|start| start.eq_ignore_ascii_case("data:image/"));
    if address.is_empty() || address.starts_with('#') || is_image {
        return Ok(None);
    }
    let path = address.split(['?', '#']).next().unwrap_or_default();
    if path.contains(':') || path.starts_with("//") || path.starts_with('\\') {
        return Err("it is on another server; put the file into the page's folder");
    }
    if path.contains(['/', '\\', '%']) {
        return Err("subfolders are not allowed; put the file into the page's folder");
    }
    Ok(Some(path.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use frozen_names::{Section, assert_frozen};

    const VALID: &str = "<html><head><link rel=stylesheet href=own.css></head><body>\
        <b data-bk=state></b><i data-bk=hint></i><u data-bk=when></u><p data-bk=message></p>\
        <button data-bk=enter></button><button data-bk=check></button>\
        <a href='https://shop.example'>Shop</a><img src='bee.png?v=2'></BODY></html>";

    #[test]
    fn elements_and_texts_of_a_page_keep_their_names() {
        assert_frozen(Section::PageElements, ELEMENTS.iter().copied());
        assert_frozen(Section::PageTexts, TEXTS.iter().copied());
    }

    #[test]
    fn a_valid_page_lists_the_files_it_refers_to() {
        let (mistakes, files) = check(VALID);
        assert_eq!(mistakes, Vec::<String>::new());
        assert_eq!(files.into_iter().collect::<Vec<_>>(), ["bee.png", "own.css"]);
    }

    #[test]
    fn links_in_the_head_are_found() {
        let html = "<head><title><link rel=icon href=a.png></title><!-- <link rel=icon href=b.png> --> é\
            <LINK REL='shortcut ICON' href=c.png><noscript><link rel=stylesheet href=d.css></noscript>\
            <link rel=stylesheet href=' e.css?v=2 ' media=print></head><body><link rel=stylesheet href=f.css></body>";
        let links = head_links(html);
        let found: Vec<_> = links.iter().map(|link| &html[link.at.clone()]).collect();
        let expected =
            ["<LINK REL='shortcut ICON' href=c.png>", "<link rel=stylesheet href=' e.css?v=2 ' media=print>"];
        assert_eq!(found, expected);
        assert!(links[0].is_icon() && !links[1].is_icon());
        assert_eq!((links[0].sheet(), links[1].sheet().as_deref()), (None, Some("e.css")));
        assert_eq!(links[1].attribute("media"), Some("print"));
    }

    #[test]
    fn a_link_with_another_effect_than_a_style_is_no_sheet() {
        let sheet = |link: &str| head_links(&format!("<head>{link}</head>"))[0].sheet();
        assert_eq!(sheet("<link rel=StyleSheet type=Text/CSS href=own.css>").as_deref(), Some("own.css"));
        for link in [
            "<link rel='alternate stylesheet' title=Large href=own.css>",
            "<link rel=stylesheet title=Large href=own.css>",
            "<link rel=stylesheet href=own.css disabled>",
            "<link rel=stylesheet href=own.css integrity=sha256-x>",
            "<link rel=stylesheet type=text/less href=own.css>",
            "<link rel=stylesheet href='data:image/png,'>",
            "<link rel=stylesheet>",
            "<link href=own.css>",
        ] {
            assert_eq!(sheet(link), None, "{link}");
        }
    }

    #[test]
    fn the_built_in_page_is_valid() {
        let (mistakes, _) = check(include_str!("../../../site/index.html"));
        assert_eq!(mistakes, Vec::<String>::new());
    }

    #[test]
    fn every_text_key_exists() {
        let english = include_str!("../../../site/text-en.js");
        for text in TEXTS {
            let line = english.lines().find_map(|line| line.trim_start().strip_prefix(&format!("{text}: ")));
            assert!(line.is_some_and(|line| !line.contains('{')), "{text}");
        }
    }

    #[test]
    fn every_element_is_documented() {
        let documented = include_str!("../../../docs/page.md");
        let rows = documented.lines().filter_map(|line| line.strip_prefix("| `")?.split_once(" | "));
        let named = rows.flat_map(|(names, _)| names.split([',', '`', ' ']).filter(|name| !name.is_empty()));
        let named: BTreeSet<_> = named.filter(|name| !name.starts_with("{{") && *name != "data-bk").collect();
        let missing: Vec<_> =
            ELEMENTS.iter().filter(|element| **element != "fallback" && !named.contains(**element)).collect();
        assert_eq!(missing, Vec::<&&str>::new());
        let unknown: Vec<_> = named.iter().filter(|name| !ELEMENTS.contains(*name)).collect();
        assert_eq!(unknown, Vec::<&&str>::new());
    }

    #[test]
    fn missing_elements_are_named() {
        let (mistakes, _) = check("<head></head><body><p data-bk=state></p></body>");
        assert_eq!(mistakes.len(), 5, "{mistakes:?}");
        assert_eq!(mistakes[0], "has no element \"hint\": add one with data-bk=\"hint\"");
        assert!(check("").0.iter().any(|mistake| mistake.contains("</head> 0 times")));
        assert!(check("<!-- </head> -->").0.iter().any(|mistake| mistake.contains("</head> 1 times")));
    }

    #[test]
    fn scripts_and_other_servers_are_refused() {
        for (added, complaint) in [
            ("<script src=https://cdn.example/x.js></script>", "has <script>"),
            ("<SCRIPT>alert(1)</SCRIPT>", "has <script>"),
            ("<p onclick='x()'>", "has <p onclick>"),
            ("<svg OnLoad=x()>", "has <svg onload>"),
            ("<p style='color:red'>", "has <p style>"),
            ("<style>p{}</style>", "has <style>"),
            ("<img src='https://cdn.example/x.png'>", "it is on another server"),
            ("<img src='//cdn.example/x.png'>", "it is on another server"),
            ("<img srcset='a.png 1x, http://cdn.example/b.png 2x'>", "it is on another server"),
            ("<link rel=stylesheet href=HTTPS://fonts.example/css>", "it is on another server"),
            ("<a href=' java&#9;script:x()'>", "it is on another server"),
            ("<noscript><img src=https://tracker.example/x></noscript>", "it is on another server"),
            ("<svg><title><script src=//cdn.example/x.js></script></title></svg>", "has <script>"),
            ("<body background=//cdn.example/x.png>", "it is on another server"),
            ("<a href=x ping=//cdn.example/x>", "it is on another server"),
            ("<meta name=Referrer content=unsafe-url>", "has <meta name=referrer>"),
            ("<p data-bk-text=nubmer>", "which is not a known text"),
            ("<!-- </head> -->", "</head> 2 times"),
            ("<img src='../secret.png'>", "subfolders are not allowed"),
            ("<base href=/>", "has <base>"),
            ("<iframe src=x.html></iframe>", "has <iframe>"),
            ("<meta http-equiv=refresh content=0>", "has <meta http-equiv>"),
            ("<p data-bk=nubmer>", "data-bk=\"nubmer\", which is not a known element"),
        ] {
            let (mistakes, _) = check(&VALID.replace("</BODY>", &format!("{added}</BODY>")));
            assert!(mistakes.iter().any(|mistake| mistake.contains(complaint)), "{added}: {mistakes:?}");
        }
    }
}
