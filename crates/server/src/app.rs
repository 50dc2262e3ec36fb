//! Executes the table of routes over the handlers.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use clock::SystemClock;
use control::Status;
use embedded::{EmbeddedStore, WriteTrouble};
use http_body_util::{BodyExt, Collected, Limited};
use hyper::body::Incoming;
use hyper::{HeaderMap, Request, StatusCode};
use page::Page;
use pass::GuardReport;
use producer::{DoorRequest, PlaceLimit, Producer, ProducerError, RefusalLog, SystemTokens};
use routes::{Handler, HttpResponse, Reads, Route, cookies, respond};
use tokio::time::timeout;
use tracing::{Instrument, Level, Span};
use waitroom::ports::{Clock, PortResult, RoomReader};
use waitroom::{Refusals, Scheme};

use crate::connections::{HttpService, request_id};
use crate::files::Files;
use crate::join_limit::{ClientLimit, JoinLimit};
use crate::metrics::{AnswerMetrics, increase};
use crate::preview::Preview;

/// Everything that visitors and the shop can request from a room.
#[derive(Debug)]
pub struct App {
    store: EmbeddedStore,
    producer: Producer<EmbeddedStore, SystemClock, SystemTokens>,
    reads: Reads<EmbeddedStore, SystemClock>,
    page: Files,
    preview: Option<Preview>,
    refusals: RefusalLog,
    limit: Option<JoinLimit>,
    limited: RefusalLog,
    metrics: Option<Arc<AnswerMetrics>>,
}

/// What the operator of this process decides about its [`App`].
#[derive(Debug)]
pub struct AppOptions {
    /// The time that the room's rate is meant for: a minute, or less in a demonstration.
    pub minute: Duration,
    /// Also serves `/preview/`, which is for the designer of the page and not for visitors.
    pub preview: Option<Preview>,
    /// Limits how many places one address takes.
    pub join_limit: Option<JoinLimit>,
    /// Also counts what is answered, and how long it takes.
    pub metrics: Option<Arc<AnswerMetrics>>,
}

impl App {
    pub fn new(store: EmbeddedStore, scheme: Scheme, page: &Page, options: AppOptions) -> Self {
        let AppOptions { minute, preview, join_limit, metrics } = options;
        let producer = Producer::new(store.clone(), SystemClock, SystemTokens, scheme).with_minute(minute);
        let reads = Reads::new(store.clone(), SystemClock);
        Self {
            store,
            producer,
            reads,
            page: Files::new(page),
            preview,
            refusals: RefusalLog::default(),
            limit: join_limit,
            limited: RefusalLog::default(),
            metrics,
        }
    }

    /// Creates the signing keys if there are none, so that they exist before the first visitor needs them.
    pub async fn warm_up(&self) -> Result<(), ProducerError> {
        self.producer.warm_up().await
    }

    pub fn store(&self) -> &EmbeddedStore {
        &self.store
    }

    /// What the operator sees of the room.
    pub async fn status(&self) -> PortResult<Status> {
        let now = SystemClock.now();
        Ok(Status {
            refusals: refusals(self.producer.recent_refusals(), self.store.write_trouble()),
            limited: refusals(self.limited.recent(now), None),
            ..Status::of(&self.store, now).await?
        })
    }

    fn route<'a>(&self, path: &'a str) -> Option<(&'static Route, &'a str)> {
        Route::find(path).filter(|(route, _)| route.handler != Handler::Preview || self.preview.is_some())
    }

    /// None if there is nothing at this path. `parameter` is the part of it that matches the route's parameter.
    async fn handle(
        &self,
        route: &Route,
        parameter: &str,
        request: &mut Request<Incoming>,
        sender: IpAddr,
    ) -> Result<Option<HttpResponse>, ProducerError> {
        match route.handler {
            Handler::Door => return Ok(Some(self.door(request, sender).await)),
            Handler::Guard => return Ok(Some(self.guard(request).await?)),
            Handler::Page => return Ok(self.page.answer(parameter, request)),
            Handler::Preview => return Ok(self.preview(parameter, request).await?),
            // The first visitor may come before the room's keys.
            Handler::PublicKeys => self.producer.warm_up().await?,
            Handler::Root | Handler::Poll | Handler::Status | Handler::ClientCheck | Handler::Discovery => {}
        }
        Ok(self.reads.answer(route.handler, request.headers()).await?)
    }

    async fn door(&self, request: &Request<Incoming>, sender: IpAddr) -> HttpResponse {
        let client = match &self.limit {
            Some(limit) if !self.is_rehearsed_by(sender, request.headers()).await => {
                Some(limit.client(sender, request.headers()))
            }
            _ => None,
        };
        let cookies: Vec<&str> = cookies(request.headers()).collect();
        let parameter = |name: &str| query_value(request.uri().query(), name);
        // Without a path: a proxy in front may have another.
        let visit = DoorRequest {
            limit: client.as_ref().map(|client| client as &dyn PlaceLimit),
            ..DoorRequest::of(request.method(), request.headers(), &cookies, parameter)
        };
        let answer = match self.producer.answer(&visit).await {
            Ok(answer) => answer,
            Err(error) => self.span_of_warning(request).await.in_scope(|| self.producer.refuse(&error)),
        };
        if answer.hands_out_place
            && let Some(metrics) = &self.metrics
        {
            increase(&metrics.joins);
        }
        if let Some(refusal) = client.as_ref().and_then(ClientLimit::refusal)
            && answer.status == StatusCode::TOO_MANY_REQUESTS
        {
            let log = || self.limited.log(SystemClock.now(), "/beekeeper", &refusal);
            self.span_of_warning(request).await.in_scope(log);
        }
        respond::by_door(answer)
    }

    /// A guard's report. Whoever sends it slower than this sends the next one soon.
    async fn guard(&self, request: &mut Request<Incoming>) -> Result<HttpResponse, ProducerError> {
        const PATIENCE: Duration = Duration::from_secs(5);
        let key = request.headers().get(GuardReport::KEY).and_then(|value| value.to_str().ok());
        let key = key.map(ToOwned::to_owned);
        let body = Limited::new(request.body_mut(), producer::LONGEST_REPORT).collect();
        let body = async {
            let body = timeout(PATIENCE, body).await.ok().and_then(Result::ok);
            body.map(Collected::to_bytes).unwrap_or_default()
        };
        let answer = self.producer.take_report(key.as_deref(), body).await?;
        Ok(respond::to_guard(answer))
    }

    /// Whether this request is of the operator's rehearsal: the room is marked, and the sender is this machine and passes
    /// nothing on. All visitors of a rehearsal come from one address, which no limit of an address would let through.
    async fn is_rehearsed_by(&self, sender: IpAddr, headers: &HeaderMap) -> bool {
        let is_here = sender.to_canonical().is_loopback();
        let is_passed_on = ["x-forwarded-for", "forwarded"].iter().any(|name| headers.contains_key(*name));
        is_here && !is_passed_on && self.store.room().await.is_ok_and(|room| room.rehearsal.is_some())
    }

    async fn preview(&self, path: &str, request: &Request<Incoming>) -> PortResult<Option<HttpResponse>> {
        let Some(preview) = &self.preview else { return Ok(None) };
        let room = self.store.room().await?;
        Ok(preview.answer(path, &room, SystemClock.now(), request).await)
    }

    async fn answer_route(
        &self,
        route: &Route,
        parameter: &str,
        request: &mut Request<Incoming>,
        sender: IpAddr,
    ) -> HttpResponse {
        let metrics = self.metrics.as_ref().map(|metrics| (metrics, Instant::now()));
        let response = match self.handle(route, parameter, request, sender).await {
            Ok(Some(response)) => respond::with_headers_of(route, response),
            Ok(None) => respond::not_found(request.uri().path(), request.headers()),
            Err(error) => {
                self.refusals.log(SystemClock.now(), request.uri().path(), &error);
                self.reads.unavailable().await
            }
        };
        if let Some((metrics, begun)) = metrics {
            metrics.count(route.handler, response.status(), begun.elapsed());
        }
        response
    }

    async fn span_of(&self, request: &Request<Incoming>) -> Span {
        let Ok(room) = self.store.room().await else { return Span::none() };
        let (name, method, path) = (&room.settings.room, request.method(), request.uri().path());
        // It has the highest level, so that no log filter removes it from the warnings.
        tracing::error_span!("request", room = %name, epoch = %room.epoch, id = request_id(), %method, path)
    }

    /// What the door warns of says in which request. None if all requests have their spans.
    async fn span_of_warning(&self, request: &Request<Incoming>) -> Span {
        if tracing::enabled!(Level::INFO) { Span::none() } else { self.span_of(request).await }
    }
}

impl HttpService for App {
    /// None yet: it names the room, and most requests need none.
    fn span(&self, _: &Request<Incoming>) -> Span {
        Span::none()
    }

    async fn answer(&self, request: &mut Request<Incoming>, sender: IpAddr) -> HttpResponse {
        let Some((route, parameter)) = self.route(request.uri().path()) else {
            return respond::not_found(request.uri().path(), request.headers());
        };
        if !route.allows(request.method().as_str()) {
            return respond::method_not_allowed(route);
        }
        // Most routes have no parameter.
        let parameter = parameter.to_owned();
        // To create a span takes a good part of the time of a poll.
        let span = if tracing::enabled!(Level::INFO) { self.span_of(request).await } else { Span::none() };
        self.answer_route(route, &parameter, request, sender).instrument(span).await
    }
}

/// Before anybody comes, the room's own writes show whether anybody could join.
fn refusals(recent: Option<Refusals>, trouble: Option<WriteTrouble>) -> Option<Refusals> {
    recent.or_else(|| trouble.map(|WriteTrouble { since, reason }| Refusals { requests: 0, since, reason }))
}

/// The value of a parameter as it is written in the URL.
pub(crate) fn query_value<'a>(query: Option<&'a str>, name: &str) -> Option<&'a str> {
    let mut pairs = query?.split('&').filter_map(|pair| pair.split_once('='));
    pairs.find_map(|(found, value)| (found == name).then_some(value))
}

#[cfg(test)]
mod tests {
    use waitroom::Timestamp;

    use super::*;

    #[test]
    fn a_store_that_cannot_write_is_told_even_if_nobody_was_refused() {
        let (since, earlier) = (Timestamp::from_millis(2000), Timestamp::from_millis(1000));
        let full = || Some(WriteTrouble { since: earlier, reason: "the disk is full".into() });
        let told = |requests, since, reason: &str| Some(Refusals { requests, since, reason: reason.into() });
        let recent = told(7, since, "could not join: the disk is full");
        assert_eq!(refusals(None, None), None);
        assert_eq!(refusals(None, full()), told(0, earlier, "the disk is full"));
        assert_eq!(refusals(recent.clone(), full()), recent);
    }
}
