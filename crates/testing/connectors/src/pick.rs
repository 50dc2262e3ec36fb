use rand::RngExt;
use rand::rngs::StdRng;

/// One of these.
pub(crate) fn pick<T: Clone>(rng: &mut StdRng, choices: &[T]) -> T {
    choices[rng.random_range(0..choices.len())].clone()
}
