use std::ops::RangeInclusive;
use std::time::Duration;

/// Parses a duration within bounds.
pub(super) fn between(
    text: &str,
    allowed: RangeInclusive<Duration>,
    refusal: &'static str,
) -> Result<Duration, String> {
    let time = humantime::parse_duration(text).map_err(|error| format!("{error}; write it like 5s or 1m"))?;
    if allowed.contains(&time) { Ok(time) } else { Err(refusal.into()) }
}
