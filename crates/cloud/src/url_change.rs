//! Whether a deployment may change where visitors come to, the room's domain or its edge, and what answers them there. People may
//! stand in line, with links and cookies of before.

use config::{DomainName, EdgeSetting, RoomConfig};
use hyper::Method;
use waitroom::RoomId;

use crate::deployed_room::sign_of_newer;
use crate::smoke_client::SmokeClient;
use crate::stack::StackState;
use crate::warnings::PlanWarning;
use crate::{Account, CloudError, CloudErrorKind};

const LOST: &str = "its URL would change, and existing links, cookies and passes would lead nowhere";

/// A room's domain and edge, each before and after a deployment.
#[derive(Clone, Copy, Debug)]
struct UrlChange<'a> {
    room: &'a RoomId,
    domain: [Option<&'a str>; 2],
    edge: [EdgeSetting; 2],
}

impl Account {
    /// An error if nothing would answer any more where this stack's visitors come to.
    pub(crate) async fn refuse_lost_visitors(
        &self,
        existing: Option<&StackState>,
        config: &RoomConfig,
    ) -> Result<(), CloudError> {
        let Some(existing) = existing else { return Ok(()) };
        refuse_older_functions(existing, config)?;
        let change = UrlChange::of(existing, config);
        change.refuse_lost_domain()?;
        change.refuse_gap()?;
        match (&config.domain, self.endpoint()) {
            // An emulator is reached by no domain.
            (Some(domain), None) if change.ends_move() => {
                change.refuse_record(domain.as_str(), is_reached_by_edge(domain.as_str()).await)
            }
            _ => Ok(()),
        }
    }
}

/// An error if a newer beekeeper deployed the stack: this one would take its settings and mended faults away. If its functions could not
/// read what the newer ones may have written, nobody would get in until somebody deploys those again.
fn refuse_older_functions(existing: &StackState, config: &RoomConfig) -> Result<(), CloudError> {
    let Some(reason) = sign_of_newer(existing)? else { return Ok(()) };
    let attempt = format!("update the room {}", config.room);
    Err(CloudError::new(CloudErrorKind::Other, attempt, reason)
        .with_advice("use that version, or a newer one"))
}

/// That a room deployed without a domain gets one. Its old URL still answers, but leads to none of the new places.
pub(crate) fn warning_of_domain(existing: &StackState, config: &RoomConfig) -> Option<PlanWarning> {
    let [None, Some(domain)] = UrlChange::of(existing, config).domain else { return None };
    Some(PlanWarning {
        text: format!(
            "the room's URL becomes https://{domain}/beekeeper: whoever goes there joins at the end, wherever they stood, and a guard \
             with the old URL lets nobody in"
        ),
        advice: "do this before any visitor comes, and give the guard the new URL once it opens in a browser: docs/aws.md"
            .into(),
    })
}

/// Whether visitors of this domain come through `CloudFront`. An error says why that is not known.
async fn is_reached_by_edge(domain: &str) -> Result<bool, String> {
    let client = SmokeClient::new(None, &format!("https://{domain}"), None)?;
    let answer = client.send(&Method::GET, "/client", &[]).await?;
    if answer.status == 200 { Ok(answer.is_by_edge) } else { Err(answer.problem("a client check")) }
}

impl<'a> UrlChange<'a> {
    fn of(stack: &'a StackState, config: &'a RoomConfig) -> Self {
        let parameter = |name: &str| stack.parameters.get(name).map(String::as_str);
        let domain_before = parameter("DomainName").filter(|domain| !domain.is_empty());
        let edge_before = parameter("Edge").and_then(EdgeSetting::named).unwrap_or_default();
        Self {
            room: &config.room,
            domain: [domain_before, config.domain.as_ref().map(DomainName::as_str)],
            edge: [edge_before, config.edge()],
        }
    }

    /// Whether one of two that answered stops.
    fn ends_move(self) -> bool {
        let [before, after] = self.edge;
        before == EdgeSetting::Moving && after != EdgeSetting::Moving
    }

    /// An error if the room would no longer be at its domain.
    fn refuse_lost_domain(self) -> Result<(), CloudError> {
        let Self { room, domain: [before, after], .. } = self;
        let Some(before) = before.filter(|_| before != after) else { return Ok(()) };
        let attempt = match after {
            Some(after) => format!("move the room {room} from the domain {before} to {after}"),
            None => format!("take the domain {before} from the room {room}"),
        };
        let advice = format!(
            "write domain = \"{before}\" with its certificate into the configuration file again, or get the file of whoever deployed it last; \
             or {}",
            self.anew()
        );
        Err(CloudError::new(CloudErrorKind::Other, attempt, LOST).with_advice(advice))
    }

    /// An error if neither `CloudFront` nor the API answers before and after. A move is by one domain, from its first step on.
    fn refuse_gap(self) -> Result<(), CloudError> {
        let Self { domain: [domain, _], edge: [before, after], .. } = self;
        let stays = before.has_api() && after.has_api() || before.answers() && after.answers();
        let is_move = before == EdgeSetting::Moving || after == EdgeSetting::Moving;
        if stays && (domain.is_some() || !is_move) {
            return Ok(());
        }
        Err(if domain.is_some() {
            self.refusal(
                "its domain leads either to CloudFront or to API Gateway, so people in line would reach nothing until the new record is \
                 known everywhere",
                format!(
                    "write edge = \"moving\" first and deploy, so that both answer; change the record of your domain, and a day later write \
                     edge = \"{after}\""
                ),
            )
        } else {
            let reason = format!("it was deployed without a domain, so {LOST}");
            self.refusal(reason, format!("keep edge = \"{before}\"; or {}", self.anew()))
        })
    }

    fn anew(self) -> String {
        let room = self.room;
        format!(
            "once the event is over, make the room anew: beekeeper destroy {room}, and then beekeeper deploy {room}"
        )
    }

    /// An error if the domain's record still leads to the one that stops.
    fn refuse_record(self, domain: &str, by_edge: Result<bool, String>) -> Result<(), CloudError> {
        let reason = match by_edge {
            Ok(by_edge) if by_edge == self.edge[1].answers() => return Ok(()),
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
        let Self { room, edge: [before, after], .. } = self;
        let attempt = format!("move the room {room} from edge = \"{before}\" to \"{after}\"");
        CloudError::new(CloudErrorKind::Other, attempt, reason.into()).with_advice(advice)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::room_config;

    const EDGES: [EdgeSetting; 3] = [EdgeSetting::No, EdgeSetting::Moving, EdgeSetting::Yes];

    /// What a change is refused with.
    fn advice(domain: [Option<&str>; 2], edge: [EdgeSetting; 2]) -> Option<String> {
        let room: RoomId = "sale".parse().unwrap();
        let change = UrlChange { room: &room, domain, edge };
        let refused = change.refuse_lost_domain().and_then(|()| change.refuse_gap());
        refused.err().map(|error| error.advice().unwrap().to_owned())
    }

    #[test]
    fn something_always_answers_where_visitors_come_to() {
        let (one, other) = (Some("queue.shop.example"), Some("wait.shop.example"));
        for (domain, is_lost) in [
            ([None, None], false),
            ([None, one], false),
            ([one, one], false),
            ([one, None], true),
            ([one, other], true),
        ] {
            for edge in EDGES.into_iter().flat_map(|before| EDGES.map(|after| [before, after])) {
                let is_move = edge.contains(&EdgeSetting::Moving);
                let is_gap = !is_move && edge[0] != edge[1];
                let is_refused = is_lost || is_gap || is_move && domain[0].is_none();
                assert_eq!(advice(domain, edge).is_some(), is_refused, "{domain:?} {edge:?}");
            }
        }
        let to_edge = [EdgeSetting::No, EdgeSetting::Yes];
        for (domain, edge, told) in [
            ([one, one], to_edge, "write edge = \"moving\" first"),
            ([None, None], to_edge, "keep edge = \"no\"; or once the event is over"),
            ([one, None], [EdgeSetting::No; 2], "write domain = \"queue.shop.example\" with its certificate"),
        ] {
            let advice = advice(domain, edge).unwrap();
            assert!(advice.starts_with(told), "{advice}");
        }
    }

    #[test]
    fn whoever_adds_a_domain_is_warned_that_the_url_changes() {
        let mut config = room_config("sale");
        let deployed = |domain: &str| StackState::with([("DomainName".into(), domain.into())].into());
        assert_eq!(warning_of_domain(&deployed(""), &config), None);
        config.domain = Some("queue.shop.example".parse().unwrap());
        let warning = warning_of_domain(&deployed(""), &config).unwrap();
        assert!(warning.text.starts_with("the room's URL becomes https://queue.shop.example/beekeeper"));
        assert_eq!(warning_of_domain(&deployed("queue.shop.example"), &config), None);
    }

    #[test]
    fn an_older_beekeeper_puts_no_functions_under_what_a_newer_one_wrote() {
        let config = room_config("sale");
        let owned = |values: &[(&str, &str)]| {
            values.iter().map(|&(name, value)| (name.to_owned(), value.to_owned())).collect()
        };
        let refused = |outputs: &[(&str, &str)], parameters: &[(&str, &str)]| {
            let mut deployed = StackState::with(owned(parameters));
            deployed.outputs = owned(outputs);
            refuse_older_functions(&deployed, &config).map_err(|error| error.reason())
        };
        let own = env!("CARGO_PKG_VERSION");
        let known = [("States", "on paused off closed"), ("Version", own)];
        let [bucket, key] = [("PackageBucket", "artefacts"), ("PackageKey", "functions/1.zip")];
        assert_eq!(refused(&[], &[]), Ok(()));
        assert_eq!(refused(&known, &[bucket, key, ("Title", "Sale")]), Ok(()));
        assert_eq!(refused(&known, &[("BootstrapVersion", "/cdk-bootstrap/version")]), Ok(()), "by CDK");

        let unknown =
            |what: &str| format!("a newer beekeeper deployed it, and this one doesn't know its {what}");
        assert_eq!(refused(&[("States", "on paused off lottery")], &[]), Err(unknown("lottery")));
        assert_eq!(refused(&known, &[bucket, key, ("Lottery", "yes")]), Err(unknown("Lottery")));
        let of_version = format!("beekeeper 999.0.0 deployed it, and this one is {own}");
        assert_eq!(refused(&[("Version", "999.0.0")], &[]), Err(of_version));
    }

    #[test]
    fn a_move_ends_once_the_domain_leads_there() {
        let room: RoomId = "sale".parse().unwrap();
        let domain = [Some("queue.shop.example"); 2];
        for (after, sound) in [(EdgeSetting::Yes, true), (EdgeSetting::No, false)] {
            let moved = UrlChange { room: &room, domain, edge: [EdgeSetting::Moving, after] };
            assert!(moved.ends_move());
            assert!(moved.refuse_record("queue.shop.example", Ok(sound)).is_ok());
            for wrong in [Ok(!sound), Err("did not respond".into())] {
                assert!(moved.refuse_record("queue.shop.example", wrong).is_err(), "{after}");
            }
        }
    }
}
