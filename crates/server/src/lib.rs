//! A whole waiting room in one process; and the guard of a shop in another.
//!
//! The same handlers that run as Lambda functions run here over the embedded store. The table of the crate `routes` lists what can
//! be requested, and [`App`] answers it. [`schedule`] runs the trigger and the consumers once a minute.
//! A [`HostedRoom`] runs all of it. [`connections`] limits slow and greedy clients. [`socket`] takes the operator's commands from another
//! terminal. [`Monitor`] answers the operator's monitoring.
//!
//! [`ForwardAuth`] answers a web server that asks the guard of a shop about each request.

mod app;
pub mod connections;
mod demo_door;
mod files;
mod forward_auth;
mod guard_metrics;
mod host;
mod join_limit;
mod metrics;
mod monitor;
mod preview;
mod proxies;
pub mod schedule;
mod shop;
mod slots;
pub mod socket;
mod start;

pub use app::{App, AppOptions};
pub use connections::HttpService;
pub use demo_door::{DemoDoor, url_at};
pub use forward_auth::ForwardAuth;
pub use guard_metrics::{GuardMetrics, GuardMonitor};
pub use host::HostedRoom;
pub use join_limit::{JoinLimit, PlacesPerMinute};
pub use metrics::AnswerMetrics;
pub use monitor::Monitor;
pub use preview::Preview;
pub use proxies::{TrustedProxies, TrustedProxy, TrustedProxyError};
pub use routes::HttpResponse;
pub use shop::DemoShop;
pub use start::{apply_settings, open_when_free};
