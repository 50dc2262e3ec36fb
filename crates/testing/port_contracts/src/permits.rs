use std::time::Duration;

use futures_util::future;
use waitroom::ports::{Admissions, LineLength, PermitHolder, Permits, StatusBoard};
use waitroom::{Admission, AdmittedBy, DoorPermits, Mode, Room, Timestamp, fixture};

use crate::Fixture;
use crate::visitor::{admission, visitor};

const SECOND: Duration = Duration::from_secs(1);

/// The permits of a room in which newcomers have gone straight in for long: ten a second, or nine that were saved up.
fn ten_a_second(fixture: &impl Fixture) -> DoorPermits {
    let mut room = Room { quiet: true, ..fixture::room(600) };
    room.settings.mode = Mode::Overflow;
    DoorPermits::of(&room, fixture.now(), fixture::MINUTE).expect("the doors are open")
}

/// How many there can have been since then: nine that were saved up, and one for each tenth of a second.
fn most_since(begun: Timestamp, fixture: &impl Fixture) -> u128 {
    9 + fixture.now().since(begun).as_millis().div_ceil(100)
}

pub async fn permits_are_given_no_faster_than_the_rate<F: Fixture>() {
    let fixture = F::new().await;
    let of = ten_a_second(&fixture);
    // A store may begin with none.
    fixture.wait_until(fixture.now() + 2 * SECOND).await;
    for round in 0..2 {
        let begun = fixture.now();
        let mut taken = 0;
        while fixture.now() < begun + SECOND / 2 {
            let is_taken = fixture.ledger().take_permits(of, 1, PermitHolder::Door).await.expect("take");
            taken += u128::from(is_taken);
            if !is_taken {
                // However slow the store is, it refuses nobody before what was saved up is gone.
                assert!(taken >= 9, "refused after {taken} in round {round}");
                fixture.wait_until(fixture.now() + SECOND / 50).await;
            }
        }
        let most = most_since(begun, &fixture);
        assert!((1..=most).contains(&taken), "{taken} of at most {most} in round {round}");
        // A second's share is kept, and no more.
        fixture.wait_until(fixture.now() + 3 * SECOND).await;
    }
    let before = fixture.now();
    assert!(fixture.ledger().take_permits(of, 9, PermitHolder::Slice).await.expect("take"), "all at once");
    let again = fixture.ledger().take_permits(of, 9, PermitHolder::Door).await.expect("take");
    // Somewhat less than nine tenths of a second, because nine and a half may have been saved up.
    assert!(!again || fixture.now().since(before) >= SECOND * 4 / 5, "they share them");
}

pub async fn of_concurrent_doors_none_gets_more_than_there_is<F: Fixture>() {
    let fixture = F::new().await;
    let of = ten_a_second(&fixture);
    fixture.wait_until(fixture.now() + 2 * SECOND).await;
    let begun = fixture.now();
    let doors = (0..30).map(|_| fixture.ledger().take_permits(of, 1, PermitHolder::Door));
    let taken =
        future::join_all(doors).await.into_iter().filter(|taken| *taken.as_ref().expect("take")).count();
    let most = most_since(begun, &fixture);
    assert!((1..=most).contains(&(taken as u128)), "{taken} of at most {most}");
}

pub async fn who_goes_straight_in_counts_as_joined_and_released<F: Fixture>() {
    let fixture = F::new().await;
    let of = ten_a_second(&fixture);
    fixture.wait_until(fixture.now() + 2 * SECOND).await;
    for (number, by) in [(1, PermitHolder::Door), (2, PermitHolder::Slice)] {
        assert!(fixture.ledger().take_permits(of, 1, by).await.expect("take"));
        if by == PermitHolder::Door {
            let straight = Admission { by: AdmittedBy::Permit, ..admission(number, 1) };
            fixture.ledger().admit(visitor(number).token, straight).await.expect("admit");
            assert_eq!(
                fixture.ledger().admission(visitor(number).token).await.expect("look up"),
                Some(straight)
            );
        }
    }
    assert_eq!(fixture.ledger().progress().await.expect("progress").released, 1);
    let joined = fixture.line().joined().await.expect("joined");
    assert!(joined.is_none_or(|joined| joined == 1), "{joined:?}");
}
