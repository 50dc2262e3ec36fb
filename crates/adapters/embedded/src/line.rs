//! The line in the file. Those who join together are written together: a record has up to [`TOGETHER`] of them, and their keys
//! follow each other from the record's own key on. A file of format 1 has a record for each visitor, which is the same with one.
//!
//! Whoever leaves the line is blanked in the record, and it goes with the last of them.

use redb::{ReadableTable, Table};
use waitroom::Place;

use crate::tables::{TableError, WAITING_BYTES, encode_waiting};

/// The most visitors in a record. Two such records fill a page of the file. To remove a batch means to write its record again.
const TOGETHER: usize = 64;

/// The end of the line, where visitors gather until their record is written.
pub(crate) struct LineEnd {
    next: u64,
    gathered: Vec<u8>,
}

impl LineEnd {
    /// `next` is the key for the next visitor.
    pub(crate) fn new(next: u64) -> Self {
        Self { next, gathered: Vec::new() }
    }

    pub(crate) fn next(&self) -> u64 {
        self.next
    }

    pub(crate) fn has_gathered(&self) -> bool {
        !self.gathered.is_empty()
    }

    pub(crate) fn push(
        &mut self,
        visitor: &Place,
        line: &mut Table<'_, u64, &'static [u8]>,
    ) -> Result<(), TableError> {
        self.gathered.extend_from_slice(&encode_waiting(visitor));
        self.next += 1;
        if self.gathered.len() < TOGETHER * WAITING_BYTES { Ok(()) } else { self.write(line) }
    }

    /// Writes those who have gathered. Nobody else may look at the line before.
    pub(crate) fn write(&mut self, line: &mut Table<'_, u64, &'static [u8]>) -> Result<(), TableError> {
        if self.has_gathered() {
            let first = self.next - (self.gathered.len() / WAITING_BYTES) as u64;
            line.insert(first, self.gathered.as_slice())?;
            self.gathered.clear();
        }
        Ok(())
    }
}

/// What a record has, by key. What is not a visitor is in it as it is.
pub(crate) fn entries(first: u64, record: &[u8]) -> impl Iterator<Item = (u64, &[u8])> {
    (first..).zip(parts(record)).filter(|(_, part)| !is_blank(part))
}

fn parts(record: &[u8]) -> std::slice::Chunks<'_, u8> {
    let is_of_visitors = record.len().is_multiple_of(WAITING_BYTES);
    record.chunks(if is_of_visitors { WAITING_BYTES } else { record.len() })
}

fn is_blank(part: &[u8]) -> bool {
    part.iter().all(|byte| *byte == 0)
}

/// Up to `most` entries from this key on, in their order.
pub(crate) fn entries_from(
    line: &impl ReadableTable<u64, &'static [u8]>,
    key: u64,
    most: usize,
) -> Result<Vec<(u64, Vec<u8>)>, TableError> {
    let mut found = Vec::new();
    let first = line.range(..=key)?.next_back().transpose()?.map_or(key, |(first, _)| first.value());
    for record in line.range(first..)? {
        if found.len() == most {
            break;
        }
        let (first, record) = record?;
        let here = entries(first.value(), record.value()).skip_while(|(of, _)| *of < key);
        found.extend(here.take(most - found.len()).map(|(key, entry)| (key, entry.to_vec())));
    }
    Ok(found)
}

/// How many entries there are.
pub(crate) fn count(line: &impl ReadableTable<u64, &'static [u8]>) -> Result<u64, TableError> {
    let mut count = 0;
    for record in line.iter()? {
        count += entries(0, record?.1.value()).count() as u64;
    }
    Ok(count)
}

/// The key behind the last one. 0 if the line is empty.
pub(crate) fn end(line: &impl ReadableTable<u64, &'static [u8]>) -> Result<u64, TableError> {
    let last = line.last()?;
    Ok(last.map_or(0, |(first, record)| first.value() + parts(record.value()).len() as u64))
}

/// Removes those with these keys, and returns how many of them were in the line.
pub(crate) fn remove(
    line: &mut Table<'_, u64, &'static [u8]>,
    mut keys: Vec<u64>,
) -> Result<u64, TableError> {
    keys.sort_unstable();
    let (mut rest, mut removed) = (keys.as_slice(), 0);
    while let [key, others @ ..] = rest {
        let Some((first, mut record)) = record_with(line, *key)? else {
            rest = others;
            continue;
        };
        let parts = parts(&record).len();
        let size = record.len() / parts;
        let mut left = entries(first, &record).count();
        while let [key, others @ ..] = rest
            && let Ok(index) = usize::try_from(key - first)
            && index < parts
        {
            let part = &mut record[index * size..][..size];
            if !is_blank(part) {
                part.fill(0);
                (left, removed) = (left - 1, removed + 1);
            }
            rest = others;
        }
        if left == 0 {
            line.remove(first)?;
        } else {
            line.insert(first, record.as_slice())?;
        }
    }
    Ok(removed)
}

/// The record that has this key, and the key of its first.
fn record_with(line: &Table<'_, u64, &'static [u8]>, key: u64) -> Result<Option<(u64, Vec<u8>)>, TableError> {
    let Some((first, record)) = line.range(..=key)?.next_back().transpose()? else { return Ok(None) };
    let (first, record) = (first.value(), record.value());
    let has_key = key - first < parts(record).len() as u64;
    Ok(has_key.then(|| (first, record.to_vec())))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use rand::rngs::SmallRng;
    use rand::seq::IteratorRandom;
    use rand::{RngExt, SeedableRng};
    use redb::Database;
    use redb::backends::InMemoryBackend;
    use waitroom::{Ticket, Token};

    use super::*;
    use crate::tables::{LINE, decode_waiting};

    fn visitor(number: u64) -> Place {
        let token = Token::from_bytes([7; Token::BYTES]);
        Place { epoch: "ab12".parse().unwrap(), token, ticket: Ticket::new(number).unwrap() }
    }

    fn numbers(entries: &[(u64, Vec<u8>)]) -> Vec<(u64, u64)> {
        entries.iter().map(|(key, entry)| (*key, decode_waiting(entry).unwrap().ticket.get())).collect()
    }

    /// Crowds join, and people leave from the front and out of the middle: the line is what a map of keys would be.
    #[test]
    fn a_line_is_as_if_each_visitor_had_a_record() {
        let database = Database::builder().create_with_backend(InMemoryBackend::new()).unwrap();
        let mut rng = SmallRng::seed_from_u64(1);
        let (mut expected, mut next, mut removed) = (BTreeMap::new(), 0, 0);
        for round in 0..300 {
            let transaction = database.begin_write().unwrap();
            let mut line = transaction.open_table(LINE).unwrap();
            let mut end = LineEnd::new(next);
            for _ in 0..rng.random_range(0..200) {
                expected.insert(end.next(), next + 1);
                end.push(&visitor(next + 1), &mut line).unwrap();
                next += 1;
            }
            end.write(&mut line).unwrap();
            let mut leaving: Vec<_> = expected.keys().copied().take(rng.random_range(0..150)).collect();
            leaving.extend(expected.keys().copied().sample(&mut rng, 20));
            // Who has left before, who is named twice, and who was never there.
            leaving.extend((0..next + 200).sample(&mut rng, 20));
            let known = expected.len();
            expected.retain(|key, _| !leaving.contains(key));
            let left = super::remove(&mut line, leaving).unwrap();
            assert_eq!(left, (known - expected.len()) as u64, "round {round}");
            removed += left;
            assert_eq!(count(&line).unwrap(), expected.len() as u64);
            let all: Vec<_> = expected.iter().map(|(key, number)| (*key, *number)).collect();
            assert_eq!(numbers(&entries_from(&line, 0, usize::MAX).unwrap()), all);
            let from = rng.random_range(0..=next);
            let some: Vec<_> = all.into_iter().filter(|(key, _)| *key >= from).take(10).collect();
            assert_eq!(numbers(&entries_from(&line, from, 10).unwrap()), some, "from {from}");
            assert!(expected.keys().last().is_none_or(|last| *last < end_of(&line)));
            drop(line);
            transaction.commit().unwrap();
        }
        assert!(removed > 20_000 && !expected.is_empty(), "{removed} have left");
    }

    fn end_of(line: &Table<'_, u64, &'static [u8]>) -> u64 {
        super::end(line).unwrap()
    }

    #[test]
    fn what_is_no_visitor_is_found_and_removed() {
        let database = Database::builder().create_with_backend(InMemoryBackend::new()).unwrap();
        let transaction = database.begin_write().unwrap();
        let mut line = transaction.open_table(LINE).unwrap();
        line.insert(3, b"not a visitor".as_slice()).unwrap();
        line.insert(5, [encode_waiting(&visitor(1)), [b'?'; WAITING_BYTES]].concat().as_slice()).unwrap();
        let found = entries_from(&line, 0, 10).unwrap();
        assert_eq!(found.iter().map(|(key, _)| *key).collect::<Vec<_>>(), [3, 5, 6]);
        assert_eq!((&*found[0].1, decode_waiting(&found[2].1)), (b"not a visitor".as_slice(), None));
        assert_eq!(super::remove(&mut line, vec![3, 4, 6]).unwrap(), 2);
        assert_eq!(numbers(&entries_from(&line, 0, 10).unwrap()), [(5, 1)]);
        assert_eq!((count(&line).unwrap(), end_of(&line)), (1, 7));
        assert_eq!(super::remove(&mut line, vec![5]).unwrap(), 1);
        assert_eq!((count(&line).unwrap(), end_of(&line)), (0, 0), "its record has gone");
    }
}
