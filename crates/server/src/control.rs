//! The operator's hand on a room that runs: a socket in its data directory, one line of JSON each way.
//!
//! Only the user who runs the room can open it.

use std::io;
use std::path::{Path, PathBuf};

use embedded::EmbeddedStore;
use operator::{Order, Reply, execute};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{UnixListener, UnixStream};

/// The socket, removed when this is dropped.
#[derive(Debug)]
pub struct Control {
    listener: UnixListener,
    path: PathBuf,
}

pub fn socket(directory: &Path) -> PathBuf {
    directory.join("control.sock")
}

impl Control {
    /// Opens the socket in a directory whose store this process has open: nobody else can be using it.
    pub fn bind(directory: &Path) -> io::Result<Self> {
        use std::os::unix::fs::PermissionsExt;

        let path = socket(directory);
        // Left behind by a process that was killed.
        match std::fs::remove_file(&path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        let listener = UnixListener::bind(&path)?;
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600))?;
        Ok(Self { listener, path })
    }

    /// Serves one command a connection until dropped.
    pub async fn serve(&self, store: EmbeddedStore) {
        loop {
            match self.listener.accept().await {
                Ok((stream, _)) => {
                    let store = store.clone();
                    tokio::spawn(async move {
                        if let Err(error) = converse(stream, &store).await {
                            tracing::debug!(
                                error = &error as &dyn std::error::Error,
                                "an operator went away"
                            );
                        }
                    });
                }
                Err(error) => {
                    tracing::warn!(error = &error as &dyn std::error::Error, "could not hear the operator");
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
        Err(error) => Reply::Failed { error: format!("not a command: {error}") },
    };
    let mut line = serde_json::to_vec(&reply)?;
    line.push(b'\n');
    writing.write_all(&line).await
}

/// Sends a command to the room that runs on this directory.
pub async fn send(directory: &Path, command: &Order) -> io::Result<Reply> {
    let mut stream = UnixStream::connect(socket(directory)).await?;
    let mut line = serde_json::to_vec(command)?;
    line.push(b'\n');
    stream.write_all(&line).await?;
    let mut reply = Vec::new();
    stream.read_to_end(&mut reply).await?;
    Ok(serde_json::from_slice(&reply)?)
}
