//! Sets up a room when its stack is deployed, and clears its bucket when the stack is removed.
//!
//! CloudFormation creates an empty table and an empty bucket. A custom resource fills them, so that a room is the same
//! whichever tool deploys its stack. The same resource empties the bucket, because CloudFormation cannot remove a
//! bucket with content. A deployment never undoes what the operator has set since the first deployment.

mod event;
mod new_role;

use config::SetupProperties;
use page::{Design, Page};
use rand::rngs::SysRng;
use waitroom::ports::{PortError, PortResult};
use waitroom::{Epoch, Room, with_causes};

pub use event::{RequestType, ResponseUrl, SetupAnswer, SetupEvent};
pub use new_role::until_allowed;

/// What the setup uses: the ledger, and the bucket with the page.
pub trait SetupPorts: Send + Sync {
    /// Creates the items that are missing from the ledger, and returns the stored room.
    fn create_room(&self, first: &Room) -> impl Future<Output = PortResult<Room>> + Send;

    /// Changes the room. The closure may be retried, so it must be idempotent.
    fn change(
        &self,
        change: impl Fn(&mut Room) + Send + Sync,
    ) -> impl Future<Output = PortResult<Room>> + Send;

    fn put_page(&self, page: Page) -> impl Future<Output = PortResult<()>> + Send;

    fn clear_page(&self) -> impl Future<Output = PortResult<()>> + Send;
}

/// Handles a request of CloudFormation, and returns the answer for it.
pub async fn attend(ports: &impl SetupPorts, event: &SetupEvent) -> SetupAnswer {
    let done = match event.request_type {
        RequestType::Create | RequestType::Update => set_up(ports, event).await,
        RequestType::Delete => ports.clear_page().await.map_err(|error| with_causes(&error)),
    };
    SetupAnswer::new(event, done)
}

async fn set_up(ports: &impl SetupPorts, event: &SetupEvent) -> Result<(), String> {
    let given = |name: &str| event.resource_properties.get(name)?.as_str();
    let properties = SetupProperties::read(given);
    let SetupProperties { config, url } =
        properties.map_err(|mistakes| mistakes.iter().collect::<Vec<_>>().join("; "))?;
    let epoch = Epoch::random(&mut SysRng).map_err(|error| format!("no random numbers: {error}"))?;
    let first = Room::new(config.settings(), url, epoch);
    let describe = |error: PortError| with_causes(&error);
    let mut room = ports.create_room(&first).await.map_err(describe)?;
    let (stored, wanted) = (&room.settings.room, &first.settings.room);
    if stored != wanted {
        return Err(format!(
            "Room: this stack has the room {stored}, whose name is in its visitors' cookies; deploy {wanted} as another stack"
        ));
    }
    let apply = |room: &mut Room| {
        room.settings = first.settings.clone().with_orders_of(&room.settings);
        room.url.clone_from(&first.url);
        if !config.throttle {
            // Without the throttle, nothing would end the reduced rate.
            room.throttled = None;
        }
    };
    let mut expected = room.clone();
    apply(&mut expected);
    if expected != room {
        room = ports.change(apply).await.map_err(describe)?;
    }
    // Whoever deploys uploads a page of the operator's own after this. Until then, a new room has ours.
    if config.page.is_none() || event.request_type == RequestType::Create {
        ports.put_page(Design::default().page(&room.settings.title)).await.map_err(describe)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::sync::Mutex;

    use futures_executor::block_on;
    use serde_json::{Value, json};
    use waitroom::ports::Fault;
    use waitroom::{Rate, RoomState};

    use super::*;

    /// A ledger and a bucket in memory.
    #[derive(Default)]
    struct Memory {
        room: Mutex<Option<Room>>,
        page: Mutex<Option<Page>>,
        fails: bool,
    }

    impl SetupPorts for Memory {
        async fn create_room(&self, first: &Room) -> PortResult<Room> {
            if self.fails {
                return Err(PortError::new(
                    "put the room into the ledger",
                    Fault::Broken,
                    "AccessDenied: no",
                ));
            }
            Ok(self.room.lock().unwrap().get_or_insert_with(|| first.clone()).clone())
        }

        async fn change(&self, change: impl Fn(&mut Room) + Send + Sync) -> PortResult<Room> {
            let mut room = self.room.lock().unwrap();
            let room = room.as_mut().unwrap();
            change(room);
            room.version += 1;
            Ok(room.clone())
        }

        async fn put_page(&self, page: Page) -> PortResult<()> {
            *self.page.lock().unwrap() = Some(page);
            Ok(())
        }

        async fn clear_page(&self) -> PortResult<()> {
            self.page.lock().unwrap().take();
            Ok(())
        }
    }

    fn given() -> BTreeMap<String, Value> {
        let given = json!({
            "ServiceToken": "arn:aws:lambda:eu-central-1:000000000000:function:setup", "Room": "sale",
            "Title": "Seal's \"Brewing\"", "Shop": "https://shop.example/sale", "Rate": "300",
            "Url": "https://room.example/prod", "AdmissionMinutes": "90", "PassMinutes": "30",
        });
        serde_json::from_value(given).unwrap()
    }

    impl Memory {
        fn room(&self) -> Room {
            self.room.lock().unwrap().clone().unwrap()
        }

        fn attend(&self, request: &str, properties: &[(&str, &str)]) -> Value {
            let mut given = given();
            given.extend(properties.iter().map(|(name, value)| ((*name).to_owned(), json!(value))));
            let event = json!({
                "RequestType": request, "ResponseURL": "https://bucket.example/answer?signature=secret",
                "StackId": "arn:stack", "RequestId": "7c31", "LogicalResourceId": "RoomSetup",
                "ResourceType": "Custom::Room", "ResourceProperties": given,
            });
            let event = serde_json::from_value(event).unwrap();
            serde_json::to_value(block_on(attend(self, &event))).unwrap()
        }
    }

    #[test]
    fn a_new_stack_gets_a_room_and_its_page() {
        let memory = Memory::default();
        let answer = memory.attend("Create", &[]);
        let expected = json!({
            "Status": "SUCCESS", "PhysicalResourceId": "room", "StackId": "arn:stack", "RequestId": "7c31",
            "LogicalResourceId": "RoomSetup",
        });
        assert_eq!(answer, expected);
        assert_eq!((memory.room().settings.rate.get(), memory.room().state), (300, RoomState::On));
        let page = memory.page.lock().unwrap();
        assert_eq!(*page, Some(Design::default().page(&memory.room().settings.title)));
    }

    #[test]
    fn a_redeployment_keeps_what_the_operator_set() {
        let memory = Memory::default();
        memory.attend("Create", &[]);
        let created = memory.room();
        {
            let mut room = memory.room.lock().unwrap();
            let room = room.as_mut().unwrap();
            room.settings.rate = Rate::MIN;
            room.settings.message = "More beer".parse().unwrap();
            room.state = RoomState::Paused;
        }
        let changes = [
            ("Title", "Otter"),
            ("Rate", "9999"),
            ("Shop", "https://otter.example"),
            ("Health", "https://otter.example/up"),
        ];
        assert_eq!(memory.attend("Update", &changes)["Status"], "SUCCESS");
        let room = memory.room();
        assert_eq!(room.settings.title.as_str(), "Otter");
        assert_eq!(room.settings.shop.to_string(), "https://otter.example/");
        assert!(room.settings.health.is_some());
        assert_eq!(
            (room.settings.rate, room.epoch, room.state),
            (Rate::MIN, created.epoch, RoomState::Paused)
        );
        assert_eq!(room.settings.message.as_str(), "More beer");
        memory.attend("Update", &changes);
        assert_eq!(memory.room().version, room.version, "a deployment that changes nothing writes nothing");
    }

    #[test]
    fn a_rate_is_no_longer_held_down_without_the_throttle() {
        let memory = Memory::default();
        memory.attend("Create", &[("Throttling", "yes")]);
        memory.room.lock().unwrap().as_mut().unwrap().throttled = Some(Rate::MIN);
        memory.attend("Update", &[("Throttling", "yes"), ("Title", "Otter")]);
        assert_eq!(memory.room().throttled, Some(Rate::MIN));
        memory.attend("Update", &[("Throttling", "no")]);
        assert_eq!(memory.room().throttled, None);
    }

    #[test]
    fn a_custom_page_is_kept() {
        let memory = Memory::default();
        memory.attend("Create", &[("Page", "custom")]);
        let ours = memory.page.lock().unwrap().take();
        assert!(ours.is_some(), "the room is on before the custom page is uploaded");
        memory.attend("Update", &[("Page", "custom")]);
        assert_eq!(*memory.page.lock().unwrap(), None);
        memory.attend("Update", &[("Page", "built-in")]);
        assert!(memory.page.lock().unwrap().is_some());
    }

    #[test]
    fn a_removed_stack_leaves_an_empty_bucket() {
        let memory = Memory::default();
        memory.attend("Create", &[]);
        let answer = memory.attend("Delete", &[("Rate", "nonsense")]);
        assert_eq!(answer["Status"], "SUCCESS", "whatever the properties say");
        assert_eq!(*memory.page.lock().unwrap(), None);
    }

    #[test]
    fn a_failure_says_what_to_do() {
        let answer = Memory::default().attend("Create", &[("Rate", "0"), ("Shop", "shop.example")]);
        assert_eq!((&answer["Status"], &answer["PhysicalResourceId"]), (&json!("FAILED"), &json!("room")));
        let reason = answer["Reason"].as_str().unwrap();
        assert!(reason.contains("Rate: a rate is") && reason.contains("Shop: not a URL"), "{reason}");

        let denied = Memory { fails: true, ..Memory::default() }.attend("Create", &[]);
        assert_eq!(denied["Reason"], "could not put the room into the ledger: AccessDenied: no");

        let memory = Memory::default();
        memory.attend("Create", &[]);
        let renamed = memory.attend("Update", &[("Room", "other")]);
        let expected = "Room: this stack has the room sale, whose name is in its visitors' cookies; deploy other as another stack";
        assert_eq!(renamed["Reason"], expected);
    }
}
