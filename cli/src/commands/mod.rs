pub(crate) mod change;
pub(crate) mod completions;
pub(crate) mod config;
pub(crate) mod deploy;
pub(crate) mod destroy;
pub(crate) mod init;
pub(crate) mod local;
pub(crate) mod logs;
pub(crate) mod man;
pub(crate) mod off;
pub(crate) mod reset;
pub(crate) mod status;

use std::future::Future;

use anyhow::Result;

/// Lets a command wait for what is elsewhere.
pub(crate) fn block_on<T>(command: impl Future<Output = Result<T>>) -> Result<T> {
    tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(command)
}
