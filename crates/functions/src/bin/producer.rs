//! `GET /beekeeper`, behind API Gateway's proxy integration.

use std::error::Error;

use clock::SystemClock;
use functions::door::{asked, cookies, is_here, nowhere, respond};
use functions::{Function, Metric, begin_request, warn_of_a_cold_start};
use lambda_http::{Request, RequestExt, service_fn};
use producer::{Answer, Producer, SystemTokens};
use waitroom::Scheme;
use waitroom::ports::Clock;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), lambda_http::Error> {
    let Function { store, metrics, .. } = Function::start()?;
    let producer = Producer::new(store.clone(), SystemClock, SystemTokens, Scheme::Https);
    let (connected, keys) = tokio::join!(store.warm_up_with_line(), producer.warm_up());
    warn_of_a_cold_start(connected);
    if let Err(trouble) = keys {
        tracing::warn!(error = &trouble as &dyn Error, "there are no signing keys yet");
    }
    lambda_http::run(service_fn(async |request: Request| {
        begin_request(&request.lambda_context().request_id);
        if !is_here(&request) {
            return Ok(nowhere()?);
        }
        let cookies = cookies(&request);
        let answer = producer.answer(&asked(&request, &cookies)).await.unwrap_or_else(|trouble| {
            tracing::error!(error = &trouble as &dyn Error, "a visitor was asked to come again");
            Answer::busy()
        });
        if answer.set_cookie.is_some() {
            metrics.count(SystemClock.now(), &[(Metric::Joined, 1)]);
        }
        Ok::<_, lambda_http::Error>(respond(&answer))
    }))
    .await
}
