//! How far out of order the line is, from the tickets of those who leave it.
//!
//! A visitor enters about as far from their turn as the line has shown with others. So pages need a number that almost all
//! visitors stay within, and that a few strays do not move:
//!
//! - A visitor who was farther from their turn raises it, but by no more than an eighth and ten places.
//! - A visitor who was nearer lowers it by a thousandth. So a few visitors in a hundred are farther, and it takes 700 in order
//!   to halve it.

/// How many places visitors leave the line before or after their turn, all but a few in a hundred.
#[derive(Clone, Copy, Debug)]
pub struct DisorderEstimate {
    thousandths: u64,
}

impl DisorderEstimate {
    const PLACE: u64 = 1000;

    pub fn new(places: u64) -> Self {
        Self { thousandths: places.saturating_mul(Self::PLACE) }
    }

    pub fn places(self) -> u64 {
        self.thousandths / Self::PLACE
    }

    /// Somebody has left the line this many places from their turn.
    pub fn see(&mut self, places: u64) {
        let seen = places.saturating_mul(Self::PLACE);
        if seen > self.thousandths {
            let raised = self.thousandths.saturating_add(self.thousandths / 8 + 10 * Self::PLACE);
            self.thousandths = seen.min(raised);
        } else {
            self.thousandths -= self.thousandths / 1000;
        }
    }
}

#[cfg(test)]
mod tests {
    use rand::rngs::StdRng;
    use rand::{RngExt, SeedableRng};

    use super::*;

    #[test]
    fn a_line_in_order_has_none() {
        let mut disorder = DisorderEstimate::new(0);
        (0..1000).for_each(|_| disorder.see(0));
        assert_eq!(disorder.places(), 0);
    }

    #[test]
    fn all_but_a_few_in_a_hundred_are_nearer() {
        let mut rng = StdRng::seed_from_u64(7);
        for widest in [30, 1000, 10_000] {
            let mut disorder = DisorderEstimate::new(0);
            let mut farther = 0;
            for visitor in 0..20_000 {
                let places = rng.random_range(0..widest);
                farther += u32::from(visitor >= 2000 && places > disorder.places() + 1);
                disorder.see(places);
            }
            assert!(farther < 18_000 / 20, "{farther} of {widest}");
            assert!(disorder.places() >= widest * 8 / 10, "{disorder:?} of {widest}");
        }
    }

    #[test]
    fn a_batch_of_strays_hardly_counts_and_is_forgotten() {
        let mut disorder = DisorderEstimate::new(0);
        (0..10).for_each(|_| disorder.see(50_000));
        assert!(disorder.places() < 200, "{disorder:?}");
        (0..3000).for_each(|_| disorder.see(0));
        assert!(disorder.places() < 12, "{disorder:?}");
    }
}
