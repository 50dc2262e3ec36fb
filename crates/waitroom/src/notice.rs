use serde::{Deserialize, Serialize};

use crate::{Message, WebUrl};

/// What the operator tells those who come too late: whom a closed room turns away, and everybody whom an ended one does not let
/// in. Whoever still waits for their turn does not see it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Notice {
    /// Empty: they read the room's message.
    #[serde(default)]
    pub text: Message,
    #[serde(default)]
    pub link: Option<WebUrl>,
}
