use std::collections::{BTreeMap, VecDeque};
use std::time::Instant;

use anyhow::Result;
use operator::{Status, WindowCount};
use waitroom::RoomId;

/// How many readings are kept. With one every two seconds, this is an hour.
const READINGS: usize = 1800;
const WINDOWS: usize = 60;

/// A room's readings since the charts were opened.
#[derive(Debug)]
pub(super) struct Course {
    pub(super) name: RoomId,
    pub(super) latest: Status,
    /// Seconds since the first reading, and how many waited then.
    pub(super) waiting: VecDeque<(f64, f64)>,
    /// The windows by their number.
    pub(super) windows: BTreeMap<u64, WindowCount>,
    /// Why the last reading failed.
    pub(super) problem: Option<String>,
    began: Instant,
}

impl Course {
    pub(super) fn new(name: RoomId, first: Status) -> Self {
        let mut course = Self {
            name,
            latest: first.clone(),
            waiting: VecDeque::new(),
            windows: BTreeMap::new(),
            problem: None,
            began: Instant::now(),
        };
        course.note(first, 0.0);
        course
    }

    pub(super) fn see(&mut self, reading: Result<Status>) {
        match reading {
            Ok(status) => self.note(status, self.began.elapsed().as_secs_f64()),
            Err(error) => self.problem = Some(format!("{error:#}")),
        }
    }

    #[expect(clippy::cast_precision_loss, reason = "no line has 2^52 people")]
    pub(super) fn note(&mut self, status: Status, seconds: f64) {
        self.problem = None;
        self.waiting.push_back((seconds, status.line.waiting as f64));
        if self.waiting.len() > READINGS {
            self.waiting.pop_front();
        }
        for window in &status.windows {
            self.windows.insert(window.number, *window);
        }
        while self.windows.len() > WINDOWS {
            self.windows.pop_first();
        }
        self.latest = status;
    }
}

#[cfg(test)]
mod tests {
    use anyhow::anyhow;

    use super::*;
    use crate::fixture::suffering;

    #[test]
    fn windows_are_collected_and_a_failed_reading_keeps_the_last_picture() {
        let first = suffering();
        let mut course = Course::new("spring-sale".parse().unwrap(), first.clone());
        let mut later = first;
        later.windows = vec![
            WindowCount { number: 16, released: 4, planned: 300 },
            WindowCount { number: 15, released: 300, planned: 300 },
        ];
        course.see(Ok(later.clone()));
        let released: Vec<_> = course.windows.values().map(|window| window.released).collect();
        assert_eq!(released, [298, 300, 4]);
        course.see(Err(anyhow!("no route").context("could not reach the room")));
        assert_eq!(course.problem.as_deref(), Some("could not reach the room: no route"));
        assert_eq!((course.latest.clone(), course.waiting.len()), (later.clone(), 2));
        course.see(Ok(later));
        assert_eq!(course.problem, None);
    }

    #[test]
    fn the_history_is_bounded() {
        let mut course = Course::new("spring-sale".parse().unwrap(), suffering());
        for number in 0..3000 {
            let mut status = suffering();
            status.windows[0].number = number;
            course.note(status, 1.0);
        }
        assert_eq!((course.waiting.len(), course.windows.len()), (READINGS, WINDOWS));
    }
}
