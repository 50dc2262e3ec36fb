use crate::newtypes::{FormError, random_characters, stored_as_text};

/// Identifies one filling of the line: four characters, generated when the room is created and by `reset`.
///
/// It is part of every place, so that a visitor with a place from before a reset is a newcomer and does not wait for a
/// ticket that was overtaken long ago.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Epoch([u8; Self::LENGTH]);

impl Epoch {
    const MALFORMED: FormError = FormError("an epoch is four characters from a to z and 0 to 9");
    pub const LENGTH: usize = 4;

    pub const fn as_bytes(&self) -> &[u8; Self::LENGTH] {
        &self.0
    }
}

random_characters!(Epoch);
stored_as_text!(Epoch);

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use rand::SeedableRng;
    use rand::rngs::StdRng;

    use super::*;

    #[test]
    fn a_generated_epoch_is_valid() {
        let mut rng = StdRng::seed_from_u64(7);
        for _ in 0..1000 {
            let epoch = Epoch::random(&mut rng).unwrap();
            assert_eq!(epoch.to_string().parse(), Ok(epoch));
        }
    }

    proptest! {
        #[test]
        fn a_string_that_parses_is_displayed_unchanged(text in ".{0,6}") {
            if let Ok(epoch) = text.parse::<Epoch>() {
                prop_assert_eq!(epoch.to_string(), text);
            }
        }
    }
}
