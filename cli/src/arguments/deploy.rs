use clap::Args;
use waitroom::RoomId;

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  beekeeper deploy spring-sale --dry-run      show the plan, its costs, and what would change
  beekeeper deploy spring-sale                create the room, or update it
  beekeeper deploy spring-sale --expect 150k  warn of what does not fit 150,000 people
  beekeeper deploy spring-sale --yes --json   the same from a script

The plan says how many people can join a second, wait and be let in, by the limits of your account, and what they cost.
It is computed by a model: docs/crowd.md.

An update applies the changes in the configuration file. It keeps the line, the ticket numbers and the keys. If the
command is interrupted, AWS continues; run the same command again to follow it.")]
pub(crate) struct Deploy {
    /// Name of the room, as `beekeeper config` lists it
    pub(crate) name: RoomId,
    /// Show the plan and its costs, and change nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// How many people you expect at most, from 1 to 100m; 150k is 150000. Without it, a terminal asks
    #[arg(long, value_name = "PEOPLE", value_parser = people)]
    pub(crate) expect: Option<u64>,
}

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
