//! What somebody meant who mistyped a word.

/// The key that is at most two letters away.
pub fn nearest<'a>(key: &str, keys: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let distances = keys.map(|known| (distance(key, known), known));
    distances.filter(|(distance, _)| *distance <= 2).min().map(|(_, key)| key)
}

/// How many letters must be inserted, removed or replaced to get from one word to the other.
pub(crate) fn distance(from: &str, to: &str) -> usize {
    let mut row: Vec<usize> = (0..=to.len()).collect();
    for (i, a) in from.bytes().enumerate() {
        let mut diagonal = std::mem::replace(&mut row[0], i + 1);
        for (j, b) in to.bytes().enumerate() {
            let replaced = diagonal + usize::from(a != b);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[to.len()]
}
