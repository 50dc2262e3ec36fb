//! The Content-Security-Policy: a page may use what is inside it and images and fonts of its own origin, and nothing else.

use aws_lc_rs::digest;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;

/// Allows style sheets of the page's own origin.
pub(crate) const OWN_ORIGIN: &str = "'self'";

/// The policy of a file that may use these scripts and these style sheets.
pub(crate) fn policy(scripts: &[String], styles: &[String]) -> String {
    let list = |sources: &[String]| {
        if sources.is_empty() { "'none'".to_owned() } else { sources.join(" ") }
    };
    format!(
        "default-src 'none'; connect-src 'self'; font-src 'self'; img-src 'self' data:; script-src {}; style-src {}; \
         base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
        list(scripts),
        list(styles)
    )
}

/// Allows the element `<script>` or `<style>` with exactly this text.
pub(crate) fn hash(text: &str) -> String {
    format!("'sha256-{}'", STANDARD.encode(digest::digest(&digest::SHA256, text.as_bytes())))
}
