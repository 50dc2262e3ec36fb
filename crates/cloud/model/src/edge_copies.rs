//! What an edge asks for, to keep it for everybody.

use crate::ModelledRoom;
use crate::facts::facts;

/// How often a second each of an edge's caches asks for what it keeps for everybody, as long as somebody asks there: the status
/// for a second, keys for five, and each file of the page for sixty.
const STATUS_COPIES_PER_SECOND: f64 = 1.0;
const KEY_COPIES_PER_SECOND: f64 = 1.0 / 5.0;
const FILE_COPIES_PER_SECOND: f64 = 1.0 / 60.0;

/// What all of an edge's caches together ask for in a second, at most.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct EdgeCopies {
    pub(crate) statuses: f64,
    pub(crate) keys: f64,
    pub(crate) files: f64,
}

impl EdgeCopies {
    pub(crate) fn per_second(room: &ModelledRoom) -> Self {
        let caches = if room.edge.answers() { facts().fixed.edge_caches.value } else { 0.0 };
        Self {
            statuses: caches * STATUS_COPIES_PER_SECOND,
            keys: caches * KEY_COPIES_PER_SECOND,
            files: caches * FILE_COPIES_PER_SECOND * f64::from(1 + room.further_files),
        }
    }

    pub(crate) fn all(self) -> f64 {
        self.statuses + self.keys + self.files
    }

    /// In read units: a copy of the status, and the record of the keys.
    pub(crate) fn reads(self) -> f64 {
        self.statuses * 0.5 + self.keys
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_edge_keeps_answers_for_as_long_as_the_routes_say() {
        let kept = |path: &str| {
            let route = routes::ROUTES.iter().find(|route| route.path == path).unwrap();
            let (_, control) = route.headers.iter().find(|(name, _)| *name == "cache-control").unwrap();
            let seconds = |key: &str| control.split(", ").find_map(|part| part.strip_prefix(key));
            seconds("s-maxage=").or(seconds("max-age=")).unwrap().parse::<f64>().unwrap()
        };
        for (path, per_second) in [
            ("/status", STATUS_COPIES_PER_SECOND),
            ("/.well-known/jwks.json", KEY_COPIES_PER_SECOND),
            ("/wait/{file}", FILE_COPIES_PER_SECOND),
        ] {
            assert!((kept(path) * per_second - 1.0).abs() < 1e-9, "{path}");
        }
    }
}
