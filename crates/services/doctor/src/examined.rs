use std::error::Error;
use std::time::Duration;

use clock::SystemClock;
use config::RoomConfig;
use control::{Advise, ControlError, OperatedRoom, SocketRoom, Status};
use page::{Design, Page};
use probe::{FetchedPage, HttpProbe, UntrustedCertificate, WebAddress};
use url::Url;
use waitroom::ports::Clock;
use waitroom::{Room, RoomId, Timestamp, WebUrl, innermost};

use crate::DoctorCheck;

/// How long a page may take.
const TIMEOUT: Duration = Duration::from_secs(5);

/// The room that is examined, as far as there is one already.
#[derive(Debug)]
pub struct Examined {
    pub name: RoomId,
    /// How a command names it.
    pub as_typed: String,
    pub config: Option<RoomConfig>,
    /// The operator's own page or design, or why it cannot be read. `None` for the built-in page.
    pub custom_page: Result<Option<Page>, String>,
    /// Why a deployment would refuse that page.
    pub refused_page: Option<Box<dyn Error + Send + Sync>>,
    /// `None` before the first deployment, and if AWS did not say whether there is one.
    pub found: Option<FoundRoom>,
    /// What the room says of itself. `None` before the first deployment. An error says why it did not answer.
    pub status: Result<Option<Status>, ControlError>,
    /// The room that runs or, if it did not answer, the one that would be deployed.
    pub room: Room,
    /// Whether its shop is the one of a demonstration.
    pub has_demo_shop: bool,
    pub guard: Option<GuardHere>,
    pub visitors: Option<u64>,
    pub probe: HttpProbe,
    /// What to do about an error of the room. Each way to a room has errors and advice of its own.
    pub advise: Advise,
}

/// The guard that is configured for the room on this machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GuardHere {
    /// Whether this machine's nginx asks it about the shop's visitors, as `setup nginx` makes it.
    pub is_asked: bool,
    /// Why it lets nobody in, if so.
    pub silent: Option<String>,
}

/// Why something could not be read, for a sentence that begins with its URL.
#[derive(Debug)]
pub(crate) struct Unfetched {
    pub(crate) why: String,
    /// The server's certificate is the reason, so whatever is behind it was not asked.
    pub(crate) is_untrusted: bool,
}

impl Unfetched {
    pub(crate) fn of(why: String) -> Self {
        Self { why, is_untrusted: false }
    }
}

/// A room that runs here or is deployed.
#[derive(Debug)]
pub struct FoundRoom {
    pub room: OperatedRoom,
    /// The way to its process, if it runs on this machine.
    pub socket: Option<SocketRoom>,
    /// Where its URLs are asked for, if it is an emulator of AWS that has it.
    pub endpoint: Option<Url>,
    /// Its other URL, if it has a domain of its own.
    pub other_url: Option<WebUrl>,
}

impl Examined {
    pub fn status(&self) -> Option<&Status> {
        self.status.as_ref().ok().and_then(Option::as_ref)
    }

    /// Whether the room is on this machine, and not on AWS.
    pub(crate) fn is_here(&self) -> bool {
        self.found.as_ref().is_some_and(|found| !found.room.transport.is_far())
    }

    /// Why nobody enters the shop, if its guard is on this machine and does not answer.
    pub(crate) fn silent_guard(&self) -> Option<&str> {
        self.guard.as_ref().filter(|guard| guard.is_asked)?.silent.as_deref()
    }

    /// What to do about a shop that shows no page. Another web server than this nginx may ask the guard, so that is looked at first.
    pub(crate) fn after_guard(&self, advice: String) -> String {
        match self.guard.as_ref().and_then(|guard| guard.silent.as_ref()) {
            Some(why) => format!(
                "{why}: sudo journalctl --unit beekeeper-guard --lines 10; if that isn't it, {advice}"
            ),
            None => advice,
        }
    }

    /// The way to its process, if it runs on this machine.
    pub(crate) fn socket(&self) -> Option<&SocketRoom> {
        self.found.as_ref()?.socket.as_ref()
    }

    pub fn now(&self) -> Timestamp {
        SystemClock.now()
    }

    /// Whether only this machine can open the room's URL.
    pub(crate) fn has_no_public_url(&self) -> bool {
        self.is_here() && self.room.url.is_on_this_machine()
    }

    /// The page that this configuration describes.
    pub(crate) fn configured_page(&self) -> Page {
        let built_in = || Design::default().page(&self.room.settings.title);
        self.custom_page().cloned().unwrap_or_else(built_in)
    }

    pub fn custom_page(&self) -> Option<&Page> {
        self.custom_page.as_ref().ok().and_then(Option::as_ref)
    }

    /// A check that ended with this error.
    pub(crate) fn failed(&self, name: &'static str, error: &(dyn Error + 'static)) -> DoctorCheck {
        DoctorCheck::failed(name, error, (self.advise)(error).as_deref())
    }

    /// A URL below the room's own.
    pub(crate) fn url(&self, path: &str) -> String {
        format!("{}{path}", self.room.issuer())
    }

    /// Reads what is at this path of the room.
    pub(crate) async fn fetch(&self, path: &str) -> Result<FetchedPage, Unfetched> {
        let url: Url =
            self.url(path).parse().map_err(|error| Unfetched::of(format!("is no URL: {error}")))?;
        self.fetch_from(&self.address(url)).await
    }

    /// Reads what is at this address.
    pub(crate) async fn fetch_from(&self, address: &WebAddress) -> Result<FetchedPage, Unfetched> {
        match tokio::time::timeout(TIMEOUT, self.probe.fetch(address)).await {
            Ok(fetched) => fetched.map_err(|error| Unfetched {
                why: format!("does not answer: {}", innermost(&error)),
                is_untrusted: error.0.is::<UntrustedCertificate>(),
            }),
            Err(_) => Err(Unfetched::of(format!("does not answer within {} seconds", TIMEOUT.as_secs()))),
        }
    }

    pub(crate) fn address(&self, url: Url) -> WebAddress {
        WebAddress::through(self.found.as_ref().and_then(|found| found.endpoint.as_ref()), url)
    }

    /// Whether this URL is the room. A room with a domain of its own has two.
    pub(crate) fn is_room(&self, url: &Url) -> bool {
        let other = self.found.as_ref().and_then(|found| found.other_url.clone());
        let other = other.map(|other| Room { url: other, ..self.room.clone() });
        self.room.is_entered_by(url) || other.is_some_and(|other| other.is_entered_by(url))
    }

    /// Whether the room's URL is known. Without a domain of its own, it is the deployed room that says it.
    pub(crate) fn knows_url(&self) -> bool {
        self.found.is_some() || self.config.as_ref().is_some_and(|config| config.domain.is_some())
    }

    /// Whether this URL is not asked, because that might take a place: it is the room, or may be its door.
    pub(crate) fn is_avoided(&self, url: &Url) -> bool {
        self.is_room(url) || (!self.knows_url() && url.path().ends_with("/beekeeper"))
    }
}

/// A room that is configured, perhaps with a domain of its own, and not deployed.
#[cfg(test)]
pub(crate) fn configured(domain: Option<&str>) -> Examined {
    let mut config = RoomConfig::new(
        "sale".parse().unwrap(),
        "Sale".parse().unwrap(),
        "https://shop.example/sale".parse().unwrap(),
        waitroom::Rate::MIN,
    );
    config.domain = domain.map(|domain| domain.parse().unwrap());
    Examined {
        name: config.room.clone(),
        as_typed: config.room.to_string(),
        custom_page: Ok(None),
        refused_page: None,
        found: None,
        status: Ok(None),
        room: config.undeployed_room().unwrap(),
        has_demo_shop: false,
        guard: None,
        visitors: None,
        probe: HttpProbe::new().unwrap(),
        advise: |_| Some("ask for the permission".into()),
        config: Some(config),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_that_may_be_the_room_is_not_asked() {
        let avoided = |domain, url: &str| configured(domain).is_avoided(&url.parse().unwrap());
        let (own, stage) = (Some("wait.example"), "https://abc.execute-api.example/prod/beekeeper?x=1");
        assert!(avoided(None, stage), "nobody knows whose door it is");
        assert!(!avoided(None, "https://shop.example/sale"));
        assert!(!avoided(None, "https://shop.example/beekeepers"));
        assert!(avoided(own, "https://wait.example/beekeeper"));
        assert!(!avoided(own, "https://honey.example/beekeeper"), "a shop for beekeepers");
    }
}
