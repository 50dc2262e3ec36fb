//! The files of the waiting page, as they lie in the bucket.

use waitroom::Room;

/// One file, and what it is served as.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PageFile {
    pub name: &'static str,
    pub content_type: &'static str,
    pub body: String,
}

/// The page of this room.
pub(crate) fn files(room: &Room) -> Vec<PageFile> {
    let title = escape(room.settings.title.as_str());
    let index = include_str!("../../../site/index.html").replace("{{title}}", &title);
    let file = |name, content_type, body| PageFile { name, content_type, body };
    vec![
        file("wait.css", "text/css; charset=utf-8", include_str!("../../../site/wait.css").into()),
        file("wait.js", "text/javascript; charset=utf-8", include_str!("../../../site/wait.js").into()),
        // Last, so that what it names is there.
        file("index.html", "text/html; charset=utf-8", index),
    ]
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .replace('"', "&quot;")
        .replace('\'', "&#39;")
}
