//! The room's state, the throttle's memory and the status.

use std::time::Duration;

use futures_util::future;
use waitroom::ports::{
    LineStatusReader, QuietSwitch, Rescheduling, RoomReader, StatusBoard, ThrottleMemory, ThrottleStore,
};
use waitroom::{LineReach, LineStatus, Notice, Rate, RoomState, Valve};

use crate::Fixture;

pub async fn a_change_is_seen_within_two_seconds<F: Fixture>() {
    let fixture = F::new().await;
    let before = fixture.ledger().room().await.expect("room");
    fixture.change_room(|room| room.state = RoomState::Paused).await;
    // A store may cache the room for a second.
    for _ in 0..200 {
        let room = fixture.ledger().room().await.expect("room");
        if room.state == RoomState::Paused {
            assert!(room.version > before.version);
            return;
        }
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    panic!("the change was not seen");
}

pub async fn a_change_of_the_valve_is_scheduled<F: Fixture>() {
    let fixture = F::new().await;
    let store = fixture.ledger();
    store.set_quiet(true).await.expect("quiet");
    let room = store.room_now().await.expect("room");
    let mut last = room.valves.last();
    assert_eq!(last.map(|change| change.valve), Some(Valve::Closed));
    store.set_quiet(false).await.expect("awake");
    for held in [Some(Rate::MIN), None] {
        store.hold(held).await.expect("hold");
        let scheduled = store.room_now().await.expect("room").valves.last().expect("a change");
        assert_eq!(scheduled.valve, Valve::Open(held.unwrap_or(room.settings.rate)));
        assert!(last.is_none_or(|last| last.from < scheduled.from), "each change has its own instant");
        last = Some(scheduled);
    }
}

pub async fn a_paused_room_opens_by_itself<F: Fixture>() {
    let fixture = F::new().await;
    let store = fixture.ledger();
    // Time enough for a busy emulator to write and read the room before that.
    let opens = fixture.now() + Duration::from_secs(10);
    fixture.change_room(move |room| room.open_at(opens)).await;
    let paused = store.room_now().await.expect("room");
    assert_eq!((paused.state, paused.opens), (RoomState::Paused, Some(opens)));
    fixture.wait_until(opens).await;
    // Nobody has written anything.
    for room in [store.room().await, store.room_now().await] {
        let room = room.expect("room");
        assert_eq!((room.state, room.opens, room.version), (RoomState::On, None, paused.version));
    }
    // The next write keeps it.
    store.hold(Some(Rate::MIN)).await.expect("hold");
    let room = store.room_now().await.expect("room");
    assert_eq!((room.state, room.opens, room.version), (RoomState::On, None, paused.version + 1));
}

pub async fn a_room_closes_and_ends_by_itself<F: Fixture>() {
    let fixture = F::new().await;
    let store = fixture.ledger();
    let closes = fixture.now() + Duration::from_secs(10);
    let ends = closes + Duration::from_secs(2);
    let link = Some("https://shop.example/next".parse().expect("a URL"));
    let notice = Notice { text: "Sold out".parse().expect("a text"), link };
    let told = notice.clone();
    fixture
        .change_room(move |room| {
            (room.closes, room.ends, room.then_off) = (Some(closes), Some(ends), true);
            room.notice = told.clone();
        })
        .await;
    let on = store.room_now().await.expect("room");
    assert_eq!((on.state, on.closes, on.ends, on.then_off), (RoomState::On, Some(closes), Some(ends), true));
    assert_eq!(on.notice, notice);
    for (at, state, then_off) in [(closes, RoomState::Closed, true), (ends, RoomState::Ended, false)] {
        fixture.wait_until(at).await;
        // Nobody has written anything.
        let rooms = [store.room().await, store.room_now().await];
        // A busy emulator may take until the end to say that the room is closed.
        if at == closes && fixture.now() >= ends {
            continue;
        }
        for room in rooms {
            let room = room.expect("room");
            assert_eq!((room.state, room.then_off, room.version), (state, then_off, on.version));
            assert_eq!(room.notice, notice);
        }
    }
}

pub async fn a_rehearsal_is_kept_until_it_is_removed<F: Fixture>() {
    let fixture = F::new().await;
    let store = fixture.ledger();
    let mark = "abcdefghijkmnpqr".parse().expect("a mark");
    fixture.change_room(move |room| room.rehearsal = Some(mark)).await;
    store.hold(Some(Rate::MIN)).await.expect("hold");
    assert_eq!(store.room_now().await.expect("room").rehearsal, Some(mark));
    let epoch = "cd34".parse().expect("an epoch");
    let began = fixture.now();
    fixture.change_room(move |room| room.start_epoch(epoch, began)).await;
    let room = store.room_now().await.expect("room");
    assert_eq!((room.rehearsal, room.epoch, room.epoch_began), (None, epoch, Some(began)));
}

pub async fn of_concurrent_changes_none_is_lost<F: Fixture>() {
    let fixture = F::new().await;
    let store = fixture.ledger();
    let (held, marked) = future::join(store.hold(Some(Rate::MIN)), store.set_quiet(true)).await;
    held.and(marked).expect("both changes");
    let room = store.room_now().await.expect("room");
    assert_eq!((room.throttled, room.quiet), (Some(Rate::MIN), true));
}

pub async fn a_quiet_room_is_woken_once<F: Fixture>() {
    let fixture = F::new().await;
    let store = fixture.ledger();
    store.set_quiet(true).await.expect("quiet");
    let quiet = store.room_now().await.expect("room");
    for woken in future::join_all((0..4).map(|_| store.set_quiet(false))).await {
        woken.expect("awake");
    }
    let room = store.room_now().await.expect("room");
    assert!(quiet.quiet && !room.quiet);
    assert_eq!(room.version, quiet.version + 1, "in one write");
}

pub async fn what_a_right_clock_has_written_is_not_rescheduled<F: Fixture>() {
    let fixture = F::new().await;
    let store = fixture.ledger();
    let ends = fixture.now() + Duration::from_hours(72);
    fixture.change_room(move |room| room.ends = Some(ends)).await;
    let before = store.room_now().await.expect("room");
    store.reschedule().await.expect("reschedule");
    assert_eq!(store.room_now().await.expect("room"), before);
}

pub async fn the_throttle_can_hold_the_rate_down_and_end_that<F: Fixture>() {
    let fixture = F::new().await;
    let rate = Rate::new(5).expect("within bounds");
    for held in [Some(rate), None] {
        fixture.ledger().hold(held).await.expect("hold");
        for _ in 0..200 {
            if fixture.ledger().room().await.expect("room").throttled == held {
                break;
            }
            std::thread::sleep(std::time::Duration::from_millis(10));
        }
        assert_eq!(fixture.ledger().room().await.expect("room").throttled, held);
    }
}

pub async fn of_two_concurrent_throttle_runs_one_is_remembered<F: Fixture>() {
    let fixture = F::new().await;
    let mut memory = fixture.ledger().recall().await.expect("recall");
    memory.version += 1;
    // No two runs find the same.
    let both = ["https://shop.example/a", "https://shop.example/b"].map(|shop| {
        let measured = Some(shop.parse().expect("a URL"));
        ThrottleMemory { measured, ..memory.clone() }
    });
    let at_once = both.clone().map(|memory| fixture.ledger().remember(memory));
    let remembered: Vec<_> =
        future::join_all(at_once).await.into_iter().map(|answer| answer.expect("remember")).collect();
    assert_eq!(remembered.iter().filter(|&&remembered| remembered).count(), 1);
    let kept = fixture.ledger().recall().await.expect("recall");
    assert!(both.iter().zip(remembered).all(|(memory, is_kept)| is_kept == (*memory == kept)), "{kept:?}");
}

pub async fn a_status_can_be_published<F: Fixture>() {
    let fixture = F::new().await;
    let rate = Rate::new(300).expect("within bounds");
    let status = LineStatus {
        reached: 4100,
        overtaken: 1,
        disorder: 300,
        waiting: 9120,
        rate,
        slow: true,
        left: None,
    };
    fixture.ledger().publish(status).await.expect("publish");
}

pub async fn a_status_is_read_with_what_is_left<F: Fixture>() {
    let fixture = F::new().await;
    let room = fixture.ledger().room_now().await.expect("room");
    let new = LineStatus::of(&room, LineReach::default(), 0, None);
    assert_eq!(fixture.ledger().line_status(&room).await.expect("status"), new);
    fixture.change_room(|room| room.sell(7.try_into().expect("not 0"))).await;
    let room = fixture.ledger().room_now().await.expect("room");
    let selling = LineStatus { left: Some(7), ..new };
    fixture.ledger().publish(selling).await.expect("publish");
    // It may be a few seconds old.
    for _ in 0..200 {
        if fixture.ledger().line_status(&room).await.expect("status") == selling {
            return;
        }
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    panic!("the status does not say what is left");
}
