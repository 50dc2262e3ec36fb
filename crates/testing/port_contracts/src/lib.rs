//! One test suite per port, which every adapter must pass.
//!
//! An adapter implements [`Fixture`] in its tests and calls [`port_contracts!`]. Each clause of the contract is then a
//! test of that adapter. The clauses test what [`waitroom::ports`] documents and nothing more. What only one store
//! guarantees is tested in that store's crate.

#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::missing_panics_doc,
    reason = "a clause fails its test by panicking"
)]

pub mod active;
pub mod admissions;
pub mod audit;
mod fixture;
pub mod help;
pub mod history;
pub mod keys;
pub mod line;
pub mod newcomers;
pub mod permits;
pub mod room;
pub mod slices;
pub mod stock;
pub mod turnout;
pub mod visitor;

pub use fixture::{Fixture, LedgerPorts, LinePorts};

/// Creates a test for every clause, with the attributes given. `$run` runs a future to its end.
///
/// With `@few_writes` only those that a store passes which takes too few writes in one transaction for an order or a large stock.
#[macro_export]
macro_rules! port_contracts {
    ($(#[$attribute:meta])* $fixture:ty, $run:path) => {
        $crate::port_contracts! { @few_writes $(#[$attribute])* $fixture, $run }
        $crate::port_contracts! { @clauses { $(#[$attribute])* } $fixture, $run,
            stock::whole_batches_are_taken_from_a_large_stock,
            stock::a_room_ends_when_its_stock_is_sold_and_not_before,
            history::what_a_room_counts_apart_has_a_closing_record_before_it,
        }
    };
    (@few_writes $(#[$attribute:meta])* $fixture:ty, $run:path) => {
        $crate::port_contracts! { @clauses { $(#[$attribute])* } $fixture, $run,
            line::a_visitor_who_joins_is_delivered,
            line::receive_returns_at_most_what_was_asked_for_and_at_most_ten,
            line::a_received_visitor_is_hidden_and_then_delivered_again,
            line::a_visitor_who_is_kept_is_hidden_for_longer,
            line::a_visitor_who_is_handed_back_is_delivered_at_once,
            line::a_removed_visitor_can_be_neither_kept_nor_handed_back,
            line::a_removed_visitor_is_never_delivered_again,
            line::a_visitor_who_joins_twice_is_delivered_twice,
            line::concurrent_receivers_get_different_visitors,
            line::a_message_that_is_not_a_visitor_is_delivered_and_can_be_buried,
            line::a_delivery_says_when_the_visitor_joined,
            line::waiting_counts_the_visitors_in_line,
            line::every_ticket_is_leased_once,
            line::the_last_leased_ticket_is_known,
            admissions::nobody_is_admitted_at_first,
            admissions::the_first_admission_wins,
            admissions::of_concurrent_admissions_one_wins,
            admissions::asking_whether_the_ledger_takes_admissions_changes_nothing,
            admissions::entries_are_counted_each_or_not_at_all,
            permits::permits_are_given_no_faster_than_the_rate,
            permits::of_concurrent_doors_none_gets_more_than_there_is,
            permits::who_goes_straight_in_counts_as_joined_and_released,
            newcomers::newcomers_are_counted_by_slot_until_they_are_forgotten,
            newcomers::of_concurrent_doors_every_newcomer_is_counted_once,
            newcomers::who_passes_counts_as_joined_and_released,
            newcomers::a_record_keeps_what_the_line_would_have_been,
            stock::a_stock_admits_as_many_as_it_has_and_the_first_come_first,
            stock::whoever_is_admitted_already_takes_nothing,
            stock::of_concurrent_batches_exactly_as_many_are_admitted,
            stock::each_order_counts_for_itself,
            help::a_code_is_one_visitors_for_an_hour,
            help::who_is_let_in_by_hand_is_admitted_once_with_an_entry,
            help::who_is_let_in_by_hand_takes_of_the_stock,
            help::of_concurrent_hands_one_lets_a_visitor_in,
            turnout::a_visitor_comes_once_and_counts_for_the_window_that_released_them,
            turnout::a_turnout_is_of_the_windows_that_ended_then,
            turnout::a_turnout_that_makes_a_difference_changes_the_rate_in_force,
            active::the_latest_report_of_each_guard_is_kept,
            active::of_concurrent_guards_every_report_is_kept,
            active::too_many_guards_push_out_the_oldest,
            active::a_window_counts_with_its_quota_until_its_consumers_have_said_what_it_let_in,
            active::windows_that_ended_before_then_are_not_counted,
            active::a_difference_that_pages_should_show_is_kept_with_the_room,
            slices::a_plan_is_written_once,
            slices::recent_returns_the_two_latest_plans_newest_first,
            slices::a_slice_is_taken_once,
            slices::of_concurrent_consumers_one_takes_a_slice,
            slices::a_repeated_record_counts_once,
            slices::progress_never_decreases,
            slices::records_of_a_slice_that_nobody_took_are_ignored,
            slices::totals_add_up_over_many_plans,
            slices::the_lowest_ticket_of_a_plan_is_kept,
            slices::the_latest_disorder_is_kept,
            slices::who_was_overtaken_never_decreases,
            room::a_change_is_seen_within_two_seconds,
            room::a_change_of_the_valve_is_scheduled,
            room::a_paused_room_opens_by_itself,
            room::a_room_closes_and_ends_by_itself,
            room::a_rehearsal_is_kept_until_it_is_removed,
            room::of_concurrent_changes_none_is_lost,
            room::a_quiet_room_is_woken_once,
            room::what_a_right_clock_has_written_is_not_rescheduled,
            room::the_throttle_can_hold_the_rate_down_and_end_that,
            room::of_two_concurrent_throttle_runs_one_is_remembered,
            audit::a_decision_of_the_throttle_is_an_entry,
            audit::the_latest_entries_are_read_oldest_first,
            history::a_minute_is_noted_and_read_after_the_one_before,
            history::a_record_replaces_the_one_of_the_same_minute,
            history::a_minute_keeps_its_longest_wait,
            history::a_wait_of_a_minute_without_a_record_is_in_the_next_record,
            keys::a_new_room_has_no_keys,
            keys::the_first_secret_key_wins,
            keys::of_concurrent_secret_keys_everybody_gets_the_same,
            keys::of_concurrent_records_one_is_published,
            keys::a_rotation_is_asked_for_once_and_noted,
            keys::a_dropped_key_is_unpublished_and_noted,
            room::a_status_can_be_published,
            room::a_status_is_read_with_what_is_left,
        }
    };
    (@clauses $attributes:tt $fixture:ty, $run:path, $($module:ident :: $clause:ident),* $(,)?) => {
        $( $crate::port_contracts! { @clause $attributes $fixture, $run, $module :: $clause } )*
    };
    (@clause { $(#[$attribute:meta])* } $fixture:ty, $run:path, $module:ident :: $clause:ident) => {
        #[test]
        $(#[$attribute])*
        fn $clause() {
            $run($crate::$module::$clause::<$fixture>());
        }
    };
}
