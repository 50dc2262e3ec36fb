//! Holds the connectors of docs/connectors to one file of test vectors.
//!
//! | | what it is |
//! | --- | --- |
//! | [`Vectors`] | passes, sessions, `Cookie` headers and requests, each with what a shop has to do; made here, kept in `docs/connectors/vectors.json` |
//! | [`GeneratedPass`] | passes that a room's key signed, with something changed in each |
//! | [`Shop`] | a shop in another language, with a connector in front of it |
//! | [`Answer`] | what a shop answers |
//!
//! The keys in `keys.json` are of no room. They are kept so that the vectors are the same every time they are made.

mod answer;
mod changes;
mod cookies;
mod forge;
mod generated;
mod passes;
mod pick;
mod requests;
mod shop;
mod spelling;
mod vector;
mod vectors;

pub use answer::Answer;
pub use forge::VectorKey;
pub use generated::GeneratedPass;
pub use shop::{Shop, ShopsRoom, node_copies, python};
pub use vector::{CookieVector, Expected, PassVector, PassVerdict, RequestVector, SessionVector, Visitor};
pub use vectors::Vectors;
