use std::fmt::Display;
use std::str::FromStr;

use waitroom::{Rate, RateError};

/// Reads a whole number within these bounds.
pub(super) fn between<T: FromStr + PartialOrd + Display + Copy>(
    least: T,
    most: T,
) -> impl Fn(&str) -> Result<T, String> + Clone {
    move |text: &str| {
        let number = text.parse::<T>().ok().filter(|number| (least..=most).contains(number));
        number.ok_or_else(|| format!("must be a whole number from {least} to {most}"))
    }
}

/// A rate as people type it. With its examples, nobody tries 1,200 a second time.
pub(super) fn rate(text: &str) -> Result<Rate, String> {
    text.parse().map_err(|error: RateError| format!("{error}, like 1200 or 3k"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_is_refused_with_its_bounds() {
        let limit = between(1_u16, 500);
        assert_eq!([limit("1"), limit("500")], [Ok(1), Ok(500)]);
        for wrong in ["0", "501", "-1", "1e9", "70000", "many"] {
            assert_eq!(limit(wrong).unwrap_err(), "must be a whole number from 1 to 500", "{wrong}");
        }
    }
}
