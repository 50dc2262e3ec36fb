//! `cargo xtask try-aws`: a room in a real AWS account, from its deployment to its removal.
//!
//! Each step shows what no emulator can, or repeats on AWS what the tests show on one. A step that fails does not end the
//! trial: the room is removed in any case, and the transcript says what failed.

mod account;
mod options;
mod steps;
mod transcript;

use anyhow::{Result, bail};

use self::account::TrialAccount;
pub use self::options::TrialOptions;
use self::steps::Trial;
use self::transcript::Transcript;

/// Tries a room. `agrees` is asked before anything is created. An error if a step failed.
pub fn try_room(options: &TrialOptions, agrees: impl FnOnce(&str) -> Result<bool>) -> Result<()> {
    let account = TrialAccount::new(options)?;
    if !agrees(&options.plan(&account.id, &account.caller))? {
        bail!("nothing was created");
    }
    let transcript = Transcript::create(options, &account)?;
    Trial::new(options, account, transcript)?.run()
}

/// Removes what a trial left that was killed.
pub fn remove(options: &TrialOptions) -> Result<()> {
    let account = TrialAccount::new(options)?;
    let transcript = Transcript::create(options, &account)?;
    Trial::new(options, account, transcript)?.remove()
}
