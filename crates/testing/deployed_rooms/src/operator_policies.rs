//! The policies that docs/operator-policy.md gives an operator.

use std::path::PathBuf;

use emulators::workspace;

/// The one that every room needs, and the one for a room's options.
pub(crate) fn operator_policies() -> [PathBuf; 2] {
    ["operator-policy", "operator-policy-optional"]
        .map(|name| workspace::root().join("docs").join(name).with_extension("json"))
}
