//! The room that is rehearsed, and where its visitors ask for it.

use anyhow::Result;
use probe::WebAddress;
use rooms::data;
use url::Url;

use crate::arguments::{KNOWS_AWS, LOCAL, Rehearse, RehearsedRoom, Which};
use crate::exit::{Exit, Failure};
use crate::room::RoomHandle;

/// Where the visitors go.
#[derive(Debug)]
pub(crate) struct RehearsalTarget {
    pub(crate) found: RoomHandle,
    pub(crate) url: Url,
    /// The host to ask for, if it is not the one in the URL.
    pub(crate) host: Option<String>,
}

impl RehearsalTarget {
    /// Finds the room. It has to be one of this operator.
    pub(crate) async fn find(rehearse: &Rehearse) -> Result<Self> {
        let name = match &rehearse.room {
            Some(RehearsedRoom::Url(url)) => {
                if rehearse.here.is_given() {
                    let flags = if KNOWS_AWS { "--local and --data belong" } else { "--data belongs" };
                    let both = format!("{url} is a URL: {flags} to a room that is named");
                    return Err(Failure::new(Exit::Usage, both).into());
                }
                let room = room_at(url).await?;
                return Ok(Self::at(room, base(url)));
            }
            Some(RehearsedRoom::Name(name)) => Some(name.clone()),
            None => None,
        };
        let room = RoomHandle::find(&Which { name, here: rehearse.here.clone() }).await?;
        // The room's URL may be that of a web server in front of it. The room itself is what is rehearsed.
        let url = match url_here(&room).await {
            Some(url) => url,
            None => room.room.status().await?.room.url.as_url().clone(),
        };
        Ok(Self::at(room, base(&url)))
    }

    /// Where visitors ask for this URL of the room. An emulator of AWS answers at another one.
    fn at(found: RoomHandle, url: Url) -> Self {
        let WebAddress { url, host } = found.address(url);
        Self { found, url, host }
    }
}

/// Where a room on this machine listens.
async fn url_here(room: &RoomHandle) -> Option<Url> {
    Url::parse(&format!("http://{}/", room.listens().await?)).ok()
}

/// The room of this operator that has this URL.
async fn room_at(url: &Url) -> Result<RoomHandle> {
    for name in data::running() {
        let room = RoomHandle::here(name)?;
        if let Ok(status) = room.room.status().await {
            let is_here = url_here(&room).await.is_some_and(|here| is_same(url, &here));
            if is_here || is_same(url, status.room.url.as_url()) {
                return Ok(room);
            }
        }
    }
    let unknown = format!("{url} is not the URL of a room of yours, so nothing was sent there");
    let unknown = match crate::aws::room_at(|public| is_same(url, public)).await? {
        (Some(found), _) => return Ok(found),
        (None, unasked) if unasked.is_empty() => unknown,
        (None, unasked) => format!("{unknown}; could not ask {}", unasked.join("; ")),
    };
    let advice = format!(
        "name the room instead, or start it; `beekeeper list` shows your rooms. A room with a directory of its own: \
         beekeeper rehearse {LOCAL}--data DIR"
    );
    Err(Failure::new(Exit::Missing, unknown).advising(advice).into())
}

/// Whether both are the URL of the same room.
fn is_same(one: &Url, other: &Url) -> bool {
    let named = |url: &Url| {
        let host = url.host_str().unwrap_or_default().replace("localhost", "127.0.0.1");
        (url.scheme().to_owned(), host, url.port_or_known_default(), base(url).path().to_owned())
    };
    named(one) == named(other)
}

/// The URL below which the routes are, also from the URL that visitors get.
fn base(url: &Url) -> Url {
    let mut base = url.clone();
    base.set_query(None);
    base.set_fragment(None);
    let path = url.path().trim_end_matches('/');
    base.set_path(&format!("{}/", path.strip_suffix("/beekeeper").unwrap_or(path)));
    base
}

#[cfg(test)]
mod tests {
    use super::*;

    fn url(text: &str) -> Url {
        text.parse().unwrap()
    }

    #[test]
    fn a_room_is_found_by_each_of_its_urls() {
        let room = url("http://localhost:8080");
        for same in [
            "http://localhost:8080/",
            "http://127.0.0.1:8080/beekeeper",
            "http://localhost:8080/beekeeper?nonce=x",
        ] {
            assert!(is_same(&url(same), &room), "{same}");
        }
        let deployed = url("https://abc.example/prod");
        assert!(is_same(&url("https://abc.example/prod/beekeeper"), &deployed));
        for other in [
            "https://abc.example/",
            "http://abc.example/prod",
            "https://abd.example/prod",
            "https://abc.example:444/prod",
        ] {
            assert!(!is_same(&url(other), &deployed), "{other}");
        }
    }
}
