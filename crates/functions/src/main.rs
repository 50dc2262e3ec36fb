//! The program of every function. The handler that the template sets says which one it is.

mod handlers;

use std::env;

use handlers::{authorizer, consumer, producer, setup, throttle, trigger};
use lambda_runtime::Error;

/// The handler of every function of a stack that was deployed when each function had a program of its own.
const OLD_HANDLER: &str = "bootstrap";

#[cfg(target_env = "musl")]
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Error> {
    let variable = |name| env::var(name).unwrap_or_default();
    match handler(variable("_HANDLER"), &variable("AWS_LAMBDA_FUNCTION_NAME")).as_str() {
        "producer" => Box::pin(producer::run()).await,
        "trigger" => trigger::run().await,
        "consumer" => consumer::run().await,
        "throttle" => throttle::run().await,
        "setup" => setup::run().await,
        "authorizer" => authorizer::run().await,
        other => Err(format!(
            "there is no handler {other:?}; the template sets producer, trigger, consumer, throttle, setup or authorizer, so \
             deploy the stack again"
        )
        .into()),
    }
}

/// The handler, or while an older stack is updated the function's part of its name, `<stack>-Producer-<random>`: AWS
/// replaces code and handler one after the other, and a visitor may come between.
fn handler(handler: String, function: &str) -> String {
    if handler != OLD_HANDLER {
        return handler;
    }
    function.rsplit('-').nth(1).map_or(handler, str::to_lowercase)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_handler_says_which_function_it_is_and_for_older_stacks_its_name() {
        assert_eq!(handler("setup".into(), "beekeeper-sale-Producer-0A1b2C3d4E5f"), "setup");
        for (function, expected) in [
            ("beekeeper-sale-Producer-0A1b2C3d4E5f", "producer"),
            ("spring-sale-authorizer-Authorizer-0A1b2C3d4E5f", "authorizer"),
            ("my-own-name", "own"),
            ("name", "bootstrap"),
            ("", "bootstrap"),
        ] {
            assert_eq!(handler("bootstrap".into(), function), expected);
        }
    }
}
