use std::process::Command;

use anyhow::Result;

use crate::localemu;

/// Whoever comes with it may do everything.
pub(crate) const ACCESS_KEY: &str = "test";

/// What makes an AWS client turn to this endpoint, as somebody who may do everything.
pub(crate) fn environment(endpoint: String) -> [(&'static str, String); 4] {
    [
        ("AWS_ENDPOINT_URL", endpoint),
        ("AWS_ACCESS_KEY_ID", ACCESS_KEY.to_owned()),
        ("AWS_SECRET_ACCESS_KEY", "test".to_owned()),
        ("AWS_DEFAULT_REGION", "us-east-1".to_owned()),
    ]
}

/// A Python that has boto3: LocalEmu's. Give it the environment of what it is to talk to.
pub fn boto3() -> Result<Command> {
    Ok(Command::new(localemu::installed()?.python()))
}
