//! How people get Beekeeper. Everything is in `tests`, behind the feature `release-files`: `cargo xtask test release`.
