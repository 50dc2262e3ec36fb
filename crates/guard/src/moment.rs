use std::time::{Duration, SystemTime, UNIX_EPOCH};

use rand::TryRng;
use rand::rngs::SysRng;

/// What a decision needs of the world besides the request: the time, and a random number that nobody can guess.
#[derive(Clone, Copy)]
pub struct Moment {
    /// Seconds since 1970.
    pub now: u64,
    /// Becomes the id of a session, or a nonce. A decision uses it at most once.
    pub random: [u8; 16],
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the operating system gave no random numbers")]
pub struct NoRandomness;

impl Moment {
    /// The time of the system's clock, and a number of the operating system's generator.
    pub fn now() -> Result<Self, NoRandomness> {
        let mut random = [0; 16];
        SysRng.try_fill_bytes(&mut random).map_err(|_| NoRandomness)?;
        Ok(Self { now: clock().as_secs(), random })
    }
}

/// The time since 1970 by the system's clock. One before 1970 is as wrong as 1970: no pass is valid then.
pub(crate) fn clock() -> Duration {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default()
}

/// Without the random number: it is a secret.
impl std::fmt::Debug for Moment {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Moment").field("now", &self.now).finish_non_exhaustive()
    }
}
