//! Creating a room, and updating one.
//!
//! A run can stop at any point: an operation that it started continues in AWS, and the next run reads the state of the
//! stack and continues from there. Nothing is stored on this machine.

use std::collections::BTreeSet;

use ::page::Page;
use config::RoomConfig;

use crate::artefacts::ArtefactBucket;
use crate::bundle::{EDGE_FIREWALL, PACKAGE_BUCKET};
use crate::change_set::{self, ResourceChange, StackContent, TemplateSource};
use crate::edge_stack::{EdgeStack, changes_limits};
use crate::prepare::prepare;
use crate::progress::{DeployStep, OnEvent, report_step};
use crate::reservation::ReservationPlan;
use crate::setting_change::SettingChange;
use crate::stack::{NextStep, RoomStack, StackState, next_step};
use crate::{
    Account, Bundle, CloudError, DeployEvent, DeployedRoom, FunctionPackage, bundle, check_page, names,
};

/// What one deployment needs: the configuration, and what to upload.
pub(crate) struct Deployment<'a> {
    config: &'a RoomConfig,
    package: &'a FunctionPackage,
    artefacts: ArtefactBucket<'a>,
    template: String,
}

impl<'a> Deployment<'a> {
    pub(crate) fn new(
        account: &'a Account,
        config: &'a RoomConfig,
        custom_page: Option<&Page>,
        bundle: &'a Bundle,
    ) -> Result<Self, CloudError> {
        custom_page.map_or(Ok(()), check_page)?;
        let package = bundle.choose(config.architecture)?;
        let artefacts = ArtefactBucket::new(account, &config.room);
        Ok(Self { config, package, artefacts, template: bundle::template(config.edge())? })
    }

    fn template_key(&self) -> String {
        format!("template/{}.json", names::sha256(self.template.as_bytes()))
    }

    /// Every object that this deployment needs.
    fn keys(&self) -> BTreeSet<String> {
        [self.package.key(), self.template_key()].into()
    }

    /// What the room's stack is to become. `edge_firewall` is its ARN.
    async fn content(
        &self,
        account: &Account,
        existing: Option<&StackState>,
        edge_firewall: Option<String>,
    ) -> Result<StackContent, CloudError> {
        let mut parameters = self.package.parameters(self.config)?;
        parameters.insert(PACKAGE_BUCKET.into(), self.artefacts.name.clone());
        parameters.insert(EDGE_FIREWALL.into(), edge_firewall.unwrap_or_default());
        if let Some(existing) = existing {
            account.keep_warm(existing, &mut parameters).await?;
        }
        let functions = account.function_limits().await;
        let in_room = account.ordered(self.config, existing).await.map(|(rate, _)| rate);
        ReservationPlan::of(self.config, &in_room, existing, &functions).set(&mut parameters);
        let template = TemplateSource::Url(self.artefacts.url(&self.template_key()));
        Ok(StackContent { template, parameters })
    }

    /// Whether the stack has the functions and the template of this deployment. A deployment deletes every other template at its end. It
    /// leaves one that is younger than an hour, which then counts as deployed until the next. A pipeline of the operator's own uploads none
    /// here, so only its functions are compared.
    pub(crate) async fn is_of(&self, stack: &StackState) -> Result<bool, CloudError> {
        let has_functions = stack.parameters.get("PageVersion") == Some(&self.package.page_version());
        Ok(has_functions
            && (!self.artefacts.exists().await? || self.artefacts.has(&self.template_key()).await?))
    }

    async fn upload(&self, on_event: OnEvent<'_>) -> Result<(), CloudError> {
        let package = self.package;
        let text = format!("upload the functions ({} kB)", package.zip.len() / 1000);
        report_step(on_event, DeployStep::Upload, text);
        self.artefacts.upload(&package.key(), "application/zip", &package.zip).await?;
        self.upload_template(&self.template_key(), on_event).await
    }

    /// Uploads the template, unless it is already there.
    async fn upload_template(&self, key: &str, on_event: OnEvent<'_>) -> Result<(), CloudError> {
        report_step(on_event, DeployStep::Upload, "upload the template");
        self.artefacts.upload(key, "application/json", self.template.as_bytes()).await.map(drop)
    }
}

impl Account {
    /// Creates the room, or updates it to this configuration. An update keeps line, epoch and signing keys. It changes no more settings
    /// than were `confirmed`, if a person was asked.
    pub async fn deploy(
        &self,
        config: &RoomConfig,
        custom_page: Option<&Page>,
        bundle: &Bundle,
        confirmed: Option<&[SettingChange]>,
        on_event: OnEvent<'_>,
    ) -> Result<DeployedRoom, CloudError> {
        let deployment = Deployment::new(self, config, custom_page, bundle)?;
        let stack = RoomStack::new(self, &config.room);
        let existing = prepare(&stack, on_event).await?;
        self.refuse_lost_visitors(existing.as_ref(), config).await?;
        if let (Some(existing), Some(confirmed)) = (&existing, confirmed) {
            // Somebody may have deployed during the question.
            SettingChange::refuse_more(&SettingChange::of(config, existing)?, confirmed, &config.room)?;
        }
        let edge = EdgeStack::beside(&stack);
        let edge_firewall = edge.deploy(config, existing.as_ref(), on_event).await?;
        let bucket = &deployment.artefacts;
        report_step(on_event, DeployStep::Bucket, format!("create the bucket {}", bucket.name));
        bucket.ensure().await?;
        deployment.upload(on_event).await?;

        let content = deployment.content(self, existing.as_ref(), edge_firewall).await?;
        let applied = change_set::apply(&stack, content, existing.as_ref(), on_event).await;
        if let (Err(_), Some(existing)) = (&applied, &existing)
            && changes_limits(config, existing).is_ok_and(|changes| changes)
        {
            // It's a stack of its own, which AWS doesn't take back with the room's.
            on_event(DeployEvent::Warning {
                text: "the firewall in front of the edge has the new limits, although the room wasn't updated".into(),
                advice: Some(
                    "deploy again; to have the limits of before, write them into the configuration file first".into(),
                ),
            });
        }
        applied?;
        let room = self.room(&config.room).await?;
        if let Some(page) = custom_page {
            report_step(on_event, DeployStep::Page, "upload the custom page");
            room.upload_page(page).await?;
        }
        report_step(on_event, DeployStep::Tidy, "delete packages and templates of earlier deployments");
        bucket.keep_only(&deployment.keys()).await?;
        if !config.has_edge_firewall() {
            // Whether this deployment ended the need for it, or one that was interrupted.
            drop(edge.remove(existing.as_ref(), on_event).await?);
        }
        Ok(room)
    }

    /// What [`Account::deploy`] would change in an existing stack. `None` if there is no stack that could be updated, an
    /// empty list if it is up to date. Nothing is changed.
    pub async fn changes(
        &self,
        config: &RoomConfig,
        custom_page: Option<&Page>,
        bundle: &Bundle,
        on_event: OnEvent<'_>,
    ) -> Result<Option<Vec<ResourceChange>>, CloudError> {
        let deployment = Deployment::new(self, config, custom_page, bundle)?;
        let stack = RoomStack::new(self, &config.room);
        let Some(existing) = stack.find().await? else { return Ok(None) };
        let can_update = next_step(Some(&existing.status)) == NextStep::Update;
        if !can_update || !deployment.artefacts.exists().await? {
            return Ok(None);
        }
        self.refuse_lost_visitors(Some(&existing), config).await?;
        let (edge_firewall, mut changes) = EdgeStack::beside(&stack).changes(config, &existing).await?;
        let mut content = deployment.content(self, Some(&existing), edge_firewall).await?;
        // CloudFormation reads a template of this size only from a bucket. It has a name of its own there, because it goes at the end: a
        // deployment that runs meanwhile needs its own.
        let key = format!("dry-run/{}", deployment.template_key());
        content.template = TemplateSource::Url(deployment.artefacts.url(&key));
        deployment.upload_template(&key, on_event).await?;
        report_step(on_event, DeployStep::Plan, "let CloudFormation compute the changes");
        let of_room = change_set::preview(&stack, content, &existing).await;
        deployment.artefacts.delete_object(&key).await?;
        changes.extend(of_room?);
        Ok(Some(changes))
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use config::Architecture;

    use super::*;
    use crate::fixture::{edge_config, room_config};
    use crate::stub_aws::{self, Asked};

    fn bundle() -> Bundle {
        Bundle::new([FunctionPackage { architecture: Architecture::Arm64, zip: b"".as_slice().into() }])
    }

    fn deployed_with(parameter: &str, value: &str) -> StackState {
        StackState::with([(parameter.to_owned(), value.to_owned())].into())
    }

    /// A table that more people come to than it can serve, and functions enough.
    fn throttled(request: &str) -> (u16, String) {
        if stub_aws::action(request) == Some("DescribeStacks") {
            return (200, stub_aws::described("UPDATE_COMPLETE", &[]));
        }
        if request.starts_with("GET /2016-08-19/account-settings") {
            let limit = r#"{"ConcurrentExecutions":1000,"UnreservedConcurrentExecutions":900}"#;
            return (200, format!(r#"{{"AccountLimit":{limit}}}"#));
        }
        (400, r#"{"__type":"ProvisionedThroughputExceededException","message":"slow down"}"#.to_owned())
    }

    #[tokio::test]
    async fn a_room_that_cannot_be_read_keeps_the_consumers_that_are_reserved() {
        let (account, _) = stub_aws::account(throttled).await;
        let (config, bundle) = (room_config("sale"), bundle());
        let deployment = Deployment::new(&account, &config, None, &bundle).unwrap();
        let existing = deployed_with("ReservedConsumers", "40");
        for (existing, expected) in [(None, "10"), (Some(&existing), "40")] {
            let content = deployment.content(&account, existing, None).await.unwrap();
            assert_eq!(content.parameters["ReservedConsumers"], expected);
        }
        let error = account.ordered(&config, Some(&existing)).await.unwrap_err();
        assert_eq!(error, "could not read the room: ProvisionedThroughputExceededException: slow down");
    }

    /// Why a deployment to a room with 500 active visitors stops if these changes were confirmed, and what it asked. It may only look at
    /// the stack.
    async fn stopped(confirmed: Option<&[SettingChange]>) -> (CloudError, Asked) {
        let answer = |request: &str| match stub_aws::action(request) {
            Some("DescribeStacks") => {
                (200, stub_aws::described("UPDATE_COMPLETE", &[("ActiveVisitors", "500")]))
            }
            _ => (403, String::new()),
        };
        let (account, asked) = stub_aws::account(answer).await;
        let deployed = account.deploy(&room_config("sale"), None, &bundle(), confirmed, &|_| ()).await;
        (deployed.unwrap_err(), asked)
    }

    #[tokio::test]
    async fn whoever_confirmed_a_plan_takes_back_nothing_that_somebody_deployed_meanwhile() {
        let (error, asked) = stopped(Some(&[])).await;
        assert!(error.reason().ends_with("would also change active_visitors: 500 -> none"), "{error:?}");
        let asked = asked.lock().unwrap().clone();
        assert!(asked.iter().all(|request| stub_aws::action(request) == Some("DescribeStacks")), "{asked:?}");

        let read = SettingChange::of(&room_config("sale"), &deployed_with("ActiveVisitors", "500")).unwrap();
        for confirmed in [Some(&*read), None] {
            let (error, _) = stopped(confirmed).await;
            assert!(error.to_string().starts_with("could not look for the bucket "), "{error:?}");
        }
    }

    /// What is told when AWS refuses to update a room with an edge that had this limit at its door.
    async fn warnings(limit_before: &'static str) -> Vec<String> {
        let answer = move |request: &str| {
            let Some(action) = stub_aws::action(request) else { return (200, String::new()) };
            let answered = |result| (200, stub_aws::answered(action, result));
            match action {
                "DescribeStacks" => {
                    let limit = ("DoorRequestsPerAddress", limit_before);
                    let parameters = [("Edge", "yes"), (EDGE_FIREWALL, "arn"), limit];
                    (200, stub_aws::described("UPDATE_COMPLETE", &parameters))
                }
                // The template of the room's stack.
                "CreateChangeSet" if request.contains("TemplateURL=") => (400, String::new()),
                "CreateChangeSet" => answered("<Id>changes</Id><StackId>stack</StackId>"),
                "DescribeChangeSet" => {
                    answered("<Status>FAILED</Status><StatusReason>It didn't contain changes.</StatusReason>")
                }
                _ => answered(""),
            }
        };
        let (account, _) = stub_aws::account(answer).await;
        let warnings = Mutex::new(Vec::new());
        let on_event = |event| {
            if let DeployEvent::Warning { text, .. } = event {
                warnings.lock().unwrap().push(text);
            }
        };
        let error = account.deploy(&edge_config(), None, &bundle(), None, &on_event).await.unwrap_err();
        assert!(error.to_string().starts_with("could not compute the changes of the stack "), "{error:?}");
        warnings.into_inner().unwrap()
    }

    #[tokio::test]
    async fn whoever_changed_a_limit_in_vain_reads_that_the_edge_has_it() {
        assert_eq!(warnings("5000").await, [""; 0]);
        let told = warnings("100").await;
        assert!(told.len() == 1 && told[0].starts_with("the firewall in front of the edge has"), "{told:?}");
    }
}
