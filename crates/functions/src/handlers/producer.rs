//! A room over HTTP: `GET /beekeeper` and `POST /guard` behind API Gateway, and every route behind an edge.

use std::future::ready;
use std::pin::pin;
use std::time::Duration;

use aws::{AwsStore, PageBucket, StoredFile};
use clock::SystemClock;
use functions::door::{door_request, mended, route_path};
use functions::{FunctionSetup, Metric, Metrics, request_span, variable, warm_up};
use http_body_util::Full;
use lambda_http::http::header::{CONTENT_SECURITY_POLICY, CONTENT_TYPE, HeaderValue, REFRESH};
use lambda_http::http::{Method, Response};
use lambda_http::tower::Service;
use lambda_http::{Adapter, Request, RequestExt, service_fn};
use page::is_file_name;
use pass::GuardReport;
use producer::{Producer, ProducerError, RefusalLog, SystemTokens};
use routes::{Handler, HttpResponse, Reads, Route, cookies, respond};
use tracing::Instrument;
use waitroom::Scheme;
use waitroom::ports::{Clock, PortResult, within};

/// What isn't answered by then is unavailable, as API Gateway has it. A function that hangs longer is one that others lack.
const LONGEST_WAIT: Duration = Duration::from_secs(5);
const LONGEST_LAST_READ: Duration = Duration::from_secs(1);

const IN_A_DAY: HeaderValue = HeaderValue::from_static("86400");

pub(crate) async fn run() -> Result<(), lambda_http::Error> {
    let FunctionSetup { config, store, metrics, room } = FunctionSetup::start_with_trigger()?;
    // While an update runs, the program may be newer than its variables. Then visitors join, and get no passes.
    let store = match variable("KEY_SECRET") {
        Ok(secret) => store.with_key_secret(&config, secret),
        Err(_) => store,
    };
    let producer = Producer::new(store.clone(), SystemClock, SystemTokens, Scheme::Https);
    let (_, has_keys) = tokio::join!(warm_up(store.warm_up_with_line()), warm_up(producer.warm_up()));
    // Only then: after an update that was rolled back, the producer has to copy them into the new secret first.
    if has_keys {
        warm_up(store.remove_moved_keys()).await;
    }
    let door = Door {
        reads: Reads::new(store.clone(), SystemClock),
        // Only an edge asks here for the page.
        page: variable("PAGE_BUCKET").ok().map(|bucket| PageBucket::new(&config, bucket)),
        refusals: RefusalLog::default(),
        producer,
        store,
        metrics,
    };
    let mut answers = Adapter::from(service_fn(async |request: Request| {
        let span = request_span(&room, &request.lambda_context().request_id);
        Ok::<_, lambda_http::Error>(door.answer(&request).instrument(span).await)
    }));
    lambda_runtime::run(service_fn(|event| answers.call(mended(event)))).await
}

struct Door {
    producer: Producer<AwsStore, SystemClock, SystemTokens>,
    reads: Reads<AwsStore, SystemClock>,
    page: Option<PageBucket>,
    refusals: RefusalLog,
    store: AwsStore,
    metrics: Metrics,
}

impl Door {
    /// Without a body to HEAD, as a web server sends it.
    async fn answer(&self, request: &Request) -> HttpResponse {
        let mut answer = self.route(request).await;
        // An edge adds this header, for whom Lambda refuses a function. Whoever reads an answer of ours may read on.
        if self.is_behind_edge() && !answer.status().is_redirection() {
            answer.headers_mut().insert(REFRESH, IN_A_DAY);
        }
        if request.method() == Method::HEAD { answer.map(|_| Full::default()) } else { answer }
    }

    async fn route(&self, request: &Request) -> HttpResponse {
        let path = route_path(request);
        let not_found = || respond::not_found(path, request.headers());
        let Some((route, parameter)) = Route::find(path) else { return not_found() };
        if !route.allows(request.method().as_str()) {
            return respond::method_not_allowed(route);
        }
        if route.handler == Handler::Door {
            return self.visit(request).await;
        }
        let mut other = Box::pin(self.other(route.handler, parameter, request));
        match within(&SystemClock, LONGEST_WAIT, other.as_mut()).await {
            Some(Ok(Some(answer))) => respond::with_headers_of(route, answer),
            Some(Ok(None)) => not_found(),
            Some(Err(error)) => self.unavailable(path, &error).await,
            None => self.unavailable(path, &ProducerError::Late(LONGEST_WAIT)).await,
        }
    }

    /// What is asked beside the door.
    async fn other(
        &self,
        handler: Handler,
        parameter: &str,
        request: &Request,
    ) -> Result<Option<HttpResponse>, ProducerError> {
        match handler {
            Handler::Guard => self.guard(request).await,
            Handler::Page => Ok(self.file(parameter).await?),
            Handler::Root
            | Handler::Poll
            | Handler::Status
            | Handler::ClientCheck
            | Handler::PublicKeys
            | Handler::Discovery => Ok(self.reads.answer(handler, request.headers()).await?),
            Handler::Door | Handler::Preview => Ok(None),
        }
    }

    /// The shop's pages may read it, if the room can be read to name the shop.
    async fn unavailable(&self, path: &str, error: &ProducerError) -> HttpResponse {
        self.refusals.log(SystemClock.now(), path, error);
        let answer = within(&SystemClock, LONGEST_LAST_READ, pin!(self.reads.unavailable())).await;
        answer.unwrap_or_else(respond::unavailable)
    }

    async fn visit(&self, request: &Request) -> HttpResponse {
        let cookies: Vec<_> = cookies(request.headers()).collect();
        let answer = self.producer.answer(&door_request(request, &cookies)).await;
        let answer = answer.unwrap_or_else(|error| self.producer.refuse(&error));
        let counts = [
            (Metric::Joined, u64::from(answer.hands_out_place)),
            (Metric::Entered, self.store.take_entries()),
        ];
        for count in counts.into_iter().filter(|(_, visitors)| *visitors > 0) {
            self.metrics.count(SystemClock.now(), &[count]);
        }
        respond::by_door(answer)
    }

    async fn guard(&self, request: &Request) -> Result<Option<HttpResponse>, ProducerError> {
        let key = request.headers().get(GuardReport::KEY).and_then(|value| value.to_str().ok());
        let answer = self.producer.take_report(key, ready(request.body())).await?;
        Ok(Some(respond::to_guard(answer)))
    }

    fn is_behind_edge(&self) -> bool {
        self.page.is_some()
    }

    async fn file(&self, name: &str) -> PortResult<Option<HttpResponse>> {
        // S3 would call another name a mistake of ours.
        let Some(page) = self.page.as_ref().filter(|_| is_file_name(name)) else { return Ok(None) };
        Ok(page.get(name).await?.map(|StoredFile { content_type, policy, body }| {
            let headers = Response::builder().header(CONTENT_TYPE, content_type);
            respond::finish(headers.header(CONTENT_SECURITY_POLICY, policy), body)
        }))
    }
}
