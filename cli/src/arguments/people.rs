/// A number of people: `20000`, `150k`, `2m`.
pub(crate) fn people(text: &str) -> Result<u64, String> {
    let mistake = || "must be a whole number of people from 1 to 100m, like 20000 or 150k".to_owned();
    let units = [("k", 1000), ("K", 1000), ("m", 1_000_000), ("M", 1_000_000)];
    let unit = units.into_iter().find_map(|(suffix, unit)| Some((text.strip_suffix(suffix)?, unit)));
    let (digits, unit) = unit.unwrap_or((text, 1));
    let number = digits.parse::<u64>().ok().filter(|_| digits.bytes().all(|byte| byte.is_ascii_digit()));
    let people = number
        .and_then(|number| number.checked_mul(unit))
        .filter(|people| (1..=100_000_000).contains(people));
    people.ok_or_else(mistake)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn people_are_counted_in_thousands_and_millions_too() {
        let good = ["1", "20000", "150k", "2K", "2m", "100M"].map(|text| people(text).unwrap());
        assert_eq!(good, [1, 20_000, 150_000, 2_000, 2_000_000, 100_000_000]);
        for wrong in ["", "0", "k", "-1", "+5", "1.5m", "101m", "many", "18446744073709551615k"] {
            assert!(people(wrong).unwrap_err().starts_with("must be a whole number of people"), "{wrong}");
        }
    }
}
