//! One test suite per port, which every adapter has to pass.
//!
//! An adapter implements [`Fixture`] in its tests and calls [`port_contracts!`]; each clause of the contract
//! is then a test of its own there. The clauses are the words of [`waitroom::ports`], and no more: what only
//! one store promises is tested beside that store.

#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::missing_panics_doc,
    reason = "a clause that does not hold fails the test that called it"
)]

pub mod admissions;
pub mod line;
pub mod room;
pub mod slices;
pub mod visitor;

use std::future::Future;

use waitroom::Room;
use waitroom::ports::{
    Admissions, Keys, LineBack, LineFront, LineLength, Plans, RoomReader, Slices, StatusBoard, ThrottleStore,
    TicketCounter,
};

/// Everything that a store is asked for.
pub trait Ports:
    RoomReader
    + TicketCounter
    + LineBack
    + LineFront
    + LineLength
    + Admissions
    + Plans
    + Slices
    + StatusBoard
    + Keys
    + ThrottleStore
{
}

impl<S> Ports for S where
    S: RoomReader
        + TicketCounter
        + LineBack
        + LineFront
        + LineLength
        + Admissions
        + Plans
        + Slices
        + StatusBoard
        + Keys
        + ThrottleStore
{
}

/// A room of its own for one clause, and what the ports do not let a test do.
pub trait Fixture: Sized {
    type Store: Ports;

    /// A new room with an empty line.
    fn new() -> impl Future<Output = Self>;

    /// The same, with something in its line that is not a visitor.
    fn with_stray_message(body: &str) -> impl Future<Output = Self>;

    fn store(&self) -> &Self::Store;

    /// Changes the room as the operator would.
    fn change_room(&self, change: impl FnOnce(&mut Room) + Send + 'static) -> impl Future<Output = ()>;

    /// Lets the time pass after which somebody who was received and not removed is received again.
    fn wait_for_redelivery(&self) -> impl Future<Output = ()>;
}

/// Makes a test of every clause. `$run` turns a future into its output.
#[macro_export]
macro_rules! port_contracts {
    ($fixture:ty, $run:path) => {
        $crate::port_contracts! { @clauses $fixture, $run,
            line::whoever_joins_is_delivered,
            line::a_receiver_gets_no_more_than_asked_for_and_ten_at_most,
            line::who_was_received_is_out_of_sight_and_comes_back,
            line::who_was_removed_never_comes_back,
            line::joining_twice_is_delivered_twice,
            line::receivers_at_once_get_different_people,
            line::a_stray_message_is_delivered_as_such_and_can_be_buried,
            line::the_length_counts_who_waits,
            line::tickets_are_leased_once,
            admissions::nobody_is_admitted_before_they_are,
            admissions::the_first_admission_holds,
            admissions::of_many_at_once_one_admits,
            slices::a_plan_is_written_once,
            slices::the_two_latest_plans_are_recalled_newest_first,
            slices::a_slice_is_claimed_once,
            slices::of_many_claimants_one_gets_the_slice,
            slices::what_is_recorded_twice_counts_once,
            slices::progress_never_goes_back,
            slices::a_slice_that_nobody_claimed_counts_nobody,
            slices::totals_go_on_over_many_plans,
            room::a_change_is_seen_within_two_seconds,
            room::the_throttle_holds_the_rate_and_lets_go,
            room::of_two_throttles_one_is_remembered,
            room::the_first_keys_hold,
            room::a_status_can_be_published,
        }
    };
    (@clauses $fixture:ty, $run:path, $($module:ident :: $clause:ident),* $(,)?) => {
        $(
            #[test]
            fn $clause() {
                $run($crate::$module::$clause::<$fixture>());
            }
        )*
    };
}
