//! The names that the guard makes public, against `infra/frozen-names.txt`.

use frozen_names::{Section, assert_frozen};
use guard::{Decision, END, GuardAnswer, GuardRules, NUMBER_HEADER, SESSION_HEADER, SUBJECT_HEADER};

use crate::fixture::{Browser, Shop, rules};

/// What the guard sets, with names in place of what varies.
fn named(decision: &Decision) -> String {
    let Decision::Answer(GuardAnswer { set_cookie: Some(cookie), .. }) = decision else {
        panic!("{decision:?}")
    };
    let (name, value) = cookie.split(';').next().unwrap().split_once('=').unwrap();
    let parts: Vec<_> = value.split('.').collect();
    let value = match parts[..] {
        ["sent", "", asked, path, secret] => {
            assert_eq!((secret.len(), asked, path), (22, "1800000000", "L2E"), "the path is /a");
            "sent..<asked>.<path>.<secret>"
        }
        ["session", id, "visitor", "4711", "1800000000", proof] => {
            assert_eq!((id.len(), proof.len()), (22, 43));
            "session.<id>.<subject>.<number>.<opened>.<proof>"
        }
        _ => panic!("{cookie}"),
    };
    format!("{}={value}", name.replace("sale", "<room>"))
}

#[tokio::test]
async fn cookies_and_headers_keep_their_names() {
    let mut shop = Shop::with(rules());
    let arrival = format!("/a?bk_pass={}", shop.pass("visitor"));
    let session = named(&shop.get(&mut Browser::default(), &arrival).await);
    let mut shop = Shop::with(GuardRules { binds: true, ..rules() });
    let arrival = format!("/a?bk_pass={}", shop.pass("visitor"));
    let sent = named(&shop.get(&mut Browser::default(), &arrival).await);
    let mut shop = Shop::with(GuardRules { binds: true, https: false, ..rules() });
    let arrival = format!("/a?bk_pass={}", shop.pass("visitor"));
    let by_http = named(&shop.get(&mut Browser::default(), &arrival).await);
    let mut shop = Shop::with(rules());
    let mut browser = shop.admitted("visitor").await;
    let Decision::Enter(visitor) = shop.get(&mut browser, "/").await else { panic!("not in the shop") };
    let cookie = shop.guard.end_cookie(&visitor).unwrap();
    let (name, id) = cookie.split(';').next().unwrap().split_once('=').unwrap();
    assert_eq!(id.len(), 22);
    let ended = format!("{}=<id>", name.replace("sale", "<room>"));
    let headers = [NUMBER_HEADER, SUBJECT_HEADER].map(|name| name.to_string());
    let word = format!("{SESSION_HEADER}: {END}");
    assert_frozen(Section::Guard, [session, sent, by_http, ended, word].into_iter().chain(headers));
}
