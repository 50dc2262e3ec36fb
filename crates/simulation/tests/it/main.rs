//! What the room promises, on simulated time.

mod door;
mod faults;
mod killed;
mod release;
mod schedules;
mod storage;
mod throttling;
