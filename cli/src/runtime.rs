use std::future::Future;

use anyhow::Result;

/// Runs a command that waits for a room or for AWS.
pub(crate) fn block_on<T>(command: impl Future<Output = Result<T>>) -> Result<T> {
    tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(command)
}
