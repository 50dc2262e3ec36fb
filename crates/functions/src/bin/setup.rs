//! The custom resource that furnishes a room as its stack is deployed.

use aws::{AwsStore, PageBucket};
use functions::stack_setup::{SetupEvent, SetupPorts, attend};
use functions::{FunctionSetup, begin_request, cloudformation, variable};
use lambda_runtime::{LambdaEvent, service_fn};
use page::Page;
use waitroom::Room;
use waitroom::ports::PortResult;

struct OnAws {
    store: AwsStore,
    site: PageBucket,
}

impl SetupPorts for OnAws {
    async fn found(&self, first: &Room) -> PortResult<Room> {
        self.store.found(first).await
    }

    async fn change(&self, change: impl Fn(&mut Room) + Send) -> PortResult<Room> {
        self.store.change_room("apply the deployment", change).await.map(|(_, room)| Room::clone(&room))
    }

    async fn put_page(&self, page: Page) -> PortResult<()> {
        for (name, file) in page.files() {
            self.site.put(name, file.content_type, &file.policy, &file.body).await?;
        }
        Ok(())
    }

    async fn clear_page(&self) -> PortResult<()> {
        self.site.clear().await
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), lambda_runtime::Error> {
    let FunctionSetup { config, store, .. } = FunctionSetup::start()?;
    let premises = OnAws { store, site: PageBucket::new(&config, variable("PAGE_BUCKET")?) };
    lambda_runtime::run(service_fn(async |event: LambdaEvent<SetupEvent>| {
        begin_request(&event.context.request_id);
        let event = event.payload;
        let answer = attend(&premises, &event).await;
        tracing::info!(asked = ?event.request_type, done = answer.is_success(), "the stack is attended to");
        cloudformation::tell(event.response_url.as_str(), &answer).await?;
        Ok::<_, lambda_runtime::Error>(())
    }))
    .await
}
