use std::collections::HashMap;

use parking_lot::Mutex;
use pass::{Claims, PassError, Signer};

/// The passes that were signed in this second. An admission is good for any number of them, and a signature takes the processor as
/// long as ten polls or more: without this, one visitor could keep it busy.
#[derive(Debug, Default)]
pub(crate) struct RecentPasses(Mutex<PassesOfSecond>);

#[derive(Debug, Default)]
struct PassesOfSecond {
    second: u64,
    of_subject: HashMap<String, Vec<(Claims, String)>>,
}

impl RecentPasses {
    /// How many different ones a visitor gets in a second. A browser that opens its tabs again comes with a nonce for each.
    const OF_ONE_VISITOR: usize = 8;

    /// The pass that says this, signed once. `None` if its visitor has to wait for the next second.
    pub(crate) fn sign(&self, claims: Claims, signer: &Signer) -> Result<Option<String>, PassError> {
        {
            let mut recent = self.0.lock();
            let theirs = recent.like(&claims);
            if let Some((_, pass)) = theirs.iter().find(|(signed, _)| *signed == claims) {
                return Ok(Some(pass.clone()));
            }
            if theirs.len() >= Self::OF_ONE_VISITOR {
                return Ok(None);
            }
        }
        // Unlocked, so that others are signed meanwhile.
        let pass = signer.sign(&claims)?;
        self.0.lock().like(&claims).push((claims, pass.clone()));
        Ok(Some(pass))
    }
}

impl PassesOfSecond {
    /// Those of the same visitor and the same second.
    fn like(&mut self, claims: &Claims) -> &mut Vec<(Claims, String)> {
        if self.second != claims.iat {
            self.second = claims.iat;
            self.of_subject.clear();
        }
        self.of_subject.entry(claims.sub.clone()).or_default()
    }
}
