//! Who came for their pass in a room on AWS: a metric, in minutes of the clock. The room's own minutes begin and end at
//! another second.

use std::time::Duration;

use waitroom::Timestamp;

use super::minutes::ReportedMinute;

const MINUTE: u64 = 60_000;

/// Sets how many came for their pass in each minute. `entries` are when a minute of the clock began and how many came in it,
/// in order. Within a minute, visitors are taken to come evenly, so that each is counted in one of the room's minutes. A minute of the
/// clock in which a rehearsal begins is all its own: nobody waits then, and its visitors are no customers.
/// Minutes that ended before the first entry stay as they are: then perhaps nobody counted.
pub(crate) fn set_entered(minutes: &mut [ReportedMinute], entries: &[(Timestamp, u64)]) {
    let Some((first, _)) = entries.first() else { return };
    let mut sum = 0;
    let sums: Vec<u64> = entries
        .iter()
        .map(|(_, visitors)| {
            sum += visitors;
            sum
        })
        .collect();
    let until = |at: Timestamp| {
        let index = entries.partition_point(|(began, _)| *began < at);
        let Some(last) = index.checked_sub(1) else { return 0 };
        let (began, visitors) = entries[last];
        let passed = at.as_millis().saturating_sub(began.as_millis()).min(MINUTE);
        sums[last] - visitors + visitors * passed / MINUTE
    };
    let rehearsed_next = minutes.windows(2).map(|pair| !pair[0].count.rehearsal && pair[1].count.rehearsal);
    let rehearsed_next: Vec<_> = rehearsed_next.chain([false]).collect();
    let mut before = None;
    for (minute, rehearsed_next) in minutes.iter_mut().zip(rehearsed_next) {
        let at = minute.count.at;
        let from = before.unwrap_or(at - Duration::from_millis(MINUTE));
        let to = if rehearsed_next { clock_minute(at).max(from) } else { at };
        if at > *first {
            minute.count.entered = Some(until(to).saturating_sub(until(from)));
        }
        before = Some(to);
    }
}

/// When the minute of the clock began.
fn clock_minute(at: Timestamp) -> Timestamp {
    Timestamp::from_millis(at.as_millis() / MINUTE * MINUTE)
}

#[cfg(test)]
mod tests {
    use waitroom::Rate;

    use super::*;
    use crate::fixture::minute_record;
    use crate::minutes::reported;

    fn second(second: u64) -> Timestamp {
        Timestamp::from_millis(second * 1000)
    }

    fn entered(ends: &[u64], entries: &[(u64, u64)]) -> Vec<Option<u64>> {
        entered_in(ends.iter().map(|end| (*end, false)), entries)
    }

    /// The same, of minutes that may be of a rehearsal.
    fn entered_in(ends: impl IntoIterator<Item = (u64, bool)>, entries: &[(u64, u64)]) -> Vec<Option<u64>> {
        let record = |(end, rehearsal)| {
            let mut record = minute_record(second(end), 100, 50);
            record.totals.rehearsal = rehearsal;
            record
        };
        let records: Vec<_> = ends.into_iter().map(record).collect();
        let mut minutes = reported(&records, second(0), &[], Rate::MIN);
        let entries: Vec<_> = entries.iter().map(|(began, visitors)| (second(*began), *visitors)).collect();
        set_entered(&mut minutes, &entries);
        minutes.iter().map(|minute| minute.count.entered).collect()
    }

    #[test]
    fn each_visitor_is_counted_in_one_minute_of_the_room() {
        // The room's minutes end at second 15 and later at 16, and one has no record.
        let ends = [615, 675, 736, 856, 916];
        let minutes = entered(&ends, &[(600, 40), (660, 7), (780, 100)]);
        assert_eq!(minutes, [Some(10), Some(31), Some(6), Some(100), Some(0)]);
        assert_eq!(minutes.into_iter().flatten().sum::<u64>(), 147);
    }

    #[test]
    fn minutes_before_the_first_entry_are_not_counted() {
        assert_eq!(entered(&[615, 675, 735], &[(660, 4)]), [None, Some(1), Some(3)]);
        assert_eq!(entered(&[615, 675], &[]), [None, None]);
    }

    #[test]
    fn the_minute_in_which_a_rehearsal_begins_counts_no_customer() {
        assert_eq!(entered_in([(620, false), (680, true)], &[(600, 300)]), [Some(0), Some(300)]);
        // Another one had ended in that minute of the clock.
        let twice = [(610, true), (620, false), (680, true), (740, false)];
        let counted = entered_in(twice, &[(600, 300), (660, 60)]);
        assert_eq!(counted, [Some(50), Some(0), Some(270), Some(40)]);
    }

    #[test]
    fn those_who_came_before_the_first_record_are_not_counted() {
        assert_eq!(entered(&[720], &[(600, 9), (660, 5), (720, 8)]), [Some(5)]);
    }
}
