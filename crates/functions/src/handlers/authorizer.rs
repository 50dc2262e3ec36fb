//! A Lambda authorizer: API Gateway asks it whether a request may reach the shop's API.

use std::error::Error;
use std::time::Duration;

use clock::SystemClock;
use functions::authorizer::AuthorizerEvent;
use functions::{request_span, start_log, variable};
use guard::{Authorizer, GuardRules, HttpRoom, NotAuthorized, RoomKeys, SessionKey};
use lambda_runtime::{Error as LambdaError, LambdaEvent, service_fn};
use serde_json::Value;
use tracing::Instrument;
use waitroom::ports::Clock;

/// API Gateway answers with status 401 when a function fails with exactly this text.
const UNAUTHORIZED: &str = "Unauthorized";

pub(crate) async fn run() -> Result<(), LambdaError> {
    start_log();
    let mut rules = GuardRules::new(&variable("ROOM_URL")?, &variable("ROOM_NAME")?);
    // While an update runs, the program may be newer than its variables.
    if let Ok(minutes) = variable("SESSION_MINUTES") {
        rules.times.session = session_length(&minutes)?;
    }
    let key = match variable("SESSION_KEY_SECRET") {
        Ok(arn) => Some(SessionKey::new(&aws::secret_text(&aws::functions_config()?, &arn).await?)?),
        Err(_) => None,
    };
    let keys = RoomKeys::of_room(&rules, HttpRoom::new(&rules)?);
    let room = rules.name.clone();
    let authorizer = Authorizer::new(rules, key, keys);
    authorizer.warm_up(SystemClock.now().as_secs()).await;
    lambda_runtime::run(service_fn(async |event: LambdaEvent<AuthorizerEvent>| {
        let span = request_span(&room, &event.context.request_id);
        answer(&authorizer, &event.payload).instrument(span).await
    }))
    .await
}

/// As long as a guard takes for `--session`.
fn session_length(minutes: &str) -> Result<Duration, String> {
    match minutes.parse::<u64>() {
        Ok(length @ 1..=1440) => Ok(Duration::from_mins(length)),
        _ => Err(format!(
            "SESSION_MINUTES is {minutes:?}: set it to as many minutes as the guard's --session, from 1 to 1440"
        )),
    }
}

async fn answer(authorizer: &Authorizer<HttpRoom>, asked: &AuthorizerEvent) -> Result<Value, LambdaError> {
    let now = SystemClock.now().as_secs();
    let headers = asked.headers();
    let visitor = authorizer.visitor(&headers, asked.pass(&headers), now).await;
    visitor.map(|visitor| asked.allowed(&visitor)).map_err(|why| match why {
        NotAuthorized::Refused(_) => {
            tracing::info!(why = &why as &dyn Error, "a request is refused");
            UNAUTHORIZED.into()
        }
        // Status 500, so that a client tries again.
        NotAuthorized::NoKeys => why.into(),
    })
}
