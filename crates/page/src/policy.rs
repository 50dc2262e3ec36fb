//! The Content-Security-Policy: a page may load files from its own origin and nothing else.

use aws_lc_rs::digest;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;

/// `inline_style` is the one style sheet that a document may contain. It is inline so that the first paint needs no
/// second request.
pub(crate) fn policy(inline_style: Option<&str>) -> String {
    let style = inline_style.map_or_else(String::new, |style| {
        format!(" 'sha256-{}'", STANDARD.encode(digest::digest(&digest::SHA256, style.as_bytes())))
    });
    format!(
        "default-src 'none'; connect-src 'self'; font-src 'self'; img-src 'self' data:; script-src 'self'; \
         style-src 'self'{style}; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    )
}
