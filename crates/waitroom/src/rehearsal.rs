use crate::newtypes::{FormError, random_characters, stored_as_text};

/// Marks a room while its operator rehearses the event: sixteen characters, generated for each rehearsal.
///
/// Only somebody with operator access can write it, and polls show it. So visitors of a rehearsal know from every answer
/// that the room is the one of their operator, and send nothing to any other.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct RehearsalMark([u8; Self::LENGTH]);

impl RehearsalMark {
    const MALFORMED: FormError =
        FormError("the mark of a rehearsal is sixteen characters from a to z and 0 to 9");
    pub const LENGTH: usize = 16;
}

random_characters!(RehearsalMark);
stored_as_text!(RehearsalMark);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mark_reads_back_and_nothing_else_is_one() {
        let mark = RehearsalMark::random(&mut rand::rngs::SysRng).unwrap();
        assert_eq!(mark.to_string().parse(), Ok(mark));
        for wrong in ["", "abcd", "abcdefghijkmnpq\"", "ABCDEFGHIJKMNPQR", "abcdefghijkmnpqrs"] {
            assert_eq!(wrong.parse::<RehearsalMark>(), Err(RehearsalMark::MALFORMED), "{wrong}");
        }
    }
}
