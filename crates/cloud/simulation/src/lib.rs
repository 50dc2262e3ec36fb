//! A room and its crowd on a virtual clock.
//!
//! | | |
//! | --- | --- |
//! | [`ArrivalShape`], [`Arrivals`] | when visitors come |

mod arrivals;
mod record;

pub use arrivals::{ArrivalShape, Arrivals, ArrivalsError};
pub use record::{CountedStretch, RecordError};
