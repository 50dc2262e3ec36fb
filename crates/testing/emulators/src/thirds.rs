//! What takes minutes and is much the same from one case to the next, such as hundreds of random runs: a change tries a third of
//! it, another one each day, and the weekly run tries all.

use std::env;

/// Which third a run tries: `0`, `1` or `2`. Without it, everything.
pub const THIRD: &str = "BEEKEEPER_TEST_THIRD";

/// The cases that this run tries.
pub fn of_this_run<T>(cases: impl IntoIterator<Item = T>) -> impl Iterator<Item = T> {
    let third = env::var(THIRD).ok().and_then(|third| third.parse().ok());
    third_of(third, cases)
}

fn third_of<T>(third: Option<usize>, cases: impl IntoIterator<Item = T>) -> impl Iterator<Item = T> {
    let is_of_it = move |at: usize| third.is_none_or(|third| at % 3 == third);
    cases.into_iter().enumerate().filter(move |(at, _)| is_of_it(*at)).map(|(_, case)| case)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_case_is_in_one_third_and_without_a_third_all_are() {
        let mut all: Vec<_> = (0..3).flat_map(|third| third_of(Some(third), 0..200)).collect();
        all.sort_unstable();
        assert!(all.into_iter().eq(0..200));
        assert!(third_of(None, 0..200).eq(0..200));
    }
}
