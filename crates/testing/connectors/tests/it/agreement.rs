//! Guard, authorizer and connectors say the same of passes that nobody thought of.

use std::collections::BTreeMap;
use std::thread;

use connectors::{Answer, GeneratedPass, PassVerdict, Shop, ShopsRoom, Vectors};

use crate::judges::{authorizer_says, guard_says};

const COUNT: usize = 2000;
const SEED: u64 = 1;

/// What a shop says of each pass, over HTTP.
fn shop_says(vectors: &Vectors, language: &'static str, passes: &[GeneratedPass]) -> Vec<String> {
    let keys = serde_json::to_string(&vectors.keys).unwrap();
    let (url, name, secret) = (&vectors.room, &vectors.name, &vectors.secret);
    let shop = Shop::start(language, ShopsRoom { url, name, secret, keys: &keys }).unwrap();
    let door = format!("{url}/beekeeper");
    let says = |generated: &GeneratedPass| {
        let target = format!("/a?bk_pass={}", generated.pass);
        let answer = Answer::of(shop.port(), "GET", &target, "text/html", "").unwrap();
        match (answer.status, answer.headers.get("location").map(String::as_str)) {
            (302, Some("/a")) => format!("{:?}", PassVerdict::Accepted),
            (302, Some(location)) if location == door => format!("{:?}", PassVerdict::Expired),
            (403, None) => format!("{:?}", PassVerdict::Refused),
            other => format!("{other:?}"),
        }
    };
    passes.iter().map(says).collect()
}

#[tokio::test]
#[ignore = "needs Node.js, Python and PHP: cargo xtask test connectors"]
async fn all_say_the_same_of_two_thousand_passes_that_the_rooms_key_signed() {
    let vectors = &Vectors::read().unwrap();
    let passes = &GeneratedPass::make(COUNT, SEED).unwrap();
    let mut said: BTreeMap<&str, Vec<String>> = thread::scope(|scope| {
        let ask = |language| (language, scope.spawn(move || shop_says(vectors, language, passes)));
        let asked = Shop::LANGUAGES.map(ask);
        asked.into_iter().map(|(language, shop)| (language, shop.join().unwrap())).collect()
    });
    let (mut guard, mut authorizer) = (Vec::new(), Vec::new());
    for generated in passes {
        guard.push(format!("{:?}", guard_says(vectors, &generated.pass).await));
        authorizer.push(format!("{:?}", authorizer_says(vectors, &generated.pass).await.0));
    }
    said.extend([("guard", guard), ("authorizer", authorizer)]);

    let mut counts = BTreeMap::new();
    let mut wrong = Vec::new();
    for (at, generated) in passes.iter().enumerate() {
        let expected = format!("{:?}", generated.verdict);
        let others: Vec<_> = said.iter().filter(|(_, said)| said[at] != expected).collect();
        if !others.is_empty() {
            let others: Vec<_> = others.iter().map(|(who, said)| format!("{who}: {}", said[at])).collect();
            let changes = generated.changes.join(", ");
            wrong.push(format!("{expected}, but {}: {changes}: {}", others.join(", "), generated.text()));
        }
        *counts.entry(expected).or_insert(0) += 1;
    }
    assert!(wrong.is_empty(), "{} of {COUNT} passes:\n{}", wrong.len(), wrong.join("\n"));
    for verdict in [PassVerdict::Accepted, PassVerdict::Expired, PassVerdict::Refused] {
        assert!(counts[&format!("{verdict:?}")] > COUNT / 20, "{counts:?}");
    }
}
