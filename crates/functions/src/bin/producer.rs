//! `GET /beekeeper`, behind API Gateway's proxy integration.

use std::error::Error;

use clock::SystemClock;
use functions::door::{asked, cookies, is_here, nowhere, respond};
use functions::{FunctionSetup, Metric, begin_request, warm_up};
use lambda_http::{Request, RequestExt, service_fn};
use producer::{DoorAnswer, Producer, SystemTokens};
use waitroom::Scheme;
use waitroom::ports::Clock;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), lambda_http::Error> {
    let FunctionSetup { store, metrics, .. } = FunctionSetup::start()?;
    let producer = Producer::new(store.clone(), SystemClock, SystemTokens, Scheme::Https);
    tokio::join!(warm_up(store.warm_up_with_line()), warm_up(producer.warm_up()));
    lambda_http::run(service_fn(async |request: Request| {
        begin_request(&request.lambda_context().request_id);
        if !is_here(&request) {
            return Ok(nowhere()?);
        }
        let cookies = cookies(&request);
        let answer = producer.answer(&asked(&request, &cookies)).await.unwrap_or_else(|trouble| {
            tracing::error!(error = &trouble as &dyn Error, "a visitor was asked to come again");
            DoorAnswer::busy()
        });
        if answer.set_cookie.is_some() {
            metrics.count(SystemClock.now(), &[(Metric::Joined, 1)]);
        }
        Ok::<_, lambda_http::Error>(respond(&answer))
    }))
    .await
}
