//! What the main file should say for a crowd. It belongs to all sites of the machine, so it is told, and never changed.

use crate::syntax::NginxDirective;
use crate::tree::{FoundDirective, NginxTree};

const CONNECTIONS: u32 = 20_000;
const FILES: u32 = 65_536;

/// A sentence for each line that is missing, or whose number is too low.
pub(crate) fn lines_for_a_crowd(tree: &NginxTree) -> Vec<String> {
    let top = tree.top();
    let blocks = top.iter().filter(|found| found.directive.name() == "events");
    let events: Vec<_> = blocks.flat_map(|block| block.inside()).collect();
    [
        sentence(&events, "worker_connections", CONNECTIONS, "in its block `events`"),
        sentence(&top, "worker_rlimit_nofile", FILES, "outside of every block"),
    ]
    .into_iter()
    .flatten()
    .map(|(place, sentence)| {
        format!(
            "for a crowd, {} needs {sentence}",
            place.unwrap_or_else(|| tree.conf().display().to_string())
        )
    })
    .collect()
}

fn sentence(
    found: &[FoundDirective<'_>],
    name: &str,
    wanted: u32,
    at: &str,
) -> Option<(Option<String>, String)> {
    let line = found.iter().rev().find(|found| found.directive.name() == name);
    let number = line.and_then(|line| number(line.directive));
    (number.is_none_or(|number| number < wanted))
        .then(|| (line.map(ToString::to_string), format!("the line `{name} {wanted};` {at}")))
}

fn number(directive: &NginxDirective) -> Option<u32> {
    directive.first().parse().ok()
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use super::*;

    fn told(main: &str) -> Vec<String> {
        let folder = tempfile::tempdir().unwrap();
        let conf = folder.path().join("nginx.conf");
        fs::write(&conf, main).unwrap();
        let lines = lines_for_a_crowd(&NginxTree::read(&conf, Path::new("")).unwrap());
        lines
            .iter()
            .map(|line| line.replace(fs::canonicalize(&conf).unwrap().to_str().unwrap(), "FILE"))
            .collect()
    }

    #[test]
    fn a_number_that_is_too_low_is_told_with_its_place() {
        assert_eq!(
            told("worker_processes auto;\nevents {\n worker_connections 768;\n}\n"),
            [
                "for a crowd, FILE:3 needs the line `worker_connections 20000;` in its block `events`",
                "for a crowd, FILE needs the line `worker_rlimit_nofile 65536;` outside of every block",
            ]
        );
        assert_eq!(told("worker_rlimit_nofile 100000; events { worker_connections 20000; }"), [""; 0]);
    }
}
