//! Holds the connectors of docs/connectors to one file of test vectors.
//!
//! | | what it is |
//! | --- | --- |
//! | [`Vectors`] | passes, sessions and requests, each with what a shop has to do; made here, kept in `docs/connectors/vectors.json` |
//! | [`Shop`] | a shop in another language, with a connector in front of it |
//! | [`Answer`] | what a shop answers |
//!
//! The keys in `keys.json` are of no room. They are kept so that the vectors are the same every time they are made.

mod answer;
mod forge;
mod shop;
mod vectors;

pub use answer::Answer;
pub use forge::VectorKey;
pub use shop::{Shop, ShopsRoom};
pub use vectors::{Expected, PassVector, PassVerdict, RequestVector, SessionVector, Vectors, Visitor};
