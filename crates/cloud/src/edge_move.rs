//! Whether a deployment may move a room to its edge, or back. People may stand in line, with links and cookies of before.

use config::{EdgeSetting, RoomConfig};
use hyper::Method;
use waitroom::RoomId;

use crate::smoke_client::SmokeClient;
use crate::stack::StackState;
use crate::{Account, CloudError, CloudErrorKind};

/// A change of a room's `edge`.
#[derive(Clone, Copy, Debug)]
struct EdgeMove<'a> {
    room: &'a RoomId,
    before: EdgeSetting,
    after: EdgeSetting,
}

impl Account {
    /// An error if nothing would answer any more where this stack's visitors come to.
    pub(crate) async fn refuse_lost_visitors(
        &self,
        existing: Option<&StackState>,
        config: &RoomConfig,
    ) -> Result<(), CloudError> {
        let Some(existing) = existing else { return Ok(()) };
        let before = edge_of(existing);
        let moved = EdgeMove { room: &config.room, before, after: config.edge() };
        let domain_before = existing.parameters.get("DomainName").filter(|domain| !domain.is_empty());
        let domain = config.domain.as_ref().map(config::DomainName::as_str);
        moved.refuse_gap(domain.is_some() && domain_before.map(String::as_str) == domain)?;
        match (&config.domain, self.endpoint()) {
            // An emulator is reached by no domain.
            (Some(domain), None) if moved.ends() => {
                moved.refuse_record(domain.as_str(), is_reached_by_edge(domain.as_str()).await)
            }
            _ => Ok(()),
        }
    }
}

/// What the stack was deployed with.
fn edge_of(stack: &StackState) -> EdgeSetting {
    stack.parameters.get("Edge").and_then(|name| EdgeSetting::named(name)).unwrap_or_default()
}

/// Whether visitors of this domain come through `CloudFront`. An error says why that is not known.
async fn is_reached_by_edge(domain: &str) -> Result<bool, String> {
    let client = SmokeClient::new(None, &format!("https://{domain}"), None)?;
    let answer = client.send(&Method::GET, "/client", &[]).await?;
    if answer.status == 200 { Ok(answer.is_by_edge) } else { Err(answer.problem("a client check")) }
}

impl EdgeMove<'_> {
    /// Whether one of two that answered stops.
    fn ends(self) -> bool {
        self.before == EdgeSetting::Moving && self.after != EdgeSetting::Moving
    }

    /// An error if neither `CloudFront` nor the API answers before and after. A move is by one domain, from its first step on.
    fn refuse_gap(self, keeps_domain: bool) -> Result<(), CloudError> {
        let Self { room, before, after } = self;
        let stays = before.has_api() && after.has_api() || before.answers() && after.answers();
        let is_move = before == EdgeSetting::Moving || after == EdgeSetting::Moving;
        if stays && (keeps_domain || !is_move) {
            return Ok(());
        }
        Err(if keeps_domain {
            self.refusal(
                "its domain leads either to CloudFront or to API Gateway, so people in line would reach nothing until the new record is \
                 known everywhere",
                format!(
                    "write edge = \"moving\" first and deploy, so that both answer; change the record of your domain, and a day later write \
                     edge = \"{after}\""
                ),
            )
        } else {
            self.refusal(
                "it had no domain of its own, or had another, so its URL would change, and links, cookies and passes of before would lead nowhere",
                format!(
                    "keep edge = \"{before}\" and the domain; or once the event is over, make the room anew: beekeeper destroy {room}, and then beekeeper \
                     deploy {room}"
                ),
            )
        })
    }

    /// An error if the domain's record still leads to the one that stops.
    fn refuse_record(self, domain: &str, by_edge: Result<bool, String>) -> Result<(), CloudError> {
        let reason = match by_edge {
            Ok(by_edge) if by_edge == self.after.answers() => return Ok(()),
            Ok(true) => format!("{domain} still leads to CloudFront"),
            Ok(false) => format!("{domain} does not lead to CloudFront yet"),
            Err(problem) => format!("nobody knows where {domain} leads: it {problem}"),
        };
        Err(self.refusal(
            reason,
            "change the record of your domain, as the last deployment printed it; wait a day, and run the same command again".into(),
        ))
    }

    fn refusal(self, reason: impl Into<String>, advice: String) -> CloudError {
        let Self { room, before, after } = self;
        let attempt = format!("move the room {room} from edge = \"{before}\" to \"{after}\"");
        CloudError::new(CloudErrorKind::Other, attempt, reason.into()).with_advice(advice)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const EDGES: [EdgeSetting; 3] = [EdgeSetting::No, EdgeSetting::Moving, EdgeSetting::Yes];

    #[test]
    fn something_always_answers_where_visitors_come_to() {
        let room: RoomId = "sale".parse().unwrap();
        for before in EDGES {
            for after in EDGES {
                let moved = EdgeMove { room: &room, before, after };
                let is_move = before == EdgeSetting::Moving || after == EdgeSetting::Moving;
                let is_gap = matches!(
                    (before, after),
                    (EdgeSetting::No, EdgeSetting::Yes) | (EdgeSetting::Yes, EdgeSetting::No)
                );
                for keeps_domain in [false, true] {
                    let is_refused = is_gap || is_move && !keeps_domain;
                    assert_eq!(moved.refuse_gap(keeps_domain).is_err(), is_refused, "{moved:?}");
                }
            }
        }
        let moved = EdgeMove { room: &room, before: EdgeSetting::No, after: EdgeSetting::Yes };
        let advice = |keeps_domain| moved.refuse_gap(keeps_domain).unwrap_err().advice().unwrap().to_owned();
        assert!(advice(true).starts_with("write edge = \"moving\" first"), "{}", advice(true));
        assert!(advice(false).starts_with("keep edge = \"no\""), "{}", advice(false));
    }

    #[test]
    fn a_move_ends_once_the_domain_leads_there() {
        let room: RoomId = "sale".parse().unwrap();
        for (after, sound) in [(EdgeSetting::Yes, true), (EdgeSetting::No, false)] {
            let moved = EdgeMove { room: &room, before: EdgeSetting::Moving, after };
            assert!(moved.ends());
            assert!(moved.refuse_record("queue.shop.example", Ok(sound)).is_ok());
            for wrong in [Ok(!sound), Err("did not respond".into())] {
                assert!(moved.refuse_record("queue.shop.example", wrong).is_err(), "{after}");
            }
        }
    }
}
