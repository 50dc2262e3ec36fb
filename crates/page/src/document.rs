//! The HTML of a page: which places it has, what it loads, and what it may not do.

use std::collections::BTreeSet;

use html5gum::{DefaultEmitter, StartTag, Token, Tokenizer};

/// The places without which a page does not say what people ask.
const NEEDED: &[&str] = &["state", "hint", "when", "message"];

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

/// Attributes with an address that the browser loads by itself.
const LOADS: &[&str] = &["data", "href", "poster", "src", "srcset", "xlink:href"];

/// Elements that run, embed or redirect.
const FORBIDDEN: &[(&str, &str)] = &[
    ("script", "Beekeeper adds its own, and the page may run no other"),
    ("style", "put it into a .css file beside the page"),
    ("base", "it would lead the page's own addresses astray"),
    ("iframe", "the page may embed nothing"),
    ("object", "the page may embed nothing"),
    ("embed", "the page may embed nothing"),
    ("form", "the page may send nothing"),
];

/// Checks a document of the operator's own. Returns every mistake, and the files that it refers to.
pub(crate) fn check(html: &str) -> (Vec<String>, BTreeSet<String>) {
    let mut inspector = Inspector::default();
    let mut emitter = DefaultEmitter::default();
    // So that a text inside <textarea> or <title> is text to us as it is to browsers.
    emitter.naively_switch_states(true);
    for Ok(token) in Tokenizer::new_with_emitter(html, emitter) {
        if let Token::StartTag(tag) = token {
            inspector.see(&tag);
        }
    }
    for needed in NEEDED.iter().filter(|needed| !inspector.places.contains(**needed)) {
        inspector
            .mistakes
            .push(format!("has no place for \"{needed}\": add an element with data-bk=\"{needed}\""));
    }
    for end in ["</head>", "</body>"].iter().filter(|end| !html.contains(**end)) {
        inspector.mistakes.push(format!("has no {end}, before which Beekeeper adds its part"));
    }
    (inspector.mistakes, inspector.files)
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
                "href"
                    if name == "a" && !value.trim_start().to_ascii_lowercase().starts_with("javascript:") => {
                }
                "srcset" => {
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

/// The file beside the page that an address names, if it names a file.
pub(crate) fn local(address: &str) -> Result<Option<String>, &'static str> {
    let address = address.trim();
    if address.is_empty() || address.starts_with('#') || address.starts_with("data:image/") {
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
        <a href='https://shop.example'>Shop</a><img src='bee.png?v=2'></body></html>";

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
        assert_eq!(mistakes.len(), 3, "{mistakes:?}");
        assert_eq!(mistakes[0], "has no place for \"hint\": add an element with data-bk=\"hint\"");
        assert!(check("").0.iter().any(|mistake| mistake.contains("</head>")));
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
            ("<a href=' javascript:x()'>", "it lies on another server"),
            ("<img src='../secret.png'>", "without folders"),
            ("<base href=/>", "has <base>"),
            ("<iframe src=x.html></iframe>", "has <iframe>"),
            ("<meta http-equiv=refresh content=0>", "has <meta http-equiv>"),
            ("<p data-bk=nubmer>", "a place \"nubmer\" that Beekeeper does not know"),
        ] {
            let (mistakes, _) = check(&GOOD.replace("</body>", &format!("{added}</body>")));
            assert!(mistakes.iter().any(|mistake| mistake.contains(complaint)), "{added}: {mistakes:?}");
        }
    }
}
