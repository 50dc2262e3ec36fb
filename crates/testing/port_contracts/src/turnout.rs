//! Who comes of those whom slices have released.

use std::time::Duration;

use futures_util::future;
use waitroom::ports::{Admissions, ConsumerRun, Plans, RoomReader, Slices, TurnoutCount};
use waitroom::{Admission, AdmittedBy, Oversubscription, Plan, Rate, SliceId, Timestamp, Turnout, Window};

use crate::Fixture;
use crate::slices::{plan_from, progress};
use crate::visitor::{admission, visitor};

/// The windows of these minutes, each of which has released so many with one slice.
async fn released<F: Fixture>(fixture: &F, minutes: &[u32]) -> Vec<Plan> {
    let mut plans: Vec<Plan> = Vec::new();
    for released in minutes {
        let plan = plan_from(
            plans.last(),
            Timestamp::from_millis(1_700_000_000_000),
            Rate::new(300).expect("a rate"),
        );
        assert!(fixture.ledger().write(plan).await.expect("write"));
        let slice = SliceId { plan: plan.number, index: 0 };
        fixture.ledger().take(slice, ConsumerRun(1)).await.expect("take");
        fixture.ledger().record(slice, progress(*released, 1)).await.expect("record");
        plans.push(plan);
    }
    plans
}

/// A visitor whom this plan has admitted.
async fn admit<F: Fixture>(fixture: &F, number: u64, plan: u64) -> SliceId {
    let slice = SliceId { plan, index: 0 };
    let admission = Admission { by: AdmittedBy::Slice(slice), ..admission(number, 1) };
    fixture.ledger().admit(visitor(number).token, admission).await.expect("admit");
    slice
}

async fn turnout<F: Fixture>(fixture: &F, start: Timestamp, end: Timestamp) -> (u64, u64) {
    let turnout = fixture.ledger().turnout(Window { start, end }).await.expect("count");
    (turnout.came, turnout.released)
}

pub async fn a_visitor_comes_once_and_counts_for_the_window_that_released_them<F: Fixture>() {
    let fixture = F::new().await;
    let plans = released(&fixture, &[3]).await;
    let whole = (plans[0].window.start, plans[0].window.end + Duration::from_secs(1));
    assert_eq!(turnout(&fixture, whole.0, whole.1).await, (0, 3));
    for number in [1, 2] {
        let slice = admit(&fixture, number, 1).await;
        let token = visitor(number).token;
        let at_once = (0..4).map(|_| fixture.ledger().note_came(token, slice));
        let noted = future::join_all(at_once).await;
        let first = noted.into_iter().filter(|is_first| *is_first.as_ref().expect("note")).count();
        assert_eq!(first, 1, "the first time is one of them");
        assert!(!fixture.ledger().note_came(token, slice).await.expect("note"));
        assert_eq!(turnout(&fixture, whole.0, whole.1).await, (number, 3));
    }
}

pub async fn a_turnout_is_of_the_windows_that_ended_then<F: Fixture>() {
    let fixture = F::new().await;
    let plans = released(&fixture, &[1, 10, 100]).await;
    for plan in 1..=3 {
        let slice = admit(&fixture, plan, plan).await;
        assert!(fixture.ledger().note_came(visitor(plan).token, slice).await.expect("note"));
    }
    let end = |index: usize| plans[index].window.end;
    assert_eq!(turnout(&fixture, end(0), end(2)).await, (2, 11), "from one end, and before the other");
    let later = end(2) + Duration::from_millis(1);
    assert_eq!(turnout(&fixture, end(1), later).await, (2, 110));
    assert_eq!(turnout(&fixture, later, later + Duration::from_mins(9)).await, (0, 0));
    assert_eq!(turnout(&fixture, plans[0].window.start, later).await, (3, 111));
}

pub async fn a_turnout_that_makes_a_difference_changes_the_rate_in_force<F: Fixture>() {
    let fixture = F::new().await;
    fixture.change_room(|room| room.settings.oversubscribe = Some(Oversubscription::MAX)).await;
    let usual = fixture.ledger().room_now().await.expect("room").settings.rate;
    for (turnout, percent) in [
        (Some(Turnout { came: 800, released: 1000 }), 25),
        (Some(Turnout { came: 795, released: 1000 }), 25),
        (Some(Turnout { came: 500, released: 1000 }), 100),
        (None, 0),
    ] {
        let rate = usual.increased_by(percent);
        fixture.ledger().keep_turnout(turnout).await.expect("keep");
        let room = fixture.ledger().room_now().await.expect("room");
        assert_eq!(room.rate(), rate, "{turnout:?}");
        let valve = room.valves.last().expect("the change is scheduled").valve;
        assert_eq!(valve.rate(), Some(rate));
    }
}
