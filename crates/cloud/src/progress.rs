//! What is told while a room is deployed or destroyed.

use serde::Serialize;

/// One thing that happened. As JSON it is an object with `event`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "event", rename_all = "kebab-case")]
pub enum DeployEvent {
    /// What is done from now on.
    Step { step: DeployStep, text: String },
    /// A part of the stack.
    Resource(Resource),
    /// Something that need not keep the room from working, and that somebody should know.
    Warning { text: String, advice: Option<String> },
}

/// The steps in which a room comes and goes. Each can be the last one of a run, and is done again by the next.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum DeployStep {
    /// Somebody else's work on the stack is waited for.
    Attach,
    /// What an earlier run left behind is removed.
    Clear,
    /// The bucket for what the stack is made from.
    Bucket,
    /// Packages and template are sent there.
    Upload,
    /// CloudFormation works out what there is to do.
    Plan,
    /// CloudFormation does it.
    Stack,
    /// The operator's page is put where visitors find it.
    Page,
    /// The room is looked at from outside.
    Look,
    /// Its schedule is waited for.
    Schedule,
    /// What the stack was made from before is removed.
    Tidy,
    /// The stack goes.
    Remove,
    /// The bucket goes.
    RemoveBucket,
    /// Logs go that AWS made besides.
    RemoveLogs,
    /// Whether anything is left.
    Prove,
}

/// How a part of the stack stands.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Resource {
    /// As the template calls it; the stack itself by its own name.
    pub name: String,
    /// Like `AWS::SQS::Queue`.
    pub kind: String,
    /// In CloudFormation's words, like `CREATE_IN_PROGRESS`.
    pub status: String,
    pub reason: Option<String>,
}

impl Resource {
    pub fn is_under_way(&self) -> bool {
        self.status.ends_with("_IN_PROGRESS")
    }

    pub fn has_failed(&self) -> bool {
        self.status.ends_with("_FAILED")
    }

    pub fn is_stack(&self) -> bool {
        self.kind == "AWS::CloudFormation::Stack"
    }
}

/// Who is told. Cheap, and never waits.
pub type Tell<'a> = &'a (dyn Fn(DeployEvent) + Send + Sync);

pub(crate) fn step(tell: Tell<'_>, step: DeployStep, text: impl Into<String>) {
    tell(DeployEvent::Step { step, text: text.into() });
}
