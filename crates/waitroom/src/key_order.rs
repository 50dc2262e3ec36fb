use std::time::Duration;

use pass::{KeyRecord, KeyRefusal};

use crate::{AuditedChange, Timestamp};

/// What an operator orders about the keys that sign passes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum KeyOrder {
    /// Another key takes the place of the one that signs, after it was published for so long.
    Rotate { lead_time: Duration },
    /// The key whose id begins with `id` is unpublished.
    Drop { id: String },
}

impl KeyOrder {
    /// With the usual lead time.
    pub const ROTATE: Self = Self::Rotate { lead_time: KeyRecord::LEAD_TIME };

    /// Changes the record, and returns the change for the audit trail.
    pub fn carry_out(&self, record: &mut KeyRecord, now: Timestamp) -> Result<AuditedChange, KeyRefusal> {
        let now = now.as_secs();
        match self {
            Self::Rotate { lead_time } => {
                record.rotate(*lead_time, now)?;
                let signing = record.signing(now).map(|key| key.jwk.kid().to_owned());
                Ok(AuditedChange::KeyRotation { from: signing.unwrap_or_default() })
            }
            Self::Drop { id } => record.remove(id, now).map(|from| AuditedChange::KeyDrop { from }),
        }
    }
}

#[cfg(test)]
mod tests {
    use pass::PrivateKey;

    use super::*;

    #[test]
    fn an_order_changes_the_record_and_names_the_key() {
        let now = Timestamp::from_millis(2_000_000);
        let mut record = KeyRecord::default();
        assert_eq!(KeyOrder::ROTATE.carry_out(&mut record, now), Err(KeyRefusal::NoKeys));
        let key = PrivateKey::generate().unwrap().public().unwrap();
        let from = key.kid().to_owned();
        record.publish(key, Duration::from_mins(5), 1000);
        let rotated = KeyOrder::ROTATE.carry_out(&mut record, now).unwrap();
        assert_eq!(rotated, AuditedChange::KeyRotation { from: from.clone() });
        assert!(record.is_asked_for_another());
        let dropped = KeyOrder::Drop { id: from[..8].into() }.carry_out(&mut record, now).unwrap();
        assert_eq!(dropped, AuditedChange::KeyDrop { from });
        assert!(record.keys().is_empty());
    }
}
