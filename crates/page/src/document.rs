//! The HTML of a page: which places it has, what it loads, and what it may not do.

use std::collections::BTreeSet;

use html5gum::{StartTag, Token, Tokenizer};

/// The places without which a page does not say what people ask.
const NEEDED: &[&str] = &["state", "hint", "when", "message", "enter", "check"];

/// All places that the page's program fills.
const PLACES: &[&str] = &[
    "ahead",
    "bar",
    "check",
    "choices",
    "enter",
    "fallback",
    "heard",
    "hint",
    "keep",
    "message",
    "next",
    "notice",
    "notify",
    "notifyChoice",
    "notifyRefused",
    "place",
    "polls",
    "sound",
    "soundChoice",
    "state",
    "ticket",
    "when",
];

/// What an element may have said in the visitor's language.
const TEXTS: &[&str] =
    &["ahead", "check", "enter", "keep", "message", "notify", "number", "sound", "way", "when"];

/// Attributes with an address that the browser loads by itself.
const LOADS: &[&str] = &[
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

/// Elements that run, embed or redirect.
const FORBIDDEN: &[(&str, &str)] = &[
    ("script", "Beekeeper adds its own, and the page may run no other"),
    ("style", "put it into a .css file beside the page"),
    ("base", "it would lead the page's own addresses astray"),
    ("iframe", "the page may embed nothing"),
    ("object", "the page may embed nothing"),
    ("embed", "the page may embed nothing"),
    ("frame", "the page may embed nothing"),
    ("form", "the page may send nothing"),
];

/// Checks a document of the operator's own. Returns every mistake, and the files that it refers to.
pub(crate) fn check(html: &str) -> (Vec<String>, BTreeSet<String>) {
    let mut inspector = Inspector::default();
    let mut ends = Vec::new();
    // What a browser may take for a text, inside <noscript> or <title>, is looked at like everything else.
    for Ok(token) in Tokenizer::new(html) {
        match token {
            Token::StartTag(tag) => inspector.see(&tag),
            Token::EndTag(tag) => ends.push(String::from_utf8_lossy(&tag.name).into_owned()),
            _ => {}
        }
    }
    for needed in NEEDED.iter().filter(|needed| !inspector.places.contains(**needed)) {
        inspector
            .mistakes
            .push(format!("has no place for \"{needed}\": add an element with data-bk=\"{needed}\""));
    }
    for end in ["head", "body"] {
        let written = find_end(html, end).count();
        if written != 1 || !ends.iter().any(|name| name == end) {
            inspector.mistakes.push(format!(
                "has {written} times </{end}>, also counting comments: it takes one, before which Beekeeper adds its part"
            ));
        }
    }
    (inspector.mistakes, inspector.files)
}

/// Where `</head>` or `</body>` stands in a document, in whatever case.
pub(crate) fn find_end(html: &str, name: &str) -> impl Iterator<Item = usize> {
    let end = format!("</{name}>");
    let positions = 0..(html.len() + 1).saturating_sub(end.len());
    positions.filter(move |&at| html.as_bytes()[at..at + end.len()].eq_ignore_ascii_case(end.as_bytes()))
}

#[derive(Default)]
struct Inspector {
    places: BTreeSet<String>,
    files: BTreeSet<String>,
    mistakes: Vec<String>,
}

impl Inspector {
    fn see(&mut self, tag: &StartTag<()>) {
        let name = String::from_utf8_lossy(&tag.name);
        if let Some((_, why)) = FORBIDDEN.iter().find(|(forbidden, _)| *forbidden == name) {
            self.mistakes.push(format!("has <{name}>: {why}"));
        }
        for (attribute, value) in &tag.attributes {
            let (attribute, value) = (String::from_utf8_lossy(attribute), String::from_utf8_lossy(value));
            match &*attribute {
                "data-bk" if PLACES.contains(&&*value) => drop(self.places.insert(value.into_owned())),
                "data-bk" => {
                    self.mistakes.push(format!("has a place \"{value}\" that Beekeeper does not know"));
                }
                "data-bk-text" | "data-bk-label" if TEXTS.contains(&&*value) => {}
                "data-bk-text" | "data-bk-label" => {
                    self.mistakes.push(format!("has {attribute}=\"{value}\", and there is no such text"));
                }
                "name" if name == "meta" && value.eq_ignore_ascii_case("referrer") => {
                    self.mistakes.push("has <meta name=referrer>: Beekeeper sends this header".into());
                }
                "style" => {
                    self.mistakes
                        .push(format!("has <{name} style>: put it into a .css file beside the page"));
                }
                "http-equiv" => {
                    self.mistakes.push(format!("has <{name} http-equiv>: Beekeeper sends these headers"));
                }
                on if on.starts_with("on") => {
                    self.mistakes
                        .push(format!("has <{name} {on}>: the page may run no program but Beekeeper's"));
                }
                // Where somebody goes when they press it is theirs to decide.
                "href" if matches!(&*name, "a" | "area") && !runs(&value) => {}
                "srcset" | "imagesrcset" => {
                    for candidate in value.split(',') {
                        self.load(&name, candidate.split_whitespace().next().unwrap_or_default());
                    }
                }
                loads if LOADS.contains(&loads) => self.load(&name, &value),
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

/// Whether following this address runs a program. Browsers drop spaces and control characters from it.
fn runs(address: &str) -> bool {
    let address: String = address.chars().filter(|c| !c.is_whitespace() && !c.is_control()).collect();
    address.to_ascii_lowercase().starts_with("javascript:")
}

/// The file beside the page that an address names, if it names a file.
pub(crate) fn local(address: &str) -> Result<Option<String>, &'static str> {
    let address = address.trim();
    let is_image = address.get(..11).is_some_and(|start| start.eq_ignore_ascii_case("data:image/"));
    if address.is_empty() || address.starts_with('#') || is_image {
        return Ok(None);
    }
    let path = address.split(['?', '#']).next().unwrap_or_default();
    if path.contains(':') || path.starts_with("//") || path.starts_with('\\') {
        return Err(
            "it lies on another server; put the file beside the page, nothing is loaded from elsewhere",
        );
    }
    if path.contains(['/', '\\', '%']) {
        return Err("all files lie side by side with the page, without folders");
    }
    Ok(Some(path.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: &str = "<html><head><link rel=stylesheet href=own.css></head><body>\
        <b data-bk=state></b><i data-bk=hint></i><u data-bk=when></u><p data-bk=message></p>\
        <button data-bk=enter></button><button data-bk=check></button>\
        <a href='https://shop.example'>Shop</a><img src='bee.png?v=2'></BODY></html>";

    #[test]
    fn a_good_page_tells_which_files_it_needs() {
        let (mistakes, files) = check(GOOD);
        assert_eq!(mistakes, Vec::<String>::new());
        assert_eq!(files.into_iter().collect::<Vec<_>>(), ["bee.png", "own.css"]);
    }

    #[test]
    fn our_own_page_is_a_good_one() {
        let (mistakes, _) = check(include_str!("../../../site/index.html"));
        assert_eq!(mistakes, Vec::<String>::new());
    }

    #[test]
    fn every_text_is_there() {
        let english = include_str!("../../../site/text-en.js");
        for text in TEXTS {
            let line = english.lines().find_map(|line| line.trim_start().strip_prefix(&format!("{text}: ")));
            assert!(line.is_some_and(|line| !line.contains('{')), "{text}");
        }
    }

    #[test]
    fn every_place_is_documented() {
        let documented = include_str!("../../../docs/page.md");
        let rows = documented.lines().filter_map(|line| line.strip_prefix("| `")?.split_once(" | "));
        let named = rows.flat_map(|(names, _)| names.split([',', '`', ' ']).filter(|name| !name.is_empty()));
        let named: BTreeSet<_> = named.filter(|name| !name.starts_with("{{") && *name != "data-bk").collect();
        let missing: Vec<_> =
            PLACES.iter().filter(|place| **place != "fallback" && !named.contains(**place)).collect();
        assert_eq!(missing, Vec::<&&str>::new());
        let unknown: Vec<_> = named.iter().filter(|name| !PLACES.contains(*name)).collect();
        assert_eq!(unknown, Vec::<&&str>::new());
    }

    #[test]
    fn missing_places_are_named() {
        let (mistakes, _) = check("<head></head><body><p data-bk=state></p></body>");
        assert_eq!(mistakes.len(), 5, "{mistakes:?}");
        assert_eq!(mistakes[0], "has no place for \"hint\": add an element with data-bk=\"hint\"");
        assert!(check("").0.iter().any(|mistake| mistake.contains("0 times </head>")));
        assert!(check("<!-- </head> -->").0.iter().any(|mistake| mistake.contains("1 times </head>")));
    }

    #[test]
    fn nothing_runs_and_nothing_comes_from_elsewhere() {
        for (added, complaint) in [
            ("<script src=https://cdn.example/x.js></script>", "has <script>"),
            ("<SCRIPT>alert(1)</SCRIPT>", "has <script>"),
            ("<p onclick='x()'>", "has <p onclick>"),
            ("<svg OnLoad=x()>", "has <svg onload>"),
            ("<p style='color:red'>", "has <p style>"),
            ("<style>p{}</style>", "has <style>"),
            ("<img src='https://cdn.example/x.png'>", "it lies on another server"),
            ("<img src='//cdn.example/x.png'>", "it lies on another server"),
            ("<img srcset='a.png 1x, http://cdn.example/b.png 2x'>", "it lies on another server"),
            ("<link rel=stylesheet href=HTTPS://fonts.example/css>", "it lies on another server"),
            ("<a href=' java&#9;script:x()'>", "it lies on another server"),
            ("<noscript><img src=https://tracker.example/x></noscript>", "it lies on another server"),
            ("<svg><title><script src=//cdn.example/x.js></script></title></svg>", "has <script>"),
            ("<body background=//cdn.example/x.png>", "it lies on another server"),
            ("<a href=x ping=//cdn.example/x>", "it lies on another server"),
            ("<meta name=Referrer content=unsafe-url>", "has <meta name=referrer>"),
            ("<p data-bk-text=nubmer>", "there is no such text"),
            ("<!-- </head> -->", "2 times </head>"),
            ("<img src='../secret.png'>", "without folders"),
            ("<base href=/>", "has <base>"),
            ("<iframe src=x.html></iframe>", "has <iframe>"),
            ("<meta http-equiv=refresh content=0>", "has <meta http-equiv>"),
            ("<p data-bk=nubmer>", "a place \"nubmer\" that Beekeeper does not know"),
        ] {
            let (mistakes, _) = check(&GOOD.replace("</BODY>", &format!("{added}</BODY>")));
            assert!(mistakes.iter().any(|mistake| mistake.contains(complaint)), "{added}: {mistakes:?}");
        }
    }
}
