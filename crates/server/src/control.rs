//! The operator's commands for a running room, over a socket in its data directory. The request and the
//! reply are one line of JSON each.
//!
//! Only the user who runs the room can open the socket.

use std::io;
use std::path::{Path, PathBuf};

use embedded::EmbeddedStore;
use operator::{Order, Reply, execute};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{UnixListener, UnixStream};

/// The socket. It is removed when this is dropped.
#[derive(Debug)]
pub struct Control {
    listener: UnixListener,
    path: PathBuf,
}

pub fn socket(directory: &Path) -> PathBuf {
    directory.join("control.sock")
}

impl Control {
    /// Opens the socket. This process must have the store in the directory open. Then no other process can be using
    /// the socket.
    pub fn bind(directory: &Path) -> io::Result<Self> {
        use std::os::unix::fs::PermissionsExt;

        let path = socket(directory);
        // A process that was killed leaves its socket behind.
        match std::fs::remove_file(&path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        let listener = UnixListener::bind(&path)?;
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600))?;
        Ok(Self { listener, path })
    }

    /// Executes one order for each connection, until dropped.
    pub async fn serve(&self, store: EmbeddedStore) {
        loop {
            match self.listener.accept().await {
                Ok((stream, _)) => {
                    let store = store.clone();
                    tokio::spawn(async move {
                        if let Err(error) = converse(stream, &store).await {
                            tracing::debug!(
                                error = &error as &dyn std::error::Error,
                                "the operator closed the connection early"
                            );
                        }
                    });
                }
                Err(error) => {
                    tracing::warn!(
                        error = &error as &dyn std::error::Error,
                        "could not accept a connection of the operator"
                    );
                    tokio::time::sleep(std::time::Duration::from_secs(1)).await;
                }
            }
        }
    }
}

impl Drop for Control {
    fn drop(&mut self) {
        drop(std::fs::remove_file(&self.path));
    }
}

async fn converse(stream: UnixStream, store: &EmbeddedStore) -> io::Result<()> {
    let (reading, mut writing) = stream.into_split();
    let mut line = String::new();
    BufReader::new(reading.take(1 << 16)).read_line(&mut line).await?;
    let reply = match serde_json::from_str(&line) {
        Ok(order) => execute(store, order).await.unwrap_or_else(Reply::from),
        Err(error) => Reply::Failed { error: format!("not an order: {error}") },
    };
    let mut line = serde_json::to_vec(&reply)?;
    line.push(b'\n');
    writing.write_all(&line).await
}

/// Whether a room runs in this directory.
pub fn is_open(directory: &Path) -> bool {
    std::os::unix::net::UnixStream::connect(socket(directory)).is_ok()
}

/// Sends an order to the room that runs in this directory.
pub async fn send(directory: &Path, order: &Order) -> io::Result<Reply> {
    let mut stream = UnixStream::connect(socket(directory)).await?;
    let mut line = serde_json::to_vec(order)?;
    line.push(b'\n');
    stream.write_all(&line).await?;
    let mut reply = Vec::new();
    stream.read_to_end(&mut reply).await?;
    Ok(serde_json::from_slice(&reply)?)
}
