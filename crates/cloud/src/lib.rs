//! A room's stack in an AWS account: made, changed, watched, removed.
//!
//! | | |
//! | --- | --- |
//! | [`Access`], [`Account`] | who and where |
//! | [`RoomConfig`], [`Bundle`] | the room that is wanted, and what it is made from |
//! | [`Account::plan`] | what to know before: limits, the shop, what it costs |
//! | [`Account::deploy`], [`Account::changes`] | made or changed; what would be |
//! | [`Account::destroy`] | removed, with proof |
//! | [`Account::room`] | [`DeployedRoom`]: the room as its operator meets it |
//! | [`DeployEvent`] | what is told meanwhile |
//! | [`CloudError`] | what went wrong, and what to do |
//!
//! Nothing is remembered on the machine that deploys. Each run looks how the stack stands and goes on from there, so it
//! does not matter where the one before it ended, or on whose machine.

mod access;
mod artefacts;
mod bundle;
mod cost;
mod deploy;
mod deploy_plan;
mod deployed_room;
mod error;
mod logs;
mod names;
mod page;
mod progress;
mod remove;
mod room_config;
mod smoke_check;
mod stack;
pub mod template;

pub use access::{Access, Account};
pub use bundle::{Bundle, FunctionPackage};
pub use cost::{Costs, WAIT_MINUTES};
pub use deploy::ResourceChange;
pub use deploy_plan::{Capacity, Concern, DeployAction, DeployPlan, Quota, ShopCheck};
pub use deployed_room::{CloudAlarm, DeployedRoom, Urls};
pub use error::{CloudError, Kind};
pub use logs::{LogLine, LogQuery};
pub use progress::{DeployEvent, DeployStep, Resource, Tell};
pub use remove::RemovalProof;
pub use room_config::{Architecture, Domain, RoomConfig};
