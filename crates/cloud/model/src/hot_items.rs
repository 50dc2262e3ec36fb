//! How unevenly a few items that everybody reads lie on a table's partitions.
//!
//! DynamoDB puts each item on the partition that the hash of its key names, and one partition serves so many reads a second
//! and no more. With few items, some partition has more than its share, and which one is luck: a new table draws again. AWS
//! moves such items apart after a while, which nothing here counts on.

/// The chance that a number holds which is said of the copies of the status.
pub const CONFIDENCE: f64 = 0.99;

/// The most of so many items that lie on one of so many partitions, with [`CONFIDENCE`].
pub(crate) fn most_on_one(items: u32, partitions: u32) -> u32 {
    (1..items).find(|&most| chance_of_at_most(most, items, partitions) >= CONFIDENCE).unwrap_or(items)
}

/// The chance that no partition has more than `most` of the items.
///
/// The number of ways to deal the items is a coefficient of a product: of each partition's ways, `1 + x + x²/2! + …` up to
/// `most`.
pub fn chance_of_at_most(most: u32, items: u32, partitions: u32) -> f64 {
    let share = 1.0 / f64::from(partitions.max(1));
    // What `count` items on one partition contribute: share^count / count!
    let mut of_one = vec![1.0];
    for count in 1..=most.min(items) {
        of_one.push(of_one.last().copied().unwrap_or_default() * share / f64::from(count));
    }
    let all = items as usize;
    let mut dealt = vec![0.0; all + 1];
    dealt[0] = 1.0;
    for _ in 0..partitions.max(1) {
        let mut next = vec![0.0; all + 1];
        for (before, ways) in dealt.iter().enumerate() {
            for (count, more) in of_one.iter().enumerate().take(all + 1 - before) {
                next[before + count] += ways * more;
            }
        }
        dealt = next;
    }
    (1..=items).fold(dealt[all], |chance, item| chance * f64::from(item))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_chance_is_that_of_coins_and_dice() {
        let is = |chance: f64, expected: f64| (chance - expected).abs() < 1e-9;
        assert!(is(chance_of_at_most(1, 2, 2), 0.5), "two coins differ");
        assert!(is(chance_of_at_most(1, 3, 6), 5.0 / 9.0), "three dice differ");
        assert!(is(chance_of_at_most(16, 16, 4), 1.0) && is(chance_of_at_most(3, 16, 4), 0.0));
        assert!(is(chance_of_at_most(16, 16, 1), 1.0) && is(chance_of_at_most(15, 16, 1), 0.0));
    }

    #[test]
    fn six_of_sixteen_copies_on_one_of_four_partitions_are_likely_and_ten_are_not() {
        let more_than = |most| 1.0 - chance_of_at_most(most, 16, 4);
        assert!((0.6..0.75).contains(&more_than(5)), "{}", more_than(5));
        assert_eq!(most_on_one(16, 4), 9);
        assert!(more_than(9) < 0.01 && more_than(8) > 0.01);
    }

    #[test]
    fn more_partitions_have_fewer_each() {
        let most: Vec<_> = [1, 4, 8, 20, 100].map(|partitions| most_on_one(16, partitions)).into();
        assert!(most.is_sorted_by(|one, other| one > other), "{most:?}");
    }
}
