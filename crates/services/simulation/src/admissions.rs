//! Where the admissions of a simulated crowd lie: by the visitor's number, in a quarter of the bytes that a map of them takes.

use std::collections::HashMap;
use std::time::Duration;

use memory::AdmissionTable;
use waitroom::{Admission, AdmittedBy, SliceId, Ticket, Timestamp, Token};

use crate::course::{MaybeAt, millis_between};

#[derive(Debug)]
pub(crate) struct NumberedAdmissions {
    /// When the room was turned on.
    begin: Timestamp,
    /// How long each is valid.
    lifetime: Duration,
    numbered: Vec<NumberedAdmission>,
    /// Those that consumers of a simulated room do not write.
    others: HashMap<Token, Admission>,
}

/// Of each of up to ten million visitors, so in few bytes.
#[derive(Clone, Copy, Debug)]
struct NumberedAdmission {
    /// Since the room was turned on.
    at: MaybeAt,
    ticket: u32,
    plan: u32,
    index: u16,
}

const _: () = assert!(size_of::<NumberedAdmission>() <= 16, "ten million of them are 160 MB");

impl NumberedAdmissions {
    pub(crate) fn new(visitors: u32, begin: Timestamp, lifetime: Duration) -> Self {
        let nobody = NumberedAdmission { at: MaybeAt::NEVER, ticket: 0, plan: 0, index: 0 };
        Self { begin, lifetime, numbered: vec![nobody; visitors as usize], others: HashMap::new() }
    }

    /// In place of the slice, of those whom the door has let straight in: plans are numbered from 1.
    const STRAIGHT: SliceId = SliceId { plan: 0, index: 0 };

    /// The token of the visitor with this number.
    pub(crate) fn token(visitor: u32) -> Token {
        let mut bytes = [0; Token::BYTES];
        bytes[..4].copy_from_slice(&visitor.to_le_bytes());
        Token::from_bytes(bytes)
    }

    fn number(&self, token: Token) -> Option<usize> {
        let [one, two, three, four, rest @ ..] = *token.as_bytes();
        let number = u32::from_le_bytes([one, two, three, four]) as usize;
        (number < self.numbered.len() && rest == [0; Token::BYTES - 4]).then_some(number)
    }

    /// How many each plan has admitted.
    pub(crate) fn by_plan(&self) -> HashMap<u64, u32> {
        let mut admitted = HashMap::new();
        let numbered = self.numbered.iter().filter(|known| known.at.get().is_some());
        let others = self.others.values().filter_map(|known| match known.by {
            AdmittedBy::Slice(slice) => Some(slice.plan),
            AdmittedBy::Door | AdmittedBy::Permit => None,
        });
        for plan in numbered.map(|known| known.plan.into()).chain(others) {
            *admitted.entry(plan).or_default() += 1;
        }
        admitted
    }

    fn packed(&self, admission: &Admission) -> Option<NumberedAdmission> {
        let SliceId { plan, index } = match admission.by {
            AdmittedBy::Slice(slice) => slice,
            AdmittedBy::Permit => Self::STRAIGHT,
            AdmittedBy::Door => return None,
        };
        let packed = NumberedAdmission {
            at: MaybeAt::at(millis_between(self.begin, admission.at)),
            ticket: u32::try_from(admission.ticket.get()).ok()?,
            plan: u32::try_from(plan).ok()?,
            index,
        };
        // Another lifetime, or an instant that is too early or too late, would be read as something else.
        (self.unpacked(packed) == Some(*admission)).then_some(packed)
    }

    fn unpacked(&self, packed: NumberedAdmission) -> Option<Admission> {
        let at = self.begin + Duration::from_millis(packed.at.get()?.into());
        let slice = SliceId { plan: packed.plan.into(), index: packed.index };
        let by = if slice == Self::STRAIGHT { AdmittedBy::Permit } else { AdmittedBy::Slice(slice) };
        let ticket = Ticket::new(packed.ticket.into()).ok()?;
        Some(Admission { ticket, by, at, expires: at + self.lifetime })
    }
}

impl AdmissionTable for NumberedAdmissions {
    fn get(&self, token: Token) -> Option<Admission> {
        let numbered = self.number(token).and_then(|number| self.unpacked(self.numbered[number]));
        numbered.or_else(|| self.others.get(&token).copied())
    }

    fn put(&mut self, token: Token, admission: Admission) {
        match self.number(token).zip(self.packed(&admission)) {
            Some((number, packed)) => self.numbered[number] = packed,
            None => drop(self.others.insert(token, admission)),
        }
    }
}

#[cfg(test)]
mod tests {
    use rand::rngs::StdRng;
    use rand::{RngExt, SeedableRng};

    use super::*;

    const BEGIN: Timestamp = Timestamp::from_millis(1_700_000_000_000);
    const LIFETIME: Duration = Duration::from_mins(20);

    /// One of a consumer, of the door with or without a permit, of another lifetime, from before the beginning, or too late or too high for few bytes.
    fn admission(rng: &mut StdRng) -> Admission {
        let kind = rng.random_range(0..9);
        let at = match kind {
            0 => BEGIN - Duration::from_millis(rng.random_range(1..9)),
            1 => BEGIN + Duration::from_millis(u64::from(u32::MAX) + rng.random_range(0..2)),
            _ => BEGIN + Duration::from_millis(rng.random_range(0..100_000_000)),
        };
        let (high, lifetime) = (u64::from(u32::MAX), if kind == 2 { LIFETIME * 2 } else { LIFETIME });
        let plan = if kind == 3 { high + 1 } else { rng.random_range(1..4) };
        let slice = SliceId { plan, index: rng.random() };
        let by = match kind {
            4 => AdmittedBy::Door,
            6 => AdmittedBy::Permit,
            _ => AdmittedBy::Slice(slice),
        };
        let ticket = Ticket::new(if kind == 5 { high + 1 } else { rng.random_range(1..=high) }).unwrap();
        Admission { ticket, by, at, expires: at + lifetime }
    }

    #[test]
    fn it_answers_as_a_map_does() {
        const VISITORS: u32 = 400;
        let mut rng = StdRng::seed_from_u64(1);
        let mut table = NumberedAdmissions::new(VISITORS, BEGIN, LIFETIME);
        let mut map = HashMap::new();
        for _ in 0..1000 {
            // Some tokens are beyond the crowd, and some are no numbers.
            let number = rng.random_range(0..VISITORS + 20);
            let token = NumberedAdmissions::token(number);
            let token = if rng.random_bool(0.1) { Token::from_bytes([rng.random(); 16]) } else { token };
            assert_eq!(AdmissionTable::get(&table, token), AdmissionTable::get(&map, token));
            if !map.contains_key(&token) {
                let admission = admission(&mut rng);
                AdmissionTable::put(&mut table, token, admission);
                AdmissionTable::put(&mut map, token, admission);
            }
        }
        for (token, admission) in &map {
            assert_eq!(AdmissionTable::get(&table, *token), Some(*admission));
        }
        let kept = table.numbered.iter().filter(|known| known.at.get().is_some()).count();
        assert!(kept > 50 && table.others.len() > 50, "{kept} in few bytes, {} others", table.others.len());
        let of_plan = |plan| {
            let by = |known: &&Admission| matches!(known.by, AdmittedBy::Slice(slice) if slice.plan == plan);
            u32::try_from(map.values().filter(by).count()).unwrap()
        };
        let by_plan = table.by_plan();
        for plan in [1, 2, 3, u64::from(u32::MAX) + 1] {
            assert_eq!(by_plan.get(&plan).copied().unwrap_or_default(), of_plan(plan), "plan {plan}");
        }
    }
}
