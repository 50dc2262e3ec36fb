use waitroom::{Admission, Timestamp};

/// The state of a visitor in the room, from their place and the ledger.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VisitorState {
    /// The request carried no place of this room and epoch, or the admission has expired.
    Newcomer,
    Waiting,
    /// The visitor may enter, and may get another pass until then.
    Admitted {
        until: Timestamp,
    },
}

impl VisitorState {
    /// The state of a visitor who has a place.
    pub fn of(admission: Option<&Admission>, now: Timestamp) -> Self {
        match admission {
            None => Self::Waiting,
            Some(admission) if admission.is_valid(now) => Self::Admitted { until: admission.expires },
            Some(_) => Self::Newcomer,
        }
    }
}

#[cfg(test)]
mod tests {
    use waitroom::{AdmittedBy, Ticket};

    use super::*;

    #[test]
    fn an_expired_admission_makes_a_newcomer() {
        let at = Timestamp::from_millis;
        let admission =
            Admission { ticket: Ticket::new(1).unwrap(), by: AdmittedBy::Door, at: at(0), expires: at(100) };
        assert_eq!(VisitorState::of(None, at(50)), VisitorState::Waiting);
        assert_eq!(VisitorState::of(Some(&admission), at(99)), VisitorState::Admitted { until: at(100) });
        assert_eq!(VisitorState::of(Some(&admission), at(100)), VisitorState::Newcomer);
    }
}
