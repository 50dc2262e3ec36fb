//! The waiting page: the built-in one, with the operator's colour and logo, or a custom one.
//!
//! A [`Design`] is what the operator decides about the page. [`Design::read`] reads and checks it from a folder.
//! [`Design::page`] returns the files as they are served, by the local server and from a bucket alike.
//!
//! [`line`] is the arithmetic of the page's program, and [`visitor`] is what it decides by it.
//! With [`cookies`], programs that visit a room do what browsers do.

mod assemble;
mod colour;
pub mod cookies;
mod css;
mod design;
mod document;
pub mod line;
mod policy;
mod polled;
pub mod visitor;

use std::collections::BTreeMap;

pub use design::{Design, DesignError, is_file_name};
pub use document::escape;
pub use polled::{PollText, Polled, ToldWaiting};

/// The files below `/wait/`, by name. There are no subfolders.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Page(BTreeMap<String, File>);

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct File {
    pub content_type: &'static str,
    /// The Content-Security-Policy header to serve the file with.
    pub policy: String,
    pub body: Vec<u8>,
}

impl Page {
    pub const DOCUMENT: &str = "index.html";

    pub fn file(&self, name: &str) -> Option<&File> {
        self.0.get(name)
    }

    /// All files, the document last. If they are uploaded in this order, every file that the document refers to is
    /// uploaded before it.
    pub fn files(&self) -> impl Iterator<Item = (&str, &File)> {
        let named = self.0.iter().filter(|&(name, _)| name != Self::DOCUMENT);
        let document = self.0.get_key_value(Self::DOCUMENT);
        named.chain(document).map(|(name, file)| (name.as_str(), file))
    }
}

const CSS: &str = "text/css; charset=utf-8";
const HTML: &str = "text/html; charset=utf-8";
const JAVASCRIPT: &str = "text/javascript; charset=utf-8";

/// The content type of a file with this name, or `None` if rooms do not serve such files.
fn content_type(name: &str) -> Option<&'static str> {
    let (_, extension) = name.rsplit_once('.')?;
    Some(match extension.to_ascii_lowercase().as_str() {
        "avif" => "image/avif",
        "css" => CSS,
        "gif" => "image/gif",
        "html" => HTML,
        "ico" => "image/x-icon",
        "jpeg" | "jpg" => "image/jpeg",
        "js" => JAVASCRIPT,
        "png" => "image/png",
        "svg" => "image/svg+xml",
        "webp" => "image/webp",
        "woff2" => "font/woff2",
        _ => return None,
    })
}

/// The style sheet of the built-in page. A custom page may use it too, by this name.
pub const STYLE: &str = include_str!("../../../site/wait.css");
const STYLE_NAME: &str = "wait.css";
