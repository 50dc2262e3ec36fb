//! Finds what a style sheet loads.

/// Every address in the style sheet: in `url(…)`, after `@import`, and every other string with a URL of a server.
pub(crate) fn addresses(css: &str) -> Vec<String> {
    let css = without_comments(css);
    let lower = css.to_ascii_lowercase();
    let urls = lower.match_indices("url(").map(|(at, found)| (at + found.len(), &[')'][..]));
    let imports = lower.match_indices("@import").map(|(at, found)| (at + found.len(), &[';', '}'][..]));
    let remote = ["\"http", "'http", "\"//", "'//"].map(|start| lower.match_indices(start));
    let remote = remote.into_iter().flatten().map(|(at, _)| (at, &[][..]));
    urls.chain(imports)
        .chain(remote)
        .filter_map(|(from, ends)| {
            let rest = css[from..].trim_start();
            // `@import url(…)` is already found as url(…).
            if rest.to_ascii_lowercase().starts_with("url(") {
                return None;
            }
            let address = match rest.chars().next() {
                Some(quote @ ('"' | '\'')) => rest[1..].split(quote).next(),
                _ => rest.split(ends).next(),
            };
            address.map(|address| address.trim().to_owned())
        })
        .collect()
}

fn without_comments(css: &str) -> String {
    let mut rest = css;
    let mut kept = String::with_capacity(css.len());
    while let Some((before, comment)) = rest.split_once("/*") {
        kept.push_str(before);
        rest = comment.split_once("*/").map_or("", |(_, after)| after);
    }
    kept + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_found_in_every_spelling() {
        let css = r#"
            @import "a.css"; @IMPORT url('b.css') print;
            body { background: url( c.png ) , URL("d.svg#x") }
            /* url(not-this.png) */
            i { background: image-set("https://evil.example/f.png" 1x) }
            @font-face { src: url(//evil.example/e.woff2) format("woff2") }
        "#;
        let mut found = addresses(css);
        found.sort();
        let expected =
            ["//evil.example/e.woff2", "a.css", "b.css", "c.png", "d.svg#x", "https://evil.example/f.png"];
        assert_eq!(found, expected);
    }

    #[test]
    fn broken_style_sheets_do_not_panic() {
        for css in ["url(", "@import", "/*", "url('", "@import 'x", "url(ü", "/* url(x) */ url("] {
            let _ = addresses(css);
        }
    }
}
