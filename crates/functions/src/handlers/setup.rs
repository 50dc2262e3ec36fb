//! The custom resource that sets up a room when its stack is deployed, and clears it when the stack is removed.

use std::time::Duration;

use aws::{AwsStore, PageBucket};
use functions::stack_setup::{SetupEvent, SetupPorts, attend, until_allowed};
use functions::{FunctionSetup, cloudformation, serve, variable};
use page::Page;
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
    serve(&room, async |event: SetupEvent| {
        let answer = attend(&ports, &event).await;
        tracing::info!(request = ?event.request_type, success = answer.is_success(), "setup finished");
        Ok(cloudformation::send(event.response_url.as_str(), &answer).await?)
    })
    .await
}
