use waitroom::{Admission, Room, Timestamp};

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
    /// The state of a visitor who has a place in this room, and whom the ledger has admitted so.
    pub fn of(room: &Room, admission: Option<&Admission>, now: Timestamp) -> Self {
        match admission.filter(|admission| room.is_of_this_epoch(admission)) {
            None => Self::Waiting,
            Some(admission) if admission.is_valid(now) => Self::Admitted { until: admission.expires },
            Some(_) => Self::Newcomer,
        }
    }
}

#[cfg(test)]
mod tests {
    use waitroom::{AdmittedBy, Ticket, fixture};

    use super::*;

    #[test]
    fn an_expired_admission_makes_a_newcomer_and_one_of_another_epoch_is_none() {
        let (at, mut room) = (Timestamp::from_millis, fixture::room(300));
        let admission =
            Admission { ticket: Ticket::new(1).unwrap(), by: AdmittedBy::Door, at: at(0), expires: at(100) };
        assert_eq!(VisitorState::of(&room, None, at(50)), VisitorState::Waiting);
        let state = |room: &Room, now| VisitorState::of(room, Some(&admission), at(now));
        assert_eq!(state(&room, 99), VisitorState::Admitted { until: at(100) });
        assert_eq!(state(&room, 100), VisitorState::Newcomer);
        room.start_epoch("cd34".parse().unwrap(), at(1));
        assert_eq!(state(&room, 99), VisitorState::Waiting);
    }
}
