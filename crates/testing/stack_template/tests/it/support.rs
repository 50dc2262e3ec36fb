//! A ledger that responds like DynamoDB, and requests that go through the mapping templates.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use poll::{ClientAnswer, PollAnswer, StatusAnswer, VisitorState};
use serde_json::{Value, json};
use stack_template::{ApiMethod, Rendered, Stack, TemplateRequest, Velocity};
use waitroom::{Admission, AdmittedBy, LineStatus, Place, Room, Ticket, Timestamp, Token, fixture};

pub(crate) const TOKEN: &str = "00112233445566778899aabbccddeeff";
pub(crate) const OTHER: &str = "f0112233445566778899aabbccddeeff";
pub(crate) const NOW: Timestamp = Timestamp::from_millis(1_700_000_000_000);

/// The parameters that every room needs.
const ROOM: [(&str, &str); 4] =
    [("Room", "sale"), ("Title", "Sale"), ("Shop", "https://shop.example/sale"), ("Rate", "300")];

static STACK: LazyLock<Stack> = LazyLock::new(|| choosing(&[]));

pub(crate) fn stack() -> &'static Stack {
    &STACK
}

/// A stack with these parameters too.
pub(crate) fn choosing(chosen: &[(&str, &str)]) -> Stack {
    Stack::with(&[&ROOM, chosen].concat()).unwrap()
}

/// A stack with the throttle.
pub(crate) fn with_throttle() -> Stack {
    choosing(&[("Throttling", "yes")])
}

pub(crate) fn route(path: &str) -> ApiMethod {
    ApiMethod::of(stack(), "get", path).unwrap()
}

/// The content of the ledger, both as the room's own types and as the table's items.
#[derive(Clone, Debug)]
pub(crate) struct Ledger {
    pub(crate) room: Room,
    pub(crate) line: LineStatus,
    pub(crate) admitted: BTreeMap<Token, Admission>,
    /// Whether the settings and the progress in the status have been written yet.
    pub(crate) has_settings: bool,
    pub(crate) has_progress: bool,
    /// Keys that the table returns as unprocessed.
    pub(crate) unprocessed: BTreeSet<String>,
}

impl Ledger {
    pub(crate) fn new() -> Self {
        let mut room = fixture::room(300);
        room.settings.shop = "https://shop.example/sale?a=b&c='d'".parse().unwrap();
        let line = LineStatus::of(
            &room,
            waitroom::LineReach { reached: 4100, overtaken: 2100, disorder: 300 },
            9120,
            None,
        );
        Self {
            room,
            line,
            admitted: BTreeMap::new(),
            has_settings: true,
            has_progress: true,
            unprocessed: BTreeSet::new(),
        }
    }

    pub(crate) fn admit(mut self, token: &str, until: Timestamp) -> Self {
        let admission = Admission {
            ticket: Ticket::new(7).unwrap(),
            by: AdmittedBy::Door,
            at: until - Duration::from_hours(1),
            expires: until,
        };
        self.admitted.insert(token.parse().unwrap(), admission);
        self
    }

    fn item(&self, id: &str) -> Option<Value> {
        if id.starts_with("status/") {
            return (self.has_settings || self.has_progress).then(|| self.status(id));
        }
        let token = id.strip_prefix("admission/").and_then(|token| token.parse().ok());
        let admission = self.admitted.get(&token.unwrap_or_else(|| panic!("the API may not read {id}")))?;
        Some(json!({
            "id": { "S": id },
            "ticket": { "N": admission.ticket.to_string() },
            "admitted_at": { "N": admission.at.as_millis().to_string() },
            "until": { "N": admission.expires.as_millis().to_string() },
            "delete_after": { "N": "1701209600" },
        }))
    }

    fn status(&self, id: &str) -> Value {
        let mut item = match id.strip_prefix("status/") {
            Some(digit) if self.has_settings => {
                aws::status_json(u8::from_str_radix(digit, 16).unwrap(), &self.room)
            }
            _ => json!({ "id": { "S": id } }),
        };
        if self.has_progress {
            item["served"] = json!({ "N": self.line.reached.to_string() });
            // A copy that an earlier version wrote does not have them.
            if self.line.overtaken > 0 {
                item["passed"] = json!({ "N": self.line.overtaken.to_string() });
            }
            if self.line.disorder > 0 {
                item["disorder"] = json!({ "N": self.line.disorder.to_string() });
            }
            item["waiting"] = json!({ "N": self.line.waiting.to_string() });
            item["rate"] = json!({ "N": self.line.rate.to_string() });
            item["slow"] = json!({ "BOOL": self.line.slow });
            if let Some(left) = self.line.left {
                item["left"] = json!({ "N": left.to_string() });
            }
        }
        item
    }

    /// Responds as DynamoDB does, and fails where DynamoDB would refuse the request.
    fn batch_get(&self, request: &str) -> Value {
        let request: Value =
            serde_json::from_str(request).unwrap_or_else(|error| panic!("{error}: {request}"));
        let tables = request["RequestItems"].as_object().unwrap();
        assert_eq!((request.as_object().unwrap().len(), tables.len()), (1, 1), "{request}");
        let keys = tables["Ledger"]["Keys"].as_array().unwrap();
        let ids: Vec<&str> = keys.iter().map(|key| key["id"]["S"].as_str().unwrap()).collect();
        assert!(keys.iter().zip(&ids).all(|(key, id)| *key == json!({ "id": { "S": id } })), "{request}");
        assert_eq!(ids.iter().collect::<BTreeSet<_>>().len(), ids.len(), "a key twice: {request}");
        assert!(ids.len() <= 100);
        let (left, read): (Vec<&str>, Vec<&str>) = ids.iter().partition(|&&id| self.unprocessed.contains(id));
        // DynamoDB returns items in any order.
        let items: Vec<Value> = read.iter().rev().filter_map(|id| self.item(id)).collect();
        let left: Vec<Value> = left.iter().map(|id| json!({ "id": { "S": id } })).collect();
        let unprocessed = if left.is_empty() { json!({}) } else { json!({ "Ledger": { "Keys": left } }) };
        json!({ "Responses": { "Ledger": items }, "UnprocessedKeys": unprocessed })
    }

    /// The answer of the room's own types, which the mapping templates have to match.
    fn visitor(&self, cookies: &[&str], now: Timestamp) -> (bool, VisitorState) {
        let place = Place::find(&self.room.settings.room, self.room.epoch, cookies.iter().copied());
        place.map_or((false, VisitorState::Newcomer), |place| {
            (true, VisitorState::of(&self.room, self.admitted.get(&place.token), now))
        })
    }

    pub(crate) fn poll_answer(&self, cookies: &[&str]) -> Value {
        let (_, visitor) = self.visitor(cookies, NOW);
        // As every store returns it.
        let room = Arc::new(self.room.clone()).at(NOW);
        serde_json::to_value(PollAnswer::new(&room, &self.line, visitor)).unwrap()
    }

    pub(crate) fn status_answer(&self) -> Value {
        let room = Arc::new(self.room.clone()).at(NOW);
        serde_json::to_value(StatusAnswer::new(&room, &self.line, NOW)).unwrap()
    }

    pub(crate) fn client_answer(&self, cookies: &[&str]) -> Value {
        let (known, visitor) = self.visitor(cookies, NOW);
        serde_json::to_value(ClientAnswer::new(&self.room, known, visitor)).unwrap()
    }

    pub(crate) fn ask(&self, path: &str, asked: &TemplateRequest) -> Rendered {
        let route = route(path);
        let request = render(&route.request().unwrap(), asked);
        let (response, status) = route.response(200).unwrap();
        assert_eq!(status, 200);
        render(
            &response,
            &TemplateRequest { body: self.batch_get(&request.text).to_string(), ..asked.clone() },
        )
    }

    /// Asks the three routes with these cookies, and compares the answers with those of the room's own types.
    pub(crate) fn check(&self, cookies: &[&str]) {
        let asked = with_cookies(cookies);
        let poll = self.ask("/polling", &asked);
        assert_eq!(
            (poll.status, poll.json().unwrap()),
            (None, self.poll_answer(cookies)),
            "poll {cookies:?}"
        );
        let status = self.ask("/status", &asked);
        assert_eq!(
            (status.status, status.json().unwrap()),
            (None, self.status_answer()),
            "status {cookies:?}"
        );
        let client = self.ask("/client", &asked);
        assert_eq!(
            (client.status, client.json().unwrap()),
            (None, self.client_answer(cookies)),
            "client {cookies:?}"
        );
    }
}

pub(crate) fn render(template: &stack_template::MappingTemplate, request: &TemplateRequest) -> Rendered {
    Velocity::shared().unwrap().render(template, request).unwrap()
}

/// A request with these cookies. API Gateway has one value for each spelling of a header's name.
pub(crate) fn with_cookies(cookies: &[&str]) -> TemplateRequest {
    let spellings = ["Cookie", "cookie"];
    assert!(cookies.len() <= spellings.len());
    let headers =
        spellings.iter().zip(cookies).map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
    TemplateRequest { headers: headers.collect(), ..asked() }
}

/// A request without headers.
pub(crate) fn asked() -> TemplateRequest {
    let stage = stack().properties("Api").unwrap()["Variables"].clone();
    let stage = stage.as_object().unwrap().iter();
    TemplateRequest {
        stage: stage.map(|(name, value)| (name.clone(), value.as_str().unwrap().to_owned())).collect(),
        now: NOW.as_millis(),
        body: "{}".into(),
        ..TemplateRequest::default()
    }
}

/// A `Cookie` header with the room's cookie between two others.
pub(crate) fn place(epoch: &str, token: &str, ticket: &str) -> String {
    format!("a=1; bk_sale={epoch}-{token}-{ticket}; b=2")
}
