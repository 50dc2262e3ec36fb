use std::time::Duration;

/// Reads a duration within these bounds, which are written as people type them.
pub(super) fn between(
    shortest: &'static str,
    longest: &'static str,
) -> impl Fn(&str) -> Result<Duration, String> + Clone {
    move |text| {
        let read = |text| {
            humantime::parse_duration(text)
                .map_err(|_| format!("write how long, with a unit: from {shortest} to {longest}"))
        };
        let time = read(text)?;
        if (read(shortest)?..=read(longest)?).contains(&time) {
            Ok(time)
        } else {
            Err(format!("must be from {shortest} to {longest}"))
        }
    }
}
