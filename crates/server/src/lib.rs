//! A whole waiting room in one process.
//!
//! The same handlers that run as Lambda functions run here over the embedded store: [`App`] answers every
//! route, [`schedule`] fires once a minute, [`connections`] keeps slow and greedy clients from harming the
//! others, and [`control`] lets the operator act on the room from another terminal.

mod app;
pub mod connections;
pub mod control;
mod files;
mod preview;
pub mod schedule;
mod shop;

pub use app::App;
pub use preview::Preview;
pub use shop::DemoShop;

use std::future::Future;

use hyper::body::Incoming;
use hyper::{Request, Response};

/// A whole answer, ready to send.
pub type HttpResponse = Response<http_body_util::Full<hyper::body::Bytes>>;

/// Something that answers requests. Bodies are never read.
pub trait HttpService: Send + Sync + 'static {
    fn answer(&self, request: &Request<Incoming>) -> impl Future<Output = HttpResponse> + Send;
}
