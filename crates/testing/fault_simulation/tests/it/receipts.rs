//! A line that puts everybody behind all others whom it has delivered three times in vain, as SQS does.

use std::time::Duration;

use fault_simulation::{InjectedFault, PortCall, World};
use memory::LineBehaviour;
use waitroom::RoomState;
use waitroom::ports::Fault;

const MINUTE: Duration = Duration::from_mins(1);
const SECOND: Duration = Duration::from_secs(1);
const TAKES: Duration = Duration::from_millis(4);

/// A line in order in which everybody waits for up to five minutes more, as the third window begins.
fn crowded(rate: u32) -> World {
    crowded_over(LineBehaviour::default(), rate)
}

fn crowded_over(line: LineBehaviour, rate: u32) -> World {
    let mut world = World::new(11, rate).with_line(line);
    world.clear_faults();
    world.join(rate as usize * 5);
    world.run(2 * MINUTE + Duration::from_millis(20));
    world
}

/// Empties the line. Nobody is lost, nobody goes to the back, and nobody enters more than this many places after their turn.
fn assert_all_enter_at_their_turn(world: &mut World, places: usize, what: &str) {
    world.clear_faults();
    world.drain(30);
    let outcome = world.outcome();
    assert_eq!((outcome.lost.len(), outcome.twice.len()), (0, 0), "lost, twice: {what}");
    assert_eq!((outcome.above_quota(), outcome.above_rate()), (vec![], None), "{what}");
    assert_eq!(world.moved_back(), [], "{what}");
    let late = latest(&outcome.order);
    assert!(late <= places, "somebody entered {late} places after their turn: {what}");
}

/// How many places after their turn somebody entered at most.
fn latest(order: &[u64]) -> usize {
    let mut turns = order.to_vec();
    turns.sort_unstable();
    let late = |(entered, ticket): (usize, &u64)| {
        entered.saturating_sub(turns.partition_point(|turn| turn < ticket))
    };
    order.iter().enumerate().map(late).max().unwrap_or(0)
}

fn assert_nobody_enters_last(rate: u32, fault: Fault, minutes: u32, refused: fn(PortCall) -> bool) {
    let mut world = crowded(rate);
    world.inject(InjectedFault::Refused(fault), refused);
    world.run(minutes * MINUTE);
    // A batch of each slice.
    let places = 10 * rate.div_ceil(1000) as usize;
    let what = format!("{fault:?} for {minutes} min at {rate} a minute");
    assert_all_enter_at_their_turn(&mut world, places, &what);
}

#[test]
fn nobody_enters_last_because_the_ledger_refuses_writes() {
    for fault in [Fault::Busy, Fault::Broken, Fault::Unsure] {
        assert_nobody_enters_last(600, fault, 1, PortCall::writes);
    }
    assert_nobody_enters_last(3000, Fault::Busy, 3, PortCall::writes);
}

/// Who takes them, and their records, are written, so consumers work on every slice.
#[test]
fn nobody_enters_last_because_the_ledger_refuses_admissions_alone() {
    for fault in [Fault::Busy, Fault::Unsure] {
        assert_nobody_enters_last(600, fault, 5, |call| call == PortCall::Admit);
    }
    assert_nobody_enters_last(3000, Fault::Broken, 3, |call| call == PortCall::Admit);
}

#[test]
fn nobody_enters_last_because_the_ledger_refuses_some_admissions() {
    let mut world = crowded(600);
    let mut calls = 0;
    world.inject(InjectedFault::Refused(Fault::Busy), move |call| {
        calls += u32::from(call == PortCall::Admit);
        call == PortCall::Admit && calls % 3 > 0
    });
    let released = world.outcome().released();
    world.run(3 * MINUTE);
    let released = world.outcome().released() - released;
    assert!(released > 1500, "the room goes on: {released} of 1800");
    assert_all_enter_at_their_turn(&mut world, 100, "two of three calls are refused");
}

#[test]
fn nobody_enters_last_in_a_line_that_is_out_of_order_anyway() {
    let disorder = 300;
    let mut world = crowded_over(LineBehaviour { disorder, ..Default::default() }, 600);
    world.inject(InjectedFault::Refused(Fault::Busy), |call| call == PortCall::Admit);
    world.run(3 * MINUTE);
    assert_all_enter_at_their_turn(&mut world, 330, "300 places out of order");
}

#[test]
fn whom_a_consumer_keeps_is_not_released_in_a_pause() {
    let mut world = crowded(600);
    world.inject(InjectedFault::Refused(Fault::Busy), PortCall::writes);
    world.run(20 * SECOND);
    world.change_room(|room| room.state = RoomState::Paused);
    world.run(3 * SECOND);
    world.clear_faults();
    let released = world.outcome().released();
    world.run(3 * MINUTE);
    assert_eq!(world.outcome().released(), released, "while the room is paused");
    world.change_room(|room| room.state = RoomState::On);
    assert_all_enter_at_their_turn(&mut world, 10, "after the pause");
}

#[test]
fn whom_a_consumer_keeps_is_not_released_after_a_reset() {
    let mut world = crowded(600);
    world.inject(InjectedFault::Refused(Fault::Busy), |call| call == PortCall::Admit);
    world.run(20 * SECOND);
    let released = world.outcome().released();
    world.reset("cd34");
    world.run(3 * SECOND);
    world.clear_faults();
    world.join(100);
    world.drain(20);
    let outcome = world.outcome();
    assert_eq!((outcome.released() - released, world.waiting()), (100, 0), "only those of the new epoch");
    assert_eq!((outcome.above_quota(), outcome.twice), (vec![], vec![]));
}

/// What a room does not promise: SQS counts receipts, and a dead consumer's count too.
#[test]
fn whom_three_consumers_took_to_their_death_enters_late_and_is_not_lost() {
    let mut world = crowded(600);
    for _ in 0..3 {
        // Half of the time the line takes to hear of it, and the other half the answer is on its way.
        world.set_faults(|call| {
            (InjectedFault::None, if call == PortCall::Receive { 8 * SECOND } else { TAKES })
        });
        world.run(6 * SECOND);
        assert!(world.kill_one_consumer(), "no consumer was running");
        world.run(54 * SECOND);
    }
    world.clear_faults();
    world.drain(30);
    let outcome = world.outcome();
    assert_eq!((outcome.lost.len(), outcome.twice.len(), outcome.above_quota()), (0, 0, vec![]));
    assert_eq!(world.moved_back().len(), 10, "the ten whom each of them had received, and nobody else");
}
