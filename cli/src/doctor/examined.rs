use std::time::Duration;

use anyhow::{Context, Result};
use clock::SystemClock;
use config::RoomConfig;
use control::Status;
use page::{Design, Page};
use probe::{FetchedPage, HttpProbe, WebAddress};
use url::Url;
use waitroom::ports::Clock;
use waitroom::{Room, RoomId, Timestamp};

use crate::reach::innermost;
use crate::room::RoomHandle;

/// How long a page may take.
const TIMEOUT: Duration = Duration::from_secs(5);

/// The room that is examined, as far as there is one already.
pub(crate) struct Examined {
    pub(crate) name: RoomId,
    /// How a command names it.
    pub(crate) as_typed: String,
    pub(crate) config: Option<RoomConfig>,
    /// The operator's own page or design, or why it cannot be read. `None` for the built-in page.
    pub(crate) custom_page: Result<Option<Page>>,
    /// Why a deployment would refuse that page.
    pub(crate) refused_page: Option<anyhow::Error>,
    /// `None` before the first deployment, and if AWS did not say whether there is one.
    pub(crate) handle: Option<RoomHandle>,
    /// What the room says of itself. `None` before the first deployment. An error says why it did not answer.
    pub(crate) status: Result<Option<Status>>,
    /// The room that runs or, if it did not answer, the one that would be deployed.
    pub(crate) room: Room,
    pub(crate) visitors: Option<u64>,
    pub(crate) probe: HttpProbe,
}

impl Examined {
    /// The room as its configuration file describes it, before anybody is asked.
    pub(crate) fn undeployed(config: &RoomConfig, visitors: Option<u64>) -> Result<Self> {
        Ok(Self {
            name: config.room.clone(),
            as_typed: config.room.to_string(),
            custom_page: crate::custom_page::custom_page(config),
            refused_page: None,
            config: Some(config.clone()),
            handle: None,
            status: Ok(None),
            room: config.undeployed_room().context("the room's domain cannot be part of a URL")?,
            visitors,
            probe: HttpProbe::new().context("could not read the CA certificates of this machine")?,
        })
    }

    pub(crate) fn status(&self) -> Option<&Status> {
        self.status.as_ref().ok().and_then(Option::as_ref)
    }

    pub(crate) fn handle(&self) -> Option<&RoomHandle> {
        self.handle.as_ref()
    }

    /// Whether the room is on this machine, and not on AWS.
    pub(crate) fn is_here(&self) -> bool {
        self.handle().is_some_and(|handle| !handle.room.transport.is_far())
    }

    #[expect(clippy::unused_self, reason = "a check reads the time where it reads everything else")]
    pub(crate) fn now(&self) -> Timestamp {
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

    pub(crate) fn custom_page(&self) -> Option<&Page> {
        self.custom_page.as_ref().ok().and_then(Option::as_ref)
    }

    /// A URL below the room's own.
    pub(crate) fn url(&self, path: &str) -> String {
        format!("{}{path}", self.room.issuer())
    }

    /// Reads what is at this path of the room. An error says why not.
    pub(crate) async fn fetch(&self, path: &str) -> Result<FetchedPage, String> {
        let url: Url = self.url(path).parse().map_err(|error| format!("is no URL: {error}"))?;
        self.fetch_from(&self.address(url)).await
    }

    /// Reads what is at this address. An error says why not.
    pub(crate) async fn fetch_from(&self, address: &WebAddress) -> Result<FetchedPage, String> {
        match tokio::time::timeout(TIMEOUT, self.probe.fetch(address)).await {
            Ok(fetched) => fetched.map_err(|error| format!("does not answer: {}", innermost(&error))),
            Err(_) => Err(format!("does not answer within {} seconds", TIMEOUT.as_secs())),
        }
    }

    pub(crate) fn address(&self, url: Url) -> WebAddress {
        match self.handle() {
            Some(handle) => handle.address(url),
            None => WebAddress::of(url),
        }
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
    Examined::undeployed(&config, None).unwrap()
}
