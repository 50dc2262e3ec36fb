//! What the operator decides about the page. It is read from a folder with:
//!
//! - `page.toml`: `accent`, a colour, and `logo`, the name of an image in the folder;
//! - `index.html`: a custom page instead of the built-in one;
//! - the style sheets, images and fonts that these two refer to.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use waitroom::{Mistakes, Title};

use crate::colour::Colour;
use crate::document::escape;
use crate::policy::policy;
use crate::{CSS, File, HTML, JAVASCRIPT, Page, STYLE, STYLE_NAME, assemble, content_type, css, document};

/// The operator's choices for the built-in page, or a custom page.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Design {
    accent: Option<Colour>,
    logo: Option<String>,
    /// The custom document, if there is one.
    document: Option<String>,
    /// The operator's other files, by name.
    assets: BTreeMap<String, Vec<u8>>,
}

#[derive(Debug, thiserror::Error)]
pub enum DesignError {
    #[error("could not read {}", .0.display())]
    Unreadable(PathBuf, #[source] io::Error),
    #[error("the page in {} is invalid:\n{_1}", .0.display())]
    Invalid(PathBuf, Mistakes),
}

const SETTINGS: &str = "page.toml";
/// Whether a file of a page may have this name: one that stands in a URL as it is.
pub fn is_file_name(name: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"._-".contains(&byte);
    (1..=255).contains(&name.len()) && !name.starts_with('.') && name.bytes().all(is_plain)
}

/// Sizes are limited, because visitors on slow networks wait for every byte.
const MAX_FILE_BYTES: u64 = 1 << 20;
const MAX_DOCUMENT_BYTES: usize = 100 << 10;
/// A larger logo stays a file, so that visitors see the page before the logo.
const MAX_LOGO_INSIDE: usize = 5 << 10;

impl Design {
    /// Reads a folder and checks everything in it.
    pub fn read(folder: &Path) -> Result<Self, DesignError> {
        let mut mistakes = Vec::new();
        let mut assets = read_files(folder, &mut mistakes)?;
        let mut design = Self::default();
        if let Some(settings) = assets.remove(SETTINGS) {
            design.read_settings(&String::from_utf8_lossy(&settings), &mut mistakes);
        }
        if let Some(custom) = assets.remove(Page::DOCUMENT) {
            match String::from_utf8(custom) {
                Ok(custom) => design.document = Some(custom),
                Err(_) => mistakes.push(format!("{}: is not UTF-8 text", Page::DOCUMENT)),
            }
        }
        design.assets = assets;
        design.check(&mut mistakes);
        if mistakes.is_empty() {
            Ok(design)
        } else {
            Err(DesignError::Invalid(folder.into(), mistakes.into()))
        }
    }

    fn read_settings(&mut self, text: &str, mistakes: &mut Vec<String>) {
        let mut table = match text.parse::<toml::Table>() {
            Ok(table) => table,
            Err(error) => return mistakes.push(format!("{SETTINGS}: {}", error.to_string().trim_end())),
        };
        let mut text = |key: &str| {
            let value = table.remove(key)?;
            let text = value.as_str().map(str::to_owned);
            if text.is_none() {
                mistakes.push(format!("{SETTINGS}: {key}: must be a text in quotation marks"));
            }
            text
        };
        let (accent, logo) = (text("accent"), text("logo"));
        match accent.map(|accent| accent.parse()).transpose() {
            Ok(accent) => self.accent = accent,
            Err(mistake) => mistakes.push(format!("{SETTINGS}: accent: {mistake}")),
        }
        self.logo = logo;
        mistakes.extend(
            table
                .keys()
                .map(|key| format!("{SETTINGS}: {key}: is unknown; the settings are accent and logo")),
        );
    }

    fn check(&self, mistakes: &mut Vec<String>) {
        if let Some(logo) = &self.logo {
            let is_image = content_type(logo).is_some_and(|kind| kind.starts_with("image/"));
            if !self.assets.contains_key(logo) {
                mistakes.push(format!("{SETTINGS}: logo: the folder does not contain {logo}"));
            } else if !is_image {
                mistakes.push(format!(
                    "{SETTINGS}: logo: {logo} is not an image (svg, png, jpg, webp, avif, gif)"
                ));
            }
        }
        if let Some(custom) = &self.document {
            self.check_document(custom, mistakes);
        }
        for (name, bytes) in self.assets.iter().filter(|(name, _)| content_type(name) == Some(CSS)) {
            for address in css::addresses(&String::from_utf8_lossy(bytes)) {
                match document::local(&address) {
                    Ok(Some(file)) => self.check_exists(name, &file, mistakes),
                    Ok(None) => {}
                    Err(mistake) => mistakes.push(format!("{name}: loads {address:?}: {mistake}")),
                }
            }
        }
    }

    fn check_document(&self, custom: &str, mistakes: &mut Vec<String>) {
        let name = Page::DOCUMENT;
        let (found, files) = document::check(custom);
        mistakes.extend(found.into_iter().map(|mistake| format!("{name}: {mistake}")));
        for file in files {
            self.check_exists(name, &file, mistakes);
        }
        if custom.len() > MAX_DOCUMENT_BYTES {
            mistakes.push(format!(
                "{name}: has {} kB; the limit is {} kB",
                custom.len().div_ceil(1024),
                MAX_DOCUMENT_BYTES >> 10
            ));
        }
        if self.accent.is_some() {
            mistakes
                .push(format!("{SETTINGS}: accent: applies only to the built-in page, which {name} replaces; remove one of them"));
        }
        if self.logo.is_some() && !custom.contains("{{logo}}") {
            mistakes.push(format!(
                "{SETTINGS}: logo: {name} does not contain {{{{logo}}}}; add it where the logo belongs"
            ));
        }
    }

    fn check_exists(&self, referrer: &str, file: &str, mistakes: &mut Vec<String>) {
        if !self.assets.contains_key(file) && file != STYLE_NAME {
            mistakes.push(format!("{referrer}: refers to {file}, which is not in the folder"));
        }
    }

    /// The page of a room with this title.
    pub fn page(&self, title: &Title) -> Page {
        let (document, mut loaded) = self.document_file(title);
        loaded.extend(self.imported());
        let own = self.assets.iter().map(|(name, bytes)| (name.as_str(), bytes.as_slice()));
        let mut files: BTreeMap<_, _> = own
            .chain([(STYLE_NAME, STYLE.as_bytes())])
            .filter_map(|(name, body)| {
                let content_type = content_type(name)?;
                let file = File { content_type, policy: policy(&[], &[]), body: body.to_vec() };
                // What is inside the document is not loaded.
                let is_inside = content_type == CSS || self.is_logo_inside(name);
                (!is_inside || loaded.contains(name)).then(|| (name.to_owned(), file))
            })
            .collect();
        files.insert(Page::DOCUMENT.into(), document);
        Page(files)
    }

    /// The document, and the files that a browser loads for it.
    fn document_file(&self, title: &Title) -> (File, BTreeSet<String>) {
        if let Some(custom) = &self.document {
            return assemble::custom(&self.filled_in(custom, title), |name| self.sheet(name));
        }
        let built_in = self.filled_in(include_str!("../../../site/index.html"), title);
        (assemble::built_in(&built_in, &self.style()), BTreeSet::new())
    }

    /// The files that the operator's style sheets load.
    fn imported(&self) -> impl Iterator<Item = String> {
        let sheets = self.assets.iter().filter(|(name, _)| content_type(name) == Some(CSS));
        let addresses = sheets.flat_map(|(_, bytes)| css::addresses(&String::from_utf8_lossy(bytes)));
        addresses.filter_map(|address| document::local(&address).ok()?)
    }

    fn filled_in(&self, document: &str, title: &Title) -> String {
        let logo = match &self.logo {
            Some(file) => {
                format!("<img class=\"logo\" src=\"{}\" alt=\"\">", escape(&self.logo_source(file)))
            }
            None => include_str!("../../../site/logo.svg").trim_end().to_owned(),
        };
        // The title is inserted last, so that `{{logo}}` in a title is not replaced.
        document.replace("{{logo}}", &logo).replace("{{title}}", &escape(title.as_str()))
    }

    /// The content of the logo as a URL, or its name if it stays a file.
    fn logo_source(&self, name: &str) -> String {
        match (self.assets.get(name), content_type(name)) {
            (Some(bytes), Some(kind)) if self.is_logo_inside(name) => {
                format!("data:{kind};base64,{}", STANDARD.encode(bytes))
            }
            _ => name.to_owned(),
        }
    }

    /// Whether this file is the logo, and small enough to be inside the document. As a file, it is one more request of each
    /// visitor.
    fn is_logo_inside(&self, name: &str) -> bool {
        let is_small = |bytes: &Vec<u8>| bytes.len() <= MAX_LOGO_INSIDE;
        self.logo.as_deref() == Some(name) && self.assets.get(name).is_some_and(is_small)
    }

    fn sheet(&self, name: &str) -> Option<&str> {
        if name == STYLE_NAME {
            return Some(STYLE);
        }
        let bytes = self.assets.get(name).filter(|_| content_type(name) == Some(CSS))?;
        str::from_utf8(bytes).ok()
    }

    fn style(&self) -> String {
        let Some(accent) = self.accent else { return STYLE.to_owned() };
        format!(
            "{STYLE}:root {{ --accent: {}; }}\n@media (prefers-color-scheme: dark) {{ :root {{ --accent: {}; }} }}\n",
            accent.on_light(),
            accent.on_dark()
        )
    }
}

fn read_files(folder: &Path, mistakes: &mut Vec<String>) -> Result<BTreeMap<String, Vec<u8>>, DesignError> {
    let unreadable = |path: &Path| {
        let path = path.to_owned();
        |error| DesignError::Unreadable(path, error)
    };
    let mut files = BTreeMap::new();
    for entry in fs::read_dir(folder).map_err(unreadable(folder))? {
        let path = entry.map_err(unreadable(folder))?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if name.starts_with('.') {
            continue; // Created by an editor or the system.
        }
        let metadata = fs::metadata(&path).map_err(unreadable(&path))?;
        let is_known = name == SETTINGS
            || name == Page::DOCUMENT
            || content_type(&name).is_some_and(|kind| kind != HTML);
        if !is_file_name(&name) {
            mistakes
                .push(format!("{name}: has a name that URLs would encode; use only a-z, A-Z, 0-9 and . _ -"));
        } else if metadata.is_dir() {
            mistakes.push(format!("{name}: is a folder; subfolders are not allowed"));
        } else if name == STYLE_NAME {
            mistakes.push(format!("{name}: has the name of Beekeeper's style sheet; rename it"));
        } else if content_type(&name) == Some(JAVASCRIPT) {
            mistakes.push(format!("{name}: is a script; only Beekeeper's own scripts may run"));
        } else if !is_known {
            mistakes.push(format!(
                "{name}: is not allowed; use page.toml, index.html, style sheets (css), images (svg, png, jpg, webp, avif, gif, ico) and fonts (woff2)"
            ));
        } else if metadata.len() > MAX_FILE_BYTES {
            mistakes.push(format!(
                "{name}: has {} kB; the limit is {} kB",
                metadata.len().div_ceil(1024),
                MAX_FILE_BYTES >> 10
            ));
        } else {
            files.insert(name, fs::read(&path).map_err(unreadable(&path))?);
        }
    }
    Ok(files)
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use rand::rngs::StdRng;
    use rand::{RngExt, SeedableRng};

    use super::*;

    fn title(text: &str) -> Title {
        text.parse().unwrap()
    }

    fn folder(files: &[(&str, &str)]) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        for (name, text) in files {
            fs::write(folder.path().join(name), text).unwrap();
        }
        folder
    }

    fn mistakes(files: &[(&str, &str)]) -> Vec<String> {
        match Design::read(folder(files).path()) {
            Err(DesignError::Invalid(_, mistakes)) => mistakes.iter().map(str::to_owned).collect(),
            other => panic!("{other:?}"),
        }
    }

    fn document(page: &Page) -> String {
        String::from_utf8(page.file(Page::DOCUMENT).unwrap().body.clone()).unwrap()
    }

    const CUSTOM_PAGE: &str = "<html><head><title>{{title}}</title><link rel=stylesheet href=own.css></head><body>{{logo}}\
        <b data-bk=state></b><i data-bk=hint></i><u data-bk=when></u><p data-bk=message></p>\
        <button data-bk=enter></button><button data-bk=check></button></body></html>";

    #[test]
    fn a_title_is_escaped() {
        let page = Design::default().page(&title("<b>\"R&D's\"</b> {{logo}}"));
        let html = document(&page);
        assert!(html.contains(">&lt;b&gt;&quot;R&amp;D&#39;s&quot;&lt;/b&gt; {{logo}}</h1>"), "{html}");
    }

    #[test]
    fn the_built_in_page_is_one_small_file_with_a_logo_too() {
        let folder = folder(&[("page.toml", "logo = \"bee.png\"")]);
        // An image cannot be compressed further.
        let mut image = vec![0; MAX_LOGO_INSIDE];
        StdRng::seed_from_u64(1).fill(&mut image[..]);
        fs::write(folder.path().join("bee.png"), image).unwrap();
        for design in [Design::default(), Design::read(folder.path()).unwrap()] {
            let page = design.page(&title("Spring sale of the Seal Brewing Company"));
            assert_eq!(page.files().count(), 1);
            let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
            encoder.write_all(document(&page).as_bytes()).unwrap();
            let zipped = encoder.finish().unwrap().len();
            assert!(zipped <= 22_500, "{zipped} bytes");
        }
    }

    #[test]
    fn a_folder_can_set_a_colour_and_a_logo() {
        let folder = folder(&[
            ("page.toml", "accent = \"#ffff00\"\nlogo = \"bee.svg\""),
            ("bee.svg", "<svg/>"),
            (".DS_Store", "x"),
        ]);
        let page = Design::read(folder.path()).unwrap().page(&title("Sale"));
        let html = document(&page);
        assert!(html.contains("<img class=\"logo\" src=\"data:image/svg+xml;base64,PHN2Zy8+\" alt=\"\">"));
        assert!(html.contains(":root { --accent: #ffff00; } }"), "yellow is legible on the dark page");
        assert!(!html.contains(":root { --accent: #ffff00; }\n"), "and not on the white one");
        assert_eq!(page.files().count(), 1, "the logo is inside");
    }

    #[test]
    fn a_large_logo_stays_a_file() {
        let folder =
            folder(&[("page.toml", "logo = \"bee.svg\""), ("bee.svg", &"x".repeat(MAX_LOGO_INSIDE + 1))]);
        let page = Design::read(folder.path()).unwrap().page(&title("Sale"));
        assert!(document(&page).contains("<img class=\"logo\" src=\"bee.svg\" alt=\"\">"));
        assert_eq!(page.file("bee.svg").unwrap().content_type, "image/svg+xml");
        let names: Vec<_> = page.files().map(|(name, _)| name).collect();
        assert_eq!(
            names,
            ["bee.svg", Page::DOCUMENT],
            "the document comes after every file that it refers to"
        );
    }

    #[test]
    fn a_logo_that_the_custom_page_loads_by_name_too_stays_a_file() {
        let with_icon = CUSTOM_PAGE.replace("<link", "<link rel=icon href=bee.svg><link");
        let folder = folder(&[
            ("index.html", &with_icon),
            ("own.css", ""),
            ("page.toml", "logo = \"bee.svg\""),
            ("bee.svg", "<svg/>"),
        ]);
        let page = Design::read(folder.path()).unwrap().page(&title("Sale"));
        assert!(document(&page).contains("src=\"data:image/svg+xml;base64,"));
        assert!(page.file("bee.svg").is_some());
    }

    #[test]
    fn a_folder_can_contain_a_custom_page() {
        let folder = folder(&[
            ("index.html", CUSTOM_PAGE),
            ("own.css", "b { background: url(x.png) }"),
            ("x.png", ""),
        ]);
        let page = Design::read(folder.path()).unwrap().page(&title("Sale"));
        let html = document(&page);
        assert!(html.contains("<title>Sale</title><style>b { background: url(x.png) }</style>"), "{html}");
        assert!(html.contains("data-bk=\"fallback\"") && html.contains("http-equiv=\"refresh\""));
        let names: Vec<_> = page.files().map(|(name, _)| name).collect();
        assert_eq!(names, ["x.png", "index.html"], "the style sheet is inside");
    }

    #[test]
    fn a_style_sheet_that_another_imports_stays_a_file() {
        let folder = folder(&[
            ("index.html", CUSTOM_PAGE),
            ("own.css", "@import 'wait.css'; @import 'more.css';"),
            ("more.css", ""),
        ]);
        let page = Design::read(folder.path()).unwrap().page(&title("Sale"));
        let names: Vec<_> = page.files().map(|(name, _)| name).collect();
        assert_eq!(names, ["more.css", "wait.css", "index.html"]);
    }

    #[test]
    fn a_custom_page_contains_the_built_in_style_sheet_if_it_links_it() {
        let folder = folder(&[("index.html", &CUSTOM_PAGE.replace("own.css", "wait.css"))]);
        let page = Design::read(folder.path()).unwrap().page(&title("Sale"));
        assert!(document(&page).contains(&format!("<style>{STYLE}</style>")));
    }

    #[test]
    fn every_mistake_is_reported_at_once() {
        assert_eq!(
            mistakes(&[
                ("page.toml", "accent = \"red\"\nlogo = 7\ncolour = \"#fff\""),
                ("app.js", ""),
                ("wait.css", ""),
                ("notes.txt", ""),
                ("Logo groß.svg", ""),
                ("other.html", ""),
                ("own.css", "@import 'https://fonts.example/x.css'; b { background: url(gone.png) }"),
            ])
            .into_iter()
            .collect::<std::collections::BTreeSet<_>>()
            .into_iter()
            .collect::<Vec<_>>(),
            [
                "Logo groß.svg: has a name that URLs would encode; use only a-z, A-Z, 0-9 and . _ -",
                "app.js: is a script; only Beekeeper's own scripts may run",
                "notes.txt: is not allowed; use page.toml, index.html, style sheets (css), images (svg, png, jpg, webp, avif, gif, ico) and fonts (woff2)",
                "other.html: is not allowed; use page.toml, index.html, style sheets (css), images (svg, png, jpg, webp, avif, gif, ico) and fonts (woff2)",
                "own.css: loads \"https://fonts.example/x.css\": it is on another server; put the file into the page's folder",
                "own.css: refers to gone.png, which is not in the folder",
                "page.toml: accent: must be a colour such as #b26a00",
                "page.toml: colour: is unknown; the settings are accent and logo",
                "page.toml: logo: must be a text in quotation marks",
                "wait.css: has the name of Beekeeper's style sheet; rename it",
            ]
        );
        let without_logo = CUSTOM_PAGE.replace("{{logo}}", "");
        assert_eq!(
            mistakes(&[
                ("index.html", &without_logo),
                ("page.toml", "accent = \"#112233\"\nlogo = \"own.css\""),
                ("own.css", "")
            ]),
            [
                "page.toml: logo: own.css is not an image (svg, png, jpg, webp, avif, gif)",
                "page.toml: accent: applies only to the built-in page, which index.html replaces; remove one of them",
                "page.toml: logo: index.html does not contain {{logo}}; add it where the logo belongs",
            ]
        );
        let large = "x".repeat((1 << 20) + 1);
        assert_eq!(mistakes(&[("bee.png", &large)]), ["bee.png: has 1025 kB; the limit is 1024 kB"]);
    }

    #[test]
    fn a_missing_folder_is_named() {
        let error = Design::read(Path::new("/nowhere/at/all")).unwrap_err();
        assert_eq!(error.to_string(), "could not read /nowhere/at/all");
    }
}
