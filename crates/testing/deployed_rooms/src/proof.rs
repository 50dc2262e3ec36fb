//! `cargo xtask prove-aws`: a room in a real AWS account, from its deployment to its removal.
//!
//! Each step shows what no emulator can, or repeats on AWS what the tests show on one. A step that fails does not end the
//! proof: the room is removed in any case, and the transcript says what failed.

mod account;
mod options;
mod steps;
mod transcript;

use anyhow::{Result, bail};

use self::account::ProofAccount;
pub use self::options::ProofOptions;
use self::steps::Proof;
use self::transcript::Transcript;

/// Proves a room. `agrees` is asked before anything is created. An error if a step failed.
pub fn prove(options: &ProofOptions, agrees: impl FnOnce(&str) -> Result<bool>) -> Result<()> {
    let account = ProofAccount::new(options)?;
    if !agrees(&options.plan(&account.id, &account.caller))? {
        bail!("nothing was created");
    }
    let transcript = Transcript::create(options, &account)?;
    Proof::new(options, account, transcript)?.run()
}

/// Removes what a proof left that was killed.
pub fn remove(options: &ProofOptions) -> Result<()> {
    let account = ProofAccount::new(options)?;
    let transcript = Transcript::create(options, &account)?;
    Proof::new(options, account, transcript)?.remove()
}
