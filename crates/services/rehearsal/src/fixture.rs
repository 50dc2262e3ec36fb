//! Visitors and a room of a rehearsal, for tests.

use std::time::Duration;

use control::example::suffering;
use control::{Status, WindowCount};
use waitroom::{Timestamp, Token};

use crate::notes::{NotedPlace, VisitNote};

pub(crate) const BEGAN: Timestamp = Timestamp::from_millis(1_800_000_000_000);

/// A visitor who joined when it began, was admitted so many milliseconds later, and entered.
pub(crate) fn visit(ticket: u8, admitted: u64) -> VisitNote {
    let place = NotedPlace { ticket: ticket.into(), token: Token::from_bytes([ticket; 16]), since: BEGAN };
    let admitted = Some(BEGAN + Duration::from_millis(admitted));
    VisitNote {
        has_come: true,
        place: Some(place),
        called: admitted,
        admitted,
        has_entered: true,
        ..VisitNote::default()
    }
}

/// A room with a window for each minute. Of each, how many it planned and released.
pub(crate) fn room_with_windows(windows: &[(u32, u64)]) -> Status {
    let window = |(number, &(planned, released)): (u64, &(u32, u64))| {
        let start = BEGAN + Duration::from_mins(number - 1);
        WindowCount { number, released, planned, start, end: start + Duration::from_mins(1) }
    };
    Status { windows: (1..).zip(windows).map(window).collect(), ..suffering() }
}
