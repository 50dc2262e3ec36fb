//! A room's stack in an AWS account: creating, updating, watching and removing it.
//!
//! | | |
//! | --- | --- |
//! | [`Access`], [`Account`] | an AWS account and its region |
//! | [`RoomConfig`](config::RoomConfig), [`Bundle`] | the configuration of the room, and the function packages |
//! | [`Account::plan`] | what to know before: account limits, the shop, the costs |
//! | [`Account::deploy`], [`Account::changes`] | create or update the room; a dry run of an update |
//! | [`Bundle::pipeline_files`] | the same for a pipeline of the operator's own |
//! | [`Account::destroy`] | remove the room, and prove that nothing is left |
//! | [`Account::room`] | a [`DeployedRoom`]: its store, alarms, logs and smoke check |
//! | [`SessionTable`] | where the guards of a shop share their sessions |
//! | [`DeployEvent`] | what is reported meanwhile |
//! | [`CloudError`] | what failed, and what to do |
//!
//! Nothing is stored on the machine that deploys. Each run reads the state of the stack and continues from there, so an
//! interrupted run can be repeated on any machine.

mod access;
mod alarm_mail;
mod alarms;
mod artefacts;
mod aws_errors;
mod bundle;
mod change_set;
mod control;
mod deploy;
mod deploy_plan;
mod deployed_room;
mod edge_stack;
mod entered;
mod error;
mod examine;
#[cfg(test)]
mod fixture;
mod forecast;
mod kept_refusals;
mod limits;
mod logs;
mod names;
mod page;
mod pipeline;
mod plan_document;
mod prepare;
mod progress;
mod refusals;
mod remove;
mod remove_stack;
mod reservation;
mod session_table;
mod setting_change;
mod shop_check;
mod smoke_check;
mod smoke_client;
mod soon;
mod stack;
mod stack_check;
#[cfg(test)]
mod stub_aws;
pub mod template;
mod url_change;
mod warm_capacity;
mod warnings;

pub use self::page::check_page;
pub use access::{Access, Account};
pub use aws::SharedSessions;
pub use aws_model::{
    AccountLimit, Bound, Capacity, CostLine, Limit, Outlook, Reservation, ReservationTooLarge,
};
pub use bundle::{Bundle, FunctionPackage};
pub use change_set::ResourceChange;
pub use deploy_plan::{Costs, DeployAction, DeployPlan};
pub use deployed_room::{DeployedRoom, Urls};
pub use error::{CloudError, CloudErrorKind};
pub use examine::{ExaminedStack, no_credentials, no_functions};
pub use forecast::Forecast;
pub use limits::LimitReading;
pub use logs::{LogLine, LogQuery};
pub use pipeline::PipelineFile;
pub use progress::{DeployEvent, DeployStep, OnEvent, Resource};
pub use refusals::RefusalSource;
pub use remove::Removal;
pub use reservation::ReservationPlan;
pub use session_table::{SessionTable, SessionTableError};
pub use setting_change::SettingChange;
pub use shop_check::ShopCheck;
pub use smoke_check::JOIN_COOKIES;
pub use stack_check::{DeployedBy, StackCheck, StackProgress};
pub use warnings::PlanWarning;
