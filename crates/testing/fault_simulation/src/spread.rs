/// The middle, the 99th percentile and the largest of some values.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Spread {
    pub half: u64,
    pub most: u64,
    pub largest: u64,
}

impl Spread {
    pub fn of(mut values: Vec<u64>) -> Self {
        values.sort_unstable();
        let at = |percent: usize| {
            let last = values.len().saturating_sub(1);
            values.get((values.len() * percent / 100).min(last)).copied().unwrap_or_default()
        };
        Self { half: at(50), most: at(99), largest: at(100) }
    }
}

impl std::fmt::Display for Spread {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} / {} / {}", self.half, self.most, self.largest)
    }
}
