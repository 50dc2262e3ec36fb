use std::borrow::Cow;
use std::time::Duration;

use http::header::{CACHE_CONTROL, CONTENT_TYPE, HeaderValue, LOCATION, RETRY_AFTER, SET_COOKIE};
use http::{Response, StatusCode};
use waitroom::{HelpCode, Place, Room, RoomId, Scheme};

use crate::documents;

/// The answer of `/beekeeper`. Never cached: each answer is for one visitor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DoorAnswer {
    pub status: u16,
    /// Relative to the room's URL, so that an API Gateway stage, a custom domain and localhost all work.
    pub location: Option<String>,
    /// The value of the `Set-Cookie` header.
    pub set_cookie: Option<String>,
    /// The value of a second `Set-Cookie` header, with the proof of the place.
    pub set_proof: Option<String>,
    /// Whether it hands out a place. Another answer may set the cookie too: to take the place away.
    pub hands_out_place: bool,
    /// Seconds.
    pub retry_after: Option<u32>,
    pub body: Cow<'static, str>,
}

impl DoorAnswer {
    const PAGE: &str = "wait/index.html";
    const HTML: &str = "text/html; charset=utf-8";

    /// Redirects to the waiting page. The page reads its place from the URL's fragment, which browsers never send.
    pub(crate) fn wait(place: &Place) -> Self {
        Self::found(Self::page_of(place))
    }

    fn page_of(place: &Place) -> String {
        [Self::PAGE, "#", place.epoch.as_str(), "-", &place.ticket.get().to_string()].concat()
    }

    /// Says that nobody new can join, or that nobody is let in any more. Gives no place.
    pub(crate) fn too_late(room: &Room, place: Option<&Place>) -> Self {
        let page = place.map_or_else(|| Self::PAGE.to_owned(), Self::page_of);
        Self::page(documents::too_late(room, &page))
    }

    /// Shows the code by which the operator finds this visitor.
    pub(crate) fn help(room: &Room, code: HelpCode) -> Self {
        Self::page(documents::help(room, code))
    }

    /// Says to somebody in line that the line is longer than what is left.
    pub(crate) fn scarce(room: &Room, left: u32, ahead: u64) -> Self {
        Self::page(documents::scarce(room, left, ahead))
    }

    /// Redirects to the waiting page, without a place.
    pub(crate) fn look() -> Self {
        Self::found(Self::PAGE.into())
    }

    /// A page with a link that opens the room in the whole window.
    pub(crate) fn in_frame() -> Self {
        Self::page(include_str!("frame.html"))
    }

    /// Says that the room cannot answer now, with a page that retries by itself, after a random pause. The cause is in the
    /// log, not on the page.
    pub fn busy() -> Self {
        Self { status: 503, retry_after: Some(30), ..Self::page(include_str!("busy.html")) }
    }

    /// The same page, because this client took as many places as it may, or a visitor as many passes. Most of those who read it share an
    /// address with many others, and took no place themselves.
    pub(crate) fn too_many(wait: Duration) -> Self {
        // Rounded up, so that a client that waits so long is not refused again.
        let seconds = u32::try_from(wait.as_secs()).unwrap_or(u32::MAX).saturating_add(1);
        Self { status: 429, retry_after: Some(seconds), ..Self::busy() }
    }

    /// The answer as a response, the same on one machine and on AWS. If a header has a character that HTTP does not allow,
    /// because the shop's URL has one, it is "busy" instead.
    pub fn into_response(self) -> Response<Cow<'static, str>> {
        self.try_into_response().or_else(|_| Self::busy().try_into_response()).unwrap_or_default()
    }

    fn try_into_response(self) -> Result<Response<Cow<'static, str>>, http::Error> {
        let mut response = Response::new(self.body);
        *response.status_mut() = StatusCode::from_u16(self.status)?;
        let headers = response.headers_mut();
        headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
        headers.insert(CONTENT_TYPE, HeaderValue::from_static(Self::HTML));
        if let Some(location) = self.location {
            headers.insert(LOCATION, location.try_into()?);
        }
        for cookie in [self.set_cookie, self.set_proof].into_iter().flatten() {
            headers.append(SET_COOKIE, cookie.try_into()?);
        }
        if let Some(seconds) = self.retry_after {
            headers.insert(RETRY_AFTER, seconds.into());
        }
        Ok(response)
    }

    pub(crate) fn found(location: String) -> Self {
        Self { status: 302, location: Some(location), ..Self::page("") }
    }

    fn page(body: impl Into<Cow<'static, str>>) -> Self {
        let body = body.into();
        Self {
            status: 200,
            location: None,
            set_cookie: None,
            set_proof: None,
            hands_out_place: false,
            retry_after: None,
            body,
        }
    }

    /// Takes the place away that the browser shows. Polls know only the place, and would go on to say that it lets in.
    pub(crate) fn taking_away(mut self, room: &RoomId, scheme: Scheme) -> Self {
        self.set_cookie = Some(Place::forget(room, scheme));
        self
    }

    pub(crate) fn handing_out(
        mut self,
        place: &Place,
        proof: Option<String>,
        room: &RoomId,
        scheme: Scheme,
        path: Option<&str>,
    ) -> Self {
        self.hands_out_place = true;
        self.set_cookie = Some(place.set(room, scheme));
        self.set_proof = proof.map(|proof| Place::set_proof(room, &proof, scheme, path));
        self
    }
}
