//! Visitors and admissions for tests.

use waitroom::{Admission, AdmittedBy, Place, SliceId, Ticket, Timestamp, Token};

/// The `n`th visitor: ticket `n`, and a token derived from `n`.
pub fn visitor(n: u64) -> Place {
    let mut token = [0xb5; Token::BYTES];
    token[..8].copy_from_slice(&n.wrapping_mul(0x9e37_79b9_7f4a_7c15).to_be_bytes());
    Place {
        epoch: "ab12".parse().expect("four letters and digits"),
        token: Token::from_bytes(token),
        ticket: Ticket::new(n).expect("tests count from 1"),
    }
}

pub fn admission(ticket: u64, plan: u64) -> Admission {
    Admission {
        ticket: Ticket::new(ticket).expect("tests count from 1"),
        by: AdmittedBy::Slice(SliceId { plan, index: 3 }),
        at: Timestamp::from_millis(1_700_000_000_000),
        expires: Timestamp::from_millis(1_700_003_600_000),
    }
}
