//! What can be changed in a pass before it is signed, and after.

use rand::RngExt;
use rand::rngs::StdRng;
use rand::seq::SliceRandom;

use crate::passes::{FUTURE, LONGEST_CLAIMS, NAME, PAST, ROOM, SUBJECT};
use crate::pick::pick;
use crate::spelling::{in_other_alphabet, recode, with_noise, with_spare_bits};

/// Names and values, as JSON spells them.
pub(crate) type Claims = Vec<(String, String)>;

/// What is changed, and how.
pub(crate) type Changes<T> = &'static [(&'static str, fn(&mut T, &mut StdRng))];

/// What leaves a pass good.
pub(crate) const HARMLESS: Changes<Claims> = &[
    ("claims in another order", |claims, rng| claims.shuffle(rng)),
    ("no number", |claims, _| claims.retain(|(name, _)| name != "\"queue_position\"")),
    ("another number", |claims, rng| {
        put(claims, "queue_position", pick(rng, &["1", "42", "999999999999999"]));
    }),
    ("a claim that nobody knows", |claims, rng| {
        put(
            claims,
            pick(rng, &["colour", "__proto__", "constructor", "a_b_c"]),
            pick(rng, &["\"\"", "\"[red] + 'green'\"", "0", "7"]),
        );
    }),
    ("a nonce", |claims, rng| {
        put(claims, "nonce", pick(rng, &["\"AAAAAAAAAAAAAAAA\"", "\"z-_9z-_9z-_9z-_9z-_9\""]));
    }),
    ("another visitor", |claims, rng| {
        put(claims, "sub", pick(rng, &["\"v\"", "\"__proto__\"", "\"-1\"", "\"0\""]));
    }),
    ("issued at another time", |claims, rng| put(claims, "iat", pick(rng, &["0", "1"]))),
    ("begun long ago", |claims, rng| put(claims, "nbf", pick(rng, &["0", "1"]))),
    ("ends never", |claims, _| put(claims, "exp", "999999999999999")),
];

/// What makes the claims bad.
pub(crate) const CLAIMS: Changes<Claims> = &[
    ("a number in another spelling", respell_number),
    ("a number in another spelling", respell_number),
    ("a number in another spelling", respell_number),
    ("a text in another spelling", respell_text),
    ("a text in another spelling", respell_text),
    ("a text in another spelling", respell_text),
    ("a claim twice", double),
    ("a claim twice", double),
    ("a claim is missing", |claims, rng| {
        let missing = pick(rng, &["iss", "aud", "sub", "token_use", "iat", "nbf", "exp"]);
        claims.retain(|(name, _)| *name != quoted(missing));
    }),
    ("not issued yet", |claims, rng| put(claims, "iat", pick(rng, &["4102444800", "999999999999999"]))),
    ("not begun", |claims, rng| put(claims, "nbf", pick(rng, &["4102444800", "999999999999999"]))),
    ("another issuer", |claims, rng| {
        let other = [format!("{ROOM}/"), ROOM.to_uppercase(), ROOM.replace("https", "http"), String::new()];
        put(claims, "iss", &quoted(&pick(rng, &other)));
    }),
    ("another audience", |claims, rng| {
        put(claims, "aud", pick(rng, &["\"other\"", "\"Sale\"", "\"sale \"", "\"sal\"", "\"\""]));
    }),
    ("another use", |claims, rng| put(claims, "token_use", pick(rng, &["\"id\"", "\"Access\"", "\"\""]))),
    ("a subject for nobody", |claims, rng| {
        let long = "a".repeat(129);
        put(claims, "sub", &quoted(pick(rng, &["", "a.b", "a b", "a;b", "a,b", "a=b", "a+b", &long])));
    }),
    ("the number 0", |claims, _| put(claims, "queue_position", "0")),
    ("a nonce that is none", |claims, rng| {
        let long = "a".repeat(65);
        put(claims, "nonce", &quoted(pick(rng, &["", "AAAAAAAAAAAAAAA", "AAAAAAAAAAAAAAA=", &long])));
    }),
    ("a claim of another name", |claims, rng| {
        let names = [
            "\"Colour\"",
            "\"\"",
            "\"a b\"",
            "\"é\"",
            "\"col\\u006fur\"",
            "colour",
            "'colour'",
            "\"colour1\"",
        ];
        claims.push((pick(rng, &names).to_string(), "\"red\"".into()));
    }),
    ("a claim that nobody knows, in another spelling", |claims, rng| {
        let values = [
            "true",
            "false",
            "null",
            "[]",
            "{}",
            "[\"red\"]",
            "1.0",
            "-1",
            "-0",
            "01",
            "1e3",
            "1000000000000000",
            "NaN",
            "\"\\u0072ed\"",
            "\"r\\/ed\"",
            "\"r\\\"ed\"",
            "\"réd\"",
            "\"r\ted\"",
            "\"r\u{7f}ed\"",
            "\"\\ud83d\\ude00\"",
        ];
        put(claims, "colour", pick(rng, &values));
    }),
    ("a claim with depth", |claims, rng| {
        let depth = pick(rng, &[1, 2, 130, 600]);
        put(claims, "colour", &format!("{}{}", "[".repeat(depth), "]".repeat(depth)));
    }),
    ("too long by a character", |claims, _| fill(claims, LONGEST_CLAIMS + 1)),
];

/// What makes a text no text of a room.
pub(crate) const TEXT: Changes<Vec<u8>> = &[
    ("white space", |text, rng| {
        let structure = |byte: &u8| matches!(byte, b'{' | b'}' | b':' | b',');
        let places: Vec<_> = (0..text.len()).filter(|at| structure(&text[*at])).collect();
        let at = pick(rng, &places) + usize::from(rng.random::<bool>());
        let space: &[u8] =
            pick(rng, &[&b" "[..], b"\t", b"\n", b"\r\n", b"\x0b", b"\x0c", b"\xc2\xa0", b"\0"]);
        text.splice(at..at, space.iter().copied());
    }),
    ("a byte order mark", |text, _| drop(text.splice(..0, *b"\xef\xbb\xbf"))),
    ("more behind it", |text, rng| {
        let more: &[u8] = pick(rng, &[&b"\n"[..], b" ", b"\0", b",", b"{}", b"x", b"]", b"}"]);
        text.extend_from_slice(more);
    }),
    ("a comma at the end", |text, _| text.insert(text.len() - 1, b',')),
    ("a comma at the beginning", |text, _| text.insert(1, b',')),
    ("a comment", |text, _| drop(text.splice(1..1, *b"/**/"))),
    ("a list", |text, _| {
        text.insert(0, b'[');
        text.push(b']');
    }),
    ("cut off", |text, _| text.truncate(text.len() - 1)),
    ("no claims", |text, rng| *text = pick(rng, &["{}", "[]", "null", "7", "\"a\"", "", "true"]).into()),
    ("in UTF-16", |text, rng| {
        let little = rng.random();
        let wide = |byte: &u8| if little { [*byte, 0] } else { [0, *byte] };
        *text = text.iter().flat_map(wide).collect();
    }),
    ("bytes that are no UTF-8", |text, rng| {
        let bytes: &[u8] = pick(rng, &[&b"\xff"[..], b"\x80", b"\xc0\xaf", b"\xed\xa0\x80"]);
        let more = [&b",\"colour\":\""[..], bytes, b"\"}"].concat();
        text.splice(text.len() - 1.., more);
    }),
    ("another quotation mark", |text, rng| {
        let places: Vec<_> = (0..text.len()).filter(|at| text[*at] == b'"').collect();
        text[pick(rng, &places)] = b'\'';
    }),
];

/// Other spellings of a part that the key has signed.
pub(crate) const PARTS: Changes<String> = &[
    ("a part with padding", |part, _| part.push('=')),
    ("a part with bits that count for nothing", |part, _| *part = with_spare_bits(part)),
    ("a part with a character of no alphabet", |part, rng| *part = with_noise(part, rng)),
    ("a part in the other alphabet", |part, _| *part = in_other_alphabet(part)),
    ("a part with a character too many", |part, _| part.push('A')),
];

/// Other spellings of a signature, and what is none.
pub(crate) const SIGNATURE: Changes<String> = &[
    ("a signature with padding", |signature, rng| *signature += pick(rng, &["=", "==", "%3D%3D"])),
    ("a signature with bits that count for nothing", |signature, _| *signature = with_spare_bits(signature)),
    ("a signature with a character of no alphabet", |signature, rng| *signature = with_noise(signature, rng)),
    ("a signature in the other alphabet", |signature, _| *signature = in_other_alphabet(signature)),
    ("a signature with a zero in front", |signature, _| recode(signature, |bytes| bytes.insert(0, 0))),
    ("a signature with a zero behind", |signature, _| recode(signature, |bytes| bytes.push(0))),
    ("a signature that is cut", |signature, _| recode(signature, |bytes| bytes.truncate(bytes.len() - 1))),
    ("a signature with another bit", |signature, rng| {
        recode(signature, |bytes| {
            let at = rng.random_range(0..bytes.len());
            bytes[at] ^= 1 << rng.random_range(0..8);
        });
    }),
    ("no signature", |signature, _| signature.clear()),
];

/// What can be wrong around a pass in a URL.
pub(crate) const TOKEN: Changes<String> = &[
    ("a dot behind it", |pass, _| pass.push('.')),
    ("a dot in front", |pass, _| pass.insert(0, '.')),
    ("two dots", |pass, _| *pass = pass.replacen('.', "..", 1)),
    ("a fourth part", |pass, _| *pass += ".e30"),
    ("a scheme", |pass, _| pass.insert_str(0, "Bearer%20")),
    ("an escaped dot", |pass, _| *pass = pass.replacen('.', "%2E", 1)),
    ("an escaped letter", |pass, _| *pass = pass.replacen('e', "%65", 1)),
    ("more behind it", |pass, rng| *pass += pick(rng, &["%20", "+", "%00", ";x", ","])),
    ("quotation marks", |pass, _| *pass = format!("%22{pass}%22")),
];

/// Headers that no room writes.
pub(crate) fn headers(kid: &str, other: &str) -> Vec<(&'static str, String)> {
    let plain = format!(r#""alg":"RS256","kid":"{kid}","typ":"JWT""#);
    let other_key = |kid: &str| format!(r#"{{"alg":"RS256","kid":{kid},"typ":"JWT"}}"#);
    let mut headers = vec![
        ("a header in another order", format!(r#"{{"kid":"{kid}","alg":"RS256","typ":"JWT"}}"#)),
        ("a header with a space", format!("{{ {plain}}}")),
        ("a header with a line behind it", format!("{{{plain}}}\n")),
        ("a header with a byte order mark", format!("\u{feff}{{{plain}}}")),
        ("a header with more in it", format!(r#"{{{plain},"cty":"JWT"}}"#)),
        ("a header with a critical list", format!(r#"{{{plain},"crit":["exp"]}}"#)),
        ("a header with an unknown critical list", format!(r#"{{{plain},"crit":["colour"],"colour":1}}"#)),
        ("a header with an empty critical list", format!(r#"{{{plain},"crit":[]}}"#)),
        ("a header with a critical text", format!(r#"{{{plain},"crit":"colour"}}"#)),
        ("a header of unencoded claims", format!(r#"{{{plain},"b64":false,"crit":["b64"]}}"#)),
        ("a header with a key of its own", format!(r#"{{{plain},"jwk":{{"kty":"RSA"}}}}"#)),
        ("a header with two algorithms", format!(r#"{{"alg":"none",{plain}}}"#)),
        ("a header with two equal algorithms", format!(r#"{{"alg":"RS256",{plain}}}"#)),
        ("a header with two ids", format!(r#"{{"kid":"{other}",{plain}}}"#)),
        ("a header without an algorithm", format!(r#"{{"kid":"{kid}","typ":"JWT"}}"#)),
        ("a header without a type", format!(r#"{{"alg":"RS256","kid":"{kid}"}}"#)),
        ("a header without an id", r#"{"alg":"RS256","typ":"JWT"}"#.into()),
        ("a header with the other key's id", other_key(&quoted(other))),
        ("a header with an unknown id", other_key("\"unknown\"")),
        ("a header with an empty id", other_key("\"\"")),
        ("a header with an id that is no text", other_key("7")),
        ("a header with an id that is nothing", other_key("null")),
        ("a header with an id in a list", other_key(&format!("[\"{kid}\"]"))),
        ("a header with an escape", other_key(&format!("\"\\u00{:02x}{}\"", kid.as_bytes()[0], &kid[1..]))),
        ("a header that is a list", format!("[{{{plain}}}]")),
        ("a header that is a number", "7".into()),
        ("a header that is empty", String::new()),
    ];
    for algorithm in [
        "\"rs256\"",
        "\"RS384\"",
        "\"RS512\"",
        "\"PS256\"",
        "\"ES256\"",
        "\"HS256\"",
        "\"none\"",
        "\"\"",
        "7",
        "[\"RS256\"]",
    ] {
        headers.push((
            "a header of another algorithm",
            format!(r#"{{"alg":{algorithm},"kid":"{kid}","typ":"JWT"}}"#),
        ));
    }
    for kind in ["\"jwt\"", "\"at+jwt\"", "\"JOSE\"", "7", "null"] {
        headers
            .push(("a header of another type", format!(r#"{{"alg":"RS256","kid":"{kid}","typ":{kind}}}"#)));
    }
    headers
}

/// Gives a claim this value, once, where it was or at the end.
pub(crate) fn put(claims: &mut Claims, name: &str, value: &str) {
    let name = quoted(name);
    match claims.iter_mut().find(|(found, _)| *found == name) {
        Some((_, old)) => *old = value.into(),
        None => claims.push((name, value.into())),
    }
}

/// Adds a claim so that the claims have this many bytes.
pub(crate) fn fill(claims: &mut Claims, length: usize) {
    put(claims, "colour", "\"\"");
    let used: usize = claims.iter().map(|(name, value)| name.len() + value.len() + 2).sum::<usize>() + 1;
    put(claims, "colour", &quoted(&"x".repeat(length.saturating_sub(used))));
}

fn respell_number(claims: &mut Claims, rng: &mut StdRng) {
    let (name, value) = pick(rng, &[("iat", PAST), ("nbf", PAST), ("exp", FUTURE), ("queue_position", 7)]);
    put(claims, name, &pick(rng, &numbers(&value.to_string())));
}

fn respell_text(claims: &mut Claims, rng: &mut StdRng) {
    let known = [
        ("iss", ROOM),
        ("aud", NAME),
        ("sub", SUBJECT),
        ("token_use", "access"),
        ("nonce", "AAAAAAAAAAAAAAAA"),
    ];
    let (name, value) = pick(rng, &known);
    put(claims, name, &pick(rng, &texts(value)));
}

fn double(claims: &mut Claims, rng: &mut StdRng) {
    let (name, value) = pick(rng, claims);
    let escaped = format!("\"\\u00{:02x}{}", name.as_bytes()[1], &name[2..]);
    let name = if rng.random_ratio(1, 4) { escaped } else { name };
    let value = if rng.random() { value } else { pick(rng, &["\"other\"", "0", "null", "[]"]).to_string() };
    claims.insert(rng.random_range(0..=claims.len()), (name, value));
}

/// What stands where a number belongs, and is not how a room writes it.
fn numbers(number: &str) -> Vec<String> {
    let spelled =
        ["{}.0", "{}e0", "{}E+0", "0{}", "+{}", "-{}", "\"{}\"", "[{}]", " {}", "{}.", "{\"a\":{}}"];
    let spelled = spelled.map(|spelling| spelling.replace("{}", number));
    let others = [
        "1e12",
        "-0",
        "-1",
        "1.5",
        "true",
        "false",
        "null",
        "{}",
        "NaN",
        "Infinity",
        "-Infinity",
        "1000000000000000",
        "9007199254740993",
        "18446744073709551616",
        "1e400",
        "0x10",
        "",
        "1_000",
        "\u{661}",
        "\"\"",
    ];
    spelled.into_iter().chain(others.map(str::to_owned)).collect()
}

/// What stands where a text belongs, and is not how a room writes it.
fn texts(text: &str) -> Vec<String> {
    let escaped = format!("\"\\u00{:02x}{}\"", text.as_bytes()[0], &text[1..]);
    let spelled = [
        "[\"{}\"]",
        "[\"{}\",\"other\"]",
        "[[\"{}\"]]",
        "{\"a\":\"{}\"}",
        "\"{} \\n\"",
        "\"{}\\u0000\"",
        "\"{}\t\"",
        "\"{}\0\"",
        "\"{}\u{7f}\"",
        "\"{}é\"",
        "\"\u{a0}{}\"",
        "\"{}\\ud800\"",
        "\"{}\\/\"",
        "\"{}\\\"",
        "'{}'",
        "{}",
        "\"{}",
    ];
    let spelled = spelled.map(|spelling| spelling.replace("{}", text));
    let others = ["7", "0", "true", "null", "[]", "{}", "1.5", ""];
    spelled.into_iter().chain(others.map(str::to_owned)).chain([escaped]).collect()
}

fn quoted(text: &str) -> String {
    format!("\"{text}\"")
}
