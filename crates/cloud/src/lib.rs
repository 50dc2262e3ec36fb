//! A room's stack in an AWS account: made, changed, watched, removed.
//!
//! | | |
//! | --- | --- |
//! | [`Access`], [`Account`] | who and where |
//! | [`Wanted`], [`Bundle`] | the room that is wanted, and what it is made from |
//! | [`Account::plan`] | what to know before: limits, the shop, what it costs |
//! | [`Account::deploy`], [`Account::changes`] | made or changed; what would be |
//! | [`Account::destroy`] | removed, with proof |
//! | [`Account::room`] | [`Deployed`]: the room as its operator meets it |
//! | [`Event`] | what is told meanwhile |
//! | [`Trouble`] | what went wrong, and what to do |
//!
//! Nothing is remembered on the machine that deploys. Each run looks how the stack stands and goes on from there, so it
//! does not matter where the one before it ended, or on whose machine.

mod access;
mod artefacts;
mod bundle;
mod cost;
mod deploy;
mod deployed;
mod event;
mod logs;
mod names;
mod outside;
mod page;
mod plan;
mod remove;
mod stack;
pub mod template;
mod trouble;
mod wanted;

pub use access::{Access, Account};
pub use bundle::{Bundle, Package};
pub use cost::{Costs, WAIT_MINUTES};
pub use deploy::Change;
pub use deployed::{Alarm, Deployed, Urls};
pub use event::{Event, Resource, Step, Tell};
pub use logs::{LogLine, LogQuery};
pub use outside::Found;
pub use plan::{Bears, Concern, Plan, Purpose, Quota, Shop};
pub use remove::Proof;
pub use trouble::{Kind, Trouble};
pub use wanted::{Architecture, Domain, Wanted};
