//! The custom resource that sets up a room when its stack is deployed, and clears it when the stack is removed.

use std::time::Duration;

use aws::{AwsStore, PageBucket};
use functions::stack_setup::{SetupEvent, SetupPorts, attend, until_allowed};
use functions::{FunctionSetup, cloudformation, request_span, variable};
use lambda_runtime::{LambdaEvent, service_fn};
use page::Page;
use tracing::Instrument;
use waitroom::Room;
use waitroom::ports::PortResult;

/// Between two calls of a role that may be too new.
const PAUSE: Duration = Duration::from_secs(5);

struct OnAws {
    store: AwsStore,
    site: PageBucket,
}

impl SetupPorts for OnAws {
    async fn create_room(&self, first: &Room) -> PortResult<Room> {
        until_allowed(PAUSE, || self.store.create_room(first)).await
    }

    async fn change(&self, change: impl Fn(&mut Room) + Send + Sync) -> PortResult<Room> {
        let changed = until_allowed(PAUSE, || self.store.change_room("apply the deployment", &change)).await;
        changed.map(|(_, room)| Room::clone(&room))
    }

    async fn put_page(&self, page: Page) -> PortResult<()> {
        for (name, file) in page.files() {
            let put = || self.site.put(name, file.content_type, &file.policy, &file.body);
            until_allowed(PAUSE, put).await?;
        }
        Ok(())
    }

    async fn clear_page(&self) -> PortResult<()> {
        until_allowed(PAUSE, || self.site.clear()).await
    }
}

pub(crate) async fn run() -> Result<(), lambda_runtime::Error> {
    let FunctionSetup { config, store, room, .. } = FunctionSetup::start_with_trigger()?;
    let ports = OnAws { store, site: PageBucket::new(&config, variable("PAGE_BUCKET")?) };
    lambda_runtime::run(service_fn(async |event: LambdaEvent<SetupEvent>| {
        let span = request_span(&room, &event.context.request_id);
        let event = event.payload;
        let handled = async {
            let answer = attend(&ports, &event).await;
            tracing::info!(request = ?event.request_type, success = answer.is_success(), "setup finished");
            cloudformation::send(event.response_url.as_str(), &answer).await
        };
        handled.instrument(span).await?;
        Ok::<_, lambda_runtime::Error>(())
    }))
    .await
}
