//! The guard in front of a tower service.

use std::fmt;
use std::future::Future;
use std::net::IpAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use http::header::{CACHE_CONTROL, CONTENT_TYPE, HeaderValue, LOCATION, RETRY_AFTER, SET_COOKIE};
use http::{Request, Response, StatusCode};
use tower_layer::Layer;
use tower_service::Service;

use crate::{
    Decision, END, Guard, GuardAnswer, GuardOutcome, GuardedRequest, LiveSessions, Moment, NUMBER_HEADER,
    RoomClient, SESSION_HEADER, SUBJECT_HEADER, ToShop, strip_identity,
};

/// How long a visitor waits for the shop's answer until it is written down that their session ends.
const LONGEST_END: Duration = Duration::from_secs(1);

/// Puts a guard in front of a service: only requests with a session reach it, with the visitor's number and subject in
/// headers. If the service answers with [`SESSION_HEADER`], the visitor's session ends.
///
/// ```no_run
/// use std::sync::Arc;
///
/// use guard::{Guard, GuardLayer, GuardRules, HttpRoom, MemorySessions, RoomKeys, SessionKey};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let rules = GuardRules::new("https://wait.example", "spring-sale");
/// let keys = RoomKeys::of_room(&rules, HttpRoom::new(&rules)?);
/// let key = SessionKey::new(&std::fs::read_to_string("/etc/shop/guard.key")?)?;
/// let guard = Guard::new(rules, key, MemorySessions::default(), keys);
/// let layer = GuardLayer::new(Arc::new(guard));
/// // axum: Router::new().route("/sale", get(sale)).layer(layer)
/// # Ok(()) }
/// ```
pub struct GuardLayer<L, C> {
    guard: Arc<Guard<L, C>>,
    client: ClientAddress,
    uri: WholeUri,
}

/// The address of the visitor, from what the server knows of the request.
type ClientAddress = fn(&http::Extensions) -> Option<IpAddr>;

/// The URI that the visitor asked for, from what the server knows of the request.
type WholeUri = fn(&http::Extensions) -> Option<&http::Uri>;

/// A service behind a guard.
pub struct GuardService<S, L, C> {
    inner: S,
    layer: GuardLayer<L, C>,
}

impl<L, C> GuardLayer<L, C> {
    pub fn new(guard: Arc<Guard<L, C>>) -> Self {
        Self { guard, client: |_| None, uri: |_| None }
    }

    /// How to find the visitor's address, which [networks that bypass](crate::Bypass::networks) need. With axum:
    /// `|known| Some(known.get::<ConnectInfo<SocketAddr>>()?.ip())`. Behind a proxy that is the proxy's address.
    #[must_use]
    pub fn with_client_address(self, client: ClientAddress) -> Self {
        Self { client, ..self }
    }

    /// How to find the whole URI in a service that is nested below a path, whose own requests have only the rest of it. With axum:
    /// `|known| Some(&known.get::<OriginalUri>()?.0)`. Without it, visitors come back from the room to a page that isn't there.
    #[must_use]
    pub fn with_uri(self, uri: WholeUri) -> Self {
        Self { uri, ..self }
    }
}

impl<S, L, C> Layer<S> for GuardLayer<L, C> {
    type Service = GuardService<S, L, C>;

    fn layer(&self, inner: S) -> Self::Service {
        GuardService { inner, layer: self.clone() }
    }
}

/// What a guarded service returns.
pub type GuardedFuture<T, E> = Pin<Box<dyn Future<Output = Result<T, E>> + Send>>;

impl<S, L, C, B, R> Service<Request<B>> for GuardService<S, L, C>
where
    S: Service<Request<B>, Response = Response<R>> + Clone + Send + 'static,
    S::Future: Send,
    L: LiveSessions + 'static,
    C: RoomClient + 'static,
    B: Send + 'static,
    R: From<&'static str> + Send,
{
    type Response = Response<R>;
    type Error = S::Error;
    type Future = GuardedFuture<Response<R>, S::Error>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.inner.poll_ready(context)
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        // The service that is ready, and a clone for the next request.
        let clone = self.inner.clone();
        let mut inner = std::mem::replace(&mut self.inner, clone);
        let GuardLayer { guard, client, uri } = self.layer.clone();
        Box::pin(async move {
            let (mut head, body) = request.into_parts();
            strip_identity(&mut head.headers);
            let uri = uri(&head.extensions).unwrap_or(&head.uri);
            let asked = GuardedRequest {
                method: &head.method,
                target: uri.path_and_query().map_or("/", http::uri::PathAndQuery::as_str),
                headers: &head.headers,
                client: client(&head.extensions),
            };
            let decision = match Moment::now() {
                Ok(moment) => guard.decide(&asked, moment).await,
                Err(error) => {
                    tracing::error!(error = &error as &dyn std::error::Error, "refused a request");
                    Decision::Answer(GuardAnswer::page(GuardOutcome::Unavailable))
                }
            };
            let to_shop = match decision {
                Decision::Enter(to_shop) => to_shop,
                Decision::Answer(answer) => return Ok(response(&answer)),
            };
            to_shop.add_to(&mut head.headers);
            let mut answer = inner.call(Request::from_parts(head, body)).await?;
            if let Some(word) = answer.headers_mut().remove(SESSION_HEADER)
                && word.as_bytes().eq_ignore_ascii_case(END.as_bytes())
                && let Ok(moment) = Moment::now()
            {
                // A task of its own, which goes on if the store takes longer than the visitor waits.
                let end = tokio::spawn(async move { guard.end(&to_shop, moment.now).await });
                let _ = tokio::time::timeout(LONGEST_END, end).await;
            }
            Ok(answer)
        })
    }
}

impl ToShop {
    /// Tells the shop who the visitor is. What was in these headers before must have been [removed](strip_identity).
    pub(crate) fn add_to(&self, headers: &mut http::HeaderMap) {
        // A subject is letters and digits, so it is always a valid value.
        if let Some(subject) = self.subject.as_ref().and_then(|subject| HeaderValue::try_from(subject).ok()) {
            headers.insert(SUBJECT_HEADER, subject);
        }
        if let Some(number) = self.number {
            headers.insert(NUMBER_HEADER, number.into());
        }
    }
}

/// The answer as a response.
fn response<R: From<&'static str>>(answer: &GuardAnswer) -> Response<R> {
    let mut response = Response::new(R::from(answer.body));
    *response.status_mut() = StatusCode::from_u16(answer.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let headers = response.headers_mut();
    for (name, value) in answer.headers() {
        // All values are visible ASCII: the room's URL, a checked path, our own cookie.
        if let Ok(value) = HeaderValue::try_from(value.as_ref()) {
            headers.insert(name, value);
        }
    }
    response
}

impl GuardAnswer {
    /// The headers of the answer.
    pub fn headers(&self) -> impl Iterator<Item = (http::HeaderName, std::borrow::Cow<'_, str>)> {
        let always = [(CACHE_CONTROL, "no-store".into()), (CONTENT_TYPE, Self::CONTENT_TYPE.into())];
        let location = self.location.as_deref().map(|location| (LOCATION, location.into()));
        let cookie = self.set_cookie.as_deref().map(|cookie| (SET_COOKIE, cookie.into()));
        let retry = self.retry_after().map(|seconds| (RETRY_AFTER, seconds.to_string().into()));
        always.into_iter().chain(location).chain(cookie).chain(retry)
    }
}

impl<L, C> Clone for GuardLayer<L, C> {
    fn clone(&self) -> Self {
        Self { guard: self.guard.clone(), ..*self }
    }
}

impl<S: Clone, L, C> Clone for GuardService<S, L, C> {
    fn clone(&self) -> Self {
        Self { inner: self.inner.clone(), layer: self.layer.clone() }
    }
}

impl<L, C> fmt::Debug for GuardLayer<L, C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("GuardLayer").finish_non_exhaustive()
    }
}

impl<S: fmt::Debug, L, C> fmt::Debug for GuardService<S, L, C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("GuardService").field("inner", &self.inner).finish_non_exhaustive()
    }
}
