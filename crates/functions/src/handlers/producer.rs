//! `GET /beekeeper` and `POST /guard`, behind API Gateway's proxy integration.

use clock::SystemClock;
use functions::door::{
    authorization, cookies, door_request, is_door, is_report, join_cookies, not_found, told,
};
use functions::{FunctionSetup, Metric, request_span, variable, warm_up};
use lambda_http::tower::Service;
use lambda_http::{Adapter, Body, Request, RequestExt, service_fn};
use producer::{Producer, ProducerError, SystemTokens};
use tracing::Instrument;
use waitroom::Scheme;
use waitroom::ports::Clock;

pub(crate) async fn run() -> Result<(), lambda_http::Error> {
    let FunctionSetup { config, store, metrics, room } = FunctionSetup::start_with_trigger()?;
    // While an update runs, the program may be newer than its variables. Then visitors join, and get no passes.
    let store = match variable("KEY_SECRET") {
        Ok(secret) => store.with_key_secret(&config, secret),
        Err(_) => store,
    };
    let producer = Producer::new(store.clone(), SystemClock, SystemTokens, Scheme::Https);
    tokio::join!(warm_up(store.warm_up_with_line()), warm_up(producer.warm_up()));
    warm_up(store.remove_moved_keys()).await;
    let mut door = Adapter::from(service_fn(async |request: Request| {
        if !is_door(&request) {
            return Ok(not_found()?);
        }
        let span = request_span(&room, &request.lambda_context().request_id);
        if is_report(&request) {
            let taken = async {
                let refusal = producer.refuses_report(authorization(&request)).await?;
                match refusal {
                    Some(refusal) => Ok(refusal),
                    None => producer.keep_report(request.body()).await,
                }
            };
            return match taken.instrument(span).await {
                Ok(answer) => Ok(told(answer)?),
                Err(error) => {
                    let error: ProducerError = error;
                    Ok(producer.refuse_report(&error).into_response().map(Body::from))
                }
            };
        }
        let cookies = cookies(&request);
        let answer = producer.answer_or_busy(&door_request(&request, &cookies)).instrument(span).await;
        let counts = [
            (Metric::Joined, u64::from(answer.set_cookie.is_some())),
            (Metric::Entered, store.take_entries()),
        ];
        for count in counts.into_iter().filter(|(_, visitors)| *visitors > 0) {
            metrics.count(SystemClock.now(), &[count]);
        }
        Ok::<_, lambda_http::Error>(answer.into_response().map(Body::from))
    }));
    lambda_runtime::run(service_fn(|event| door.call(join_cookies(event)))).await
}
