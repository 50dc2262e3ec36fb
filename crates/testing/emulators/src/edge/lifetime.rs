//! How long an answer is kept.
//!
//! <https://docs.aws.amazon.com/AmazonCloudFront/latest/DeveloperGuide/Expiration.html> and
//! <https://docs.aws.amazon.com/AmazonCloudFront/latest/DeveloperGuide/HTTPStatusCodes.html>

use std::collections::BTreeMap;

use anyhow::{Context, Result};
use serde_json::Value;

use super::properties::Properties;

/// `$word` is what the origin says of its answer: a number of seconds, `never`, or nothing. nginx cannot read the date of
/// `Expires`, so an answer with only that is kept as shortly as possible.
pub(super) const WORDS: &str = r#"
map $upstream_http_cache_control $said {
    default "";
    "~*(^|[\s,])(no-store|no-cache|private)([\s,=]|$)" never;
    "~*(^|[\s,])s-maxage=(?<shared_age>\d+)" $shared_age;
    "~*(^|[\s,])max-age=(?<own_age>\d+)" $own_age;
}
map $said:$upstream_http_expires $word { default never; : ""; "~^(?<first_word>[^:]+):" $first_word; }
"#;

/// How long an error is kept if nobody says something else.
const ERROR_SECONDS: u64 = 10;

/// The errors that are always kept, whatever `Cache-Control` says.
const ALWAYS: [u64; 4] = [500, 502, 503, 504];
/// These are not kept if `Cache-Control` forbids it.
const UNLESS_FORBIDDEN: [u64; 4] = [404, 410, 414, 501];
/// These are kept only if `Cache-Control` says for how long.
const IF_SAID: [u64; 5] = [400, 403, 405, 412, 415];

/// How long the cache policy of a behavior keeps a good answer, in seconds.
#[derive(Clone, Copy)]
pub(super) struct Times {
    pub(super) least: u64,
    pub(super) usual: u64,
    pub(super) most: u64,
}

impl Times {
    pub(super) const NONE: Self = Self { least: 0, usual: 0, most: 0 };

    pub(super) fn keeps(self) -> bool {
        self.most > 0
    }

    /// `$lifetime_<number>`, and what it refers to. Errors are kept even where nothing else is.
    pub(super) fn maps(self, number: usize, errors: &ErrorTimes) -> String {
        let mut maps = self.map(&format!("good_{number}"), self.usual, self.least);
        let mut lifetime =
            format!("map $upstream_status $lifetime_{number} {{ default 0; \"~^[23]\" $good_{number};\n");
        for code in ALWAYS.iter().chain(&UNLESS_FORBIDDEN).chain(&IF_SAID) {
            let least = errors.of(*code);
            let unsaid = if IF_SAID.contains(code) { 0 } else { least };
            let forbidden = if ALWAYS.contains(code) { least } else { 0 };
            let error = format!("error_{number}_{code}");
            maps += &Self { least, most: self.most.max(least), ..self }.map(&error, unsaid, forbidden);
            lifetime.extend([&*code.to_string(), " $", &error, ";\n"]);
        }
        maps + &lifetime + "}\n"
    }

    /// A variable with what the origin says, within these limits.
    fn map(self, name: &str, unsaid: u64, forbidden: u64) -> String {
        let (few, many) = (arm(&below(self.least), self.least), arm(&above(self.most), self.most));
        format!("map $word ${name} {{ default $word; \"\" {unsaid}; never {forbidden};{few}{many} }}\n")
    }
}

/// How long each error is kept at least, in seconds.
pub(super) struct ErrorTimes(BTreeMap<u64, u64>);

impl ErrorTimes {
    pub(super) fn read(responses: &[Value]) -> Result<Self> {
        let mut times = BTreeMap::new();
        for response in responses {
            let mut response = Properties::new("a custom error response", response)?;
            let code = response.number("ErrorCode")?.context("a custom error response has no code")?;
            times.insert(code, response.number("ErrorCachingMinTTL")?.unwrap_or(ERROR_SECONDS));
            response.end()?;
        }
        Ok(Self(times))
    }

    fn of(&self, code: u64) -> u64 {
        self.0.get(&code).copied().unwrap_or(ERROR_SECONDS)
    }
}

/// An arm of nginx's `map`, for the numbers that one of these expressions matches.
fn arm(expressions: &[String], seconds: u64) -> String {
    if expressions.is_empty() {
        return String::new();
    }
    format!(" \"~^0*({})$\" {seconds};", expressions.join("|"))
}

/// The numbers below this one, as regular expressions: nginx compares texts only.
fn below(number: u64) -> Vec<String> {
    let digits = number.to_string();
    let shorter = (digits.len() > 1).then(|| format!("\\d{{1,{}}}", digits.len() - 1));
    let with = |(place, digit): (usize, char)| {
        let last = char::from_digit(digit.to_digit(10)?.checked_sub(1)?, 10)?;
        Some(format!("{}[0-{last}]\\d{{{}}}", &digits[..place], digits.len() - place - 1))
    };
    shorter.into_iter().chain(digits.chars().enumerate().filter_map(with)).collect()
}

/// The numbers above this one.
fn above(number: u64) -> Vec<String> {
    let digits = number.to_string();
    let longer = format!("[1-9]\\d{{{},}}", digits.len());
    let with = |(place, digit): (usize, char)| {
        let first = char::from_digit(digit.to_digit(10)? + 1, 10)?;
        Some(format!("{}[{first}-9]\\d{{{}}}", &digits[..place], digits.len() - place - 1))
    };
    [longer].into_iter().chain(digits.chars().enumerate().filter_map(with)).collect()
}
