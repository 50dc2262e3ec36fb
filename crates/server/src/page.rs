//! The page that people wait on, carried inside the binary.

use hyper::Response;
use hyper::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, REFERRER_POLICY, X_CONTENT_TYPE_OPTIONS,
};
use waitroom::Room;

use crate::Answer;
use crate::app::finish;

/// Nothing from anywhere else, and nothing inline.
const POLICY: &str = "default-src 'none'; connect-src 'self'; img-src 'self' data:; script-src 'self'; \
                      style-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

pub(crate) fn file(name: &str, room: &Room) -> Option<Answer> {
    let (kind, body) = match name {
        "" | "index.html" => {
            let title = escape(room.settings.title.as_str());
            (
                "text/html; charset=utf-8",
                include_str!("../../../site/index.html").replace("{{title}}", &title),
            )
        }
        "wait.css" => ("text/css; charset=utf-8", include_str!("../../../site/wait.css").into()),
        "wait.js" => ("text/javascript; charset=utf-8", include_str!("../../../site/wait.js").into()),
        _ => return None,
    };
    let response = Response::builder()
        .header(CONTENT_TYPE, kind)
        .header(CACHE_CONTROL, "public, max-age=60")
        .header(CONTENT_SECURITY_POLICY, POLICY)
        .header(REFERRER_POLICY, "no-referrer")
        .header(X_CONTENT_TYPE_OPTIONS, "nosniff")
        .header("x-robots-tag", "noindex");
    Some(finish(response, body))
}

pub(crate) fn escape(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .replace('"', "&quot;")
        .replace('\'', "&#39;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_title_is_text_whatever_is_in_it() {
        assert_eq!(escape("<b>\"R&D's\"</b>"), "&lt;b&gt;&quot;R&amp;D&#39;s&quot;&lt;/b&gt;");
    }
}
