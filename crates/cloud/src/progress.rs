//! What is reported while a room is deployed or destroyed.

use serde::Serialize;

/// One thing that happened. In JSON it is an object with `event`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "event", rename_all = "kebab-case")]
pub enum DeployEvent {
    /// The next step begins.
    Step { step: DeployStep, text: String },
    /// The status of a resource changed.
    Resource(Resource),
    /// A problem that need not keep the room from working.
    Warning { text: String, advice: Option<String> },
}

/// The steps of deploying and destroying a room. A run may stop after any of them; the next run repeats what is needed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum DeployStep {
    /// Wait for an operation on the stack that is already running.
    Attach,
    /// Clean up after an earlier run.
    Clear,
    /// Create the bucket for packages and template.
    Bucket,
    /// Upload package and template to it.
    Upload,
    /// CloudFormation computes the changes.
    Plan,
    /// CloudFormation executes them.
    Stack,
    /// Upload the custom page.
    Page,
    /// Request the room's URLs.
    SmokeCheck,
    /// Wait until the schedule runs.
    Schedule,
    /// Delete packages and templates of earlier deployments.
    Tidy,
    /// Delete the stack.
    Remove,
    /// Delete the bucket.
    RemoveBucket,
    /// Delete log groups that do not belong to the stack.
    RemoveLogs,
    /// Check that nothing is left.
    Verify,
}

/// The status of a resource, or of the stack itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Resource {
    /// The logical ID in the template; for the stack its name.
    pub name: String,
    /// Like `AWS::SQS::Queue`.
    pub kind: String,
    /// CloudFormation's status, like `CREATE_IN_PROGRESS`.
    pub status: String,
    pub reason: Option<String>,
}

impl Resource {
    pub fn is_under_way(&self) -> bool {
        self.status.ends_with("_IN_PROGRESS")
    }

    pub(crate) fn has_failed(&self) -> bool {
        self.status.ends_with("_FAILED")
    }

    pub fn is_stack(&self) -> bool {
        self.kind == "AWS::CloudFormation::Stack"
    }
}

/// Called with each event. It has to return at once.
pub type OnEvent<'a> = &'a (dyn Fn(DeployEvent) + Send + Sync);

pub(crate) fn report_step(on_event: OnEvent<'_>, step: DeployStep, text: impl Into<String>) {
    on_event(DeployEvent::Step { step, text: text.into() });
}
