//! The bucket for what a stack is created from: the function package and the template.
//!
//! Each room has one. It is created before the stack and deleted after it. Objects are named by their content, so nothing
//! is uploaded twice. Packages of the last deployment stay until an update has succeeded: CloudFormation needs them to
//! roll it back.

use std::collections::BTreeSet;
use std::time::Duration;

use aws_config::timeout::TimeoutConfig;
use aws_sdk_s3::Client;
use aws_sdk_s3::config::Config;
use aws_sdk_s3::error::BuildError;
use aws_sdk_s3::primitives::ByteStream;
use aws_sdk_s3::types::{
    BucketLocationConstraint, CreateBucketConfiguration, Object, PublicAccessBlockConfiguration,
    ServerSideEncryption, ServerSideEncryptionByDefault, ServerSideEncryptionConfiguration,
    ServerSideEncryptionRule, Tag, Tagging,
};
use clock::SystemClock;
use tokio::time::{Instant, sleep};
use waitroom::ports::Clock;
use waitroom::{RoomId, Timestamp};

use crate::aws_errors::code;
use crate::error::OrIncomplete;
use crate::{Account, CloudError, CloudErrorKind, names};

/// S3 refuses to create a bucket if one with the same name was deleted shortly before. It also refuses to delete a
/// bucket while another request changes it. Both are retried for this long.
const RETRY_FOR: Duration = Duration::from_mins(3);
const RETRY_EVERY: Duration = Duration::from_secs(2);

/// A deployment that is running may need what was uploaded so shortly before.
const FRESH: Duration = Duration::from_hours(1);

/// A package has some megabytes, and a laptop may be on a slow network.
const UPLOAD_TIMEOUT: Duration = Duration::from_mins(10);

/// The one region that S3 does not accept as a location constraint.
const REGION_WITHOUT_CONSTRAINT: &str = "us-east-1";

pub(crate) struct ArtefactBucket<'a> {
    account: &'a Account,
    s3: Client,
    room: RoomId,
    pub(crate) name: String,
}

impl<'a> ArtefactBucket<'a> {
    pub(crate) fn new(account: &'a Account, room: &RoomId) -> Self {
        let name = names::artefact_bucket(room, &account.id, &account.region);
        Self { account, s3: account.s3(), room: room.clone(), name }
    }

    /// Whether the bucket exists. An error if it belongs to another account.
    pub(crate) async fn exists(&self) -> Result<bool, CloudError> {
        let attempt = format!("look for the bucket {}", self.name);
        let head =
            self.s3.head_bucket().bucket(&self.name).expected_bucket_owner(&self.account.id).send().await;
        let Err(error) = head else { return Ok(true) };
        match error.raw_response().map(|response| response.status().as_u16()) {
            Some(404) => Ok(false),
            // A response to HEAD has no body that could say more.
            Some(403) => {
                let reason = format!(
                    "S3 answered 403: the bucket belongs to another account, or {} may not read it",
                    self.account.arn
                );
                let advice = "you need the permission s3:ListBucket for it; if you have it, the bucket name is taken: \
                              give the room another name";
                Err(CloudError::new(CloudErrorKind::AccessDenied, attempt, reason).with_advice(advice))
            }
            _ => Err(self.account.errors.call_failed(attempt, error)),
        }
    }

    /// Creates the bucket if it does not exist, and applies its settings.
    pub(crate) async fn ensure(&self) -> Result<(), CloudError> {
        if !self.exists().await? {
            self.create().await?;
        }
        let attempt = || format!("set up the bucket {}", self.name);
        let invalid =
            |error: BuildError| CloudError::new(CloudErrorKind::Other, attempt(), error.to_string());
        let private = PublicAccessBlockConfiguration::builder()
            .block_public_acls(true)
            .block_public_policy(true)
            .ignore_public_acls(true)
            .restrict_public_buckets(true)
            .build();
        let encryption = encryption().map_err(invalid)?;
        let tag = Tag::builder().key(names::TAG).value(self.room.to_string()).build();
        let tags = tag.and_then(|tag| Tagging::builder().tag_set(tag).build()).map_err(invalid)?;

        let (s3, owner, errors) = (&self.s3, &self.account.id, &self.account.errors);
        let put = s3.put_public_access_block().bucket(&self.name).expected_bucket_owner(owner);
        let put = put.public_access_block_configuration(private).send().await;
        put.map_err(|error| errors.call_failed(attempt(), error))?;
        let put = s3.put_bucket_encryption().bucket(&self.name).expected_bucket_owner(owner);
        let put = put.server_side_encryption_configuration(encryption).send().await;
        put.map_err(|error| errors.call_failed(attempt(), error))?;
        let put = s3.put_bucket_tagging().bucket(&self.name).expected_bucket_owner(owner);
        put.tagging(tags).send().await.map_err(|error| errors.call_failed(attempt(), error))?;
        Ok(())
    }

    async fn create(&self) -> Result<(), CloudError> {
        let attempt = format!("create the bucket {}", self.name);
        let location = (self.account.region != REGION_WITHOUT_CONSTRAINT).then(|| {
            let region = BucketLocationConstraint::from(self.account.region.as_str());
            CreateBucketConfiguration::builder().location_constraint(region).build()
        });
        let started = Instant::now();
        loop {
            let create =
                self.s3.create_bucket().bucket(&self.name).set_create_bucket_configuration(location.clone());
            let Err(error) = create.send().await else { return Ok(()) };
            match code(&error) {
                "BucketAlreadyOwnedByYou" => return Ok(()),
                "BucketAlreadyExists" => {
                    let reason = "another account has a bucket of this name";
                    let advice = "give the room another name: bucket names are unique across all accounts";
                    return Err(
                        CloudError::new(CloudErrorKind::NameTaken, attempt, reason).with_advice(advice)
                    );
                }
                "OperationAborted" if started.elapsed() < RETRY_FOR => sleep(RETRY_EVERY).await,
                _ => return Err(self.account.errors.call_failed(attempt, error)),
            }
        }
    }

    /// Uploads an object, unless it exists. Returns whether it was uploaded.
    pub(crate) async fn upload(
        &self,
        key: &str,
        content_type: &str,
        bytes: &[u8],
    ) -> Result<bool, CloudError> {
        let attempt = || format!("upload {key} to the bucket {}", self.name);
        let (s3, owner) = (&self.s3, &self.account.id);
        let head = s3.head_object().bucket(&self.name).key(key).expected_bucket_owner(owner).send().await;
        let length = i64::try_from(bytes.len()).ok();
        if head.is_ok_and(|object| object.content_length() == length) {
            return Ok(false);
        }
        let put = s3.put_object().bucket(&self.name).key(key).expected_bucket_owner(owner);
        let put = put.content_type(content_type).body(ByteStream::from(bytes.to_vec()));
        let patient = TimeoutConfig::builder().operation_attempt_timeout(UPLOAD_TIMEOUT).build();
        let put = put.customize().config_override(Config::builder().timeout_config(patient)).send().await;
        put.map_err(|error| self.account.errors.call_failed(attempt(), error))?;
        Ok(true)
    }

    /// Whether the bucket has this object.
    pub(crate) async fn has(&self, key: &str) -> Result<bool, CloudError> {
        let head = self.s3.head_object().bucket(&self.name).key(key);
        let Err(error) = head.expected_bucket_owner(&self.account.id).send().await else { return Ok(true) };
        match error.raw_response().map(|response| response.status().as_u16()) {
            Some(404) => Ok(false),
            _ => Err(self
                .account
                .errors
                .call_failed(format!("look for {key} in the bucket {}", self.name), error)),
        }
    }

    /// The URL by which CloudFormation reads an object.
    pub(crate) fn url(&self, key: &str) -> String {
        let (bucket, region) = (&self.name, &self.account.region);
        let suffix = if region.starts_with("cn-") { "amazonaws.com.cn" } else { "amazonaws.com" };
        match self.account.config.endpoint_url() {
            Some(endpoint) => format!("{}/{bucket}/{key}", endpoint.trim_end_matches('/')),
            None => format!("https://{bucket}.s3.{region}.{suffix}/{key}"),
        }
    }

    /// Deletes all objects but these, and those that somebody else may have uploaded for a deployment that is running.
    pub(crate) async fn keep_only(&self, keys: &BTreeSet<String>) -> Result<(), CloudError> {
        let now = SystemClock.now();
        let is_fresh = |object: &Object| {
            let uploaded = object.last_modified().and_then(|at| u64::try_from(at.to_millis().ok()?).ok());
            uploaded.is_some_and(|at| now.since(Timestamp::from_millis(at)) < FRESH)
        };
        let is_kept = |object: &Object| object.key().is_some_and(|key| keys.contains(key));
        self.delete_objects(&self.name, |object| is_kept(object) || is_fresh(object)).await
    }

    /// Deletes an object. It need not exist.
    pub(crate) async fn delete_object(&self, key: &str) -> Result<(), CloudError> {
        let delete =
            self.s3.delete_object().bucket(&self.name).key(key).expected_bucket_owner(&self.account.id);
        let attempt = format!("delete {key} from the bucket {}", self.name);
        delete.send().await.map(drop).map_err(|error| self.account.errors.call_failed(attempt, error))
    }

    /// Deletes the bucket with its objects. Returns whether it existed.
    pub(crate) async fn delete(&self) -> Result<bool, CloudError> {
        if !self.exists().await? {
            return Ok(false);
        }
        let attempt = format!("delete the bucket {}", self.name);
        let started = Instant::now();
        loop {
            self.delete_objects(&self.name, |_| false).await?;
            let delete = self.s3.delete_bucket().bucket(&self.name).expected_bucket_owner(&self.account.id);
            let Err(error) = delete.send().await else { return Ok(true) };
            match code(&error) {
                "NoSuchBucket" => return Ok(true),
                "BucketNotEmpty" | "OperationAborted" if started.elapsed() < RETRY_FOR => {
                    sleep(RETRY_EVERY).await;
                }
                _ => return Err(self.account.errors.call_failed(attempt, error)),
            }
        }
    }

    /// Empties another bucket of the room. It need not exist.
    pub(crate) async fn empty(&self, bucket: &str) -> Result<(), CloudError> {
        self.delete_objects(bucket, |_| false).await
    }

    async fn delete_objects(&self, bucket: &str, keep: impl Fn(&Object) -> bool) -> Result<(), CloudError> {
        let attempt = format!("empty the bucket {bucket}");
        let (owner, errors) = (&self.account.id, &self.account.errors);
        let mut next_page = None;
        loop {
            let list = self.s3.list_objects_v2().bucket(bucket).expected_bucket_owner(owner);
            let page = match list.set_continuation_token(next_page).send().await {
                Ok(page) => page,
                Err(error) if code(&error) == "NoSuchBucket" => return Ok(()),
                Err(error) => return Err(errors.call_failed(attempt, error)),
            };
            for object in page.contents.unwrap_or_default() {
                let is_kept = keep(&object);
                let key = object.key.or_incomplete(&attempt, "the key of an object")?;
                if !is_kept {
                    let delete = self.s3.delete_object().bucket(bucket).key(key).expected_bucket_owner(owner);
                    delete.send().await.map_err(|error| errors.call_failed(&attempt, error))?;
                }
            }
            next_page = page.next_continuation_token;
            if next_page.is_none() {
                return Ok(());
            }
        }
    }
}

/// Encrypts objects with S3's own keys.
fn encryption() -> Result<ServerSideEncryptionConfiguration, BuildError> {
    let algorithm =
        ServerSideEncryptionByDefault::builder().sse_algorithm(ServerSideEncryption::Aes256).build()?;
    let rule = ServerSideEncryptionRule::builder().apply_server_side_encryption_by_default(algorithm).build();
    ServerSideEncryptionConfiguration::builder().rules(rule).build()
}

#[cfg(test)]
mod tests {
    use aws_sdk_s3::primitives::{DateTime, DateTimeFormat};

    use super::*;
    use crate::stub_aws;

    #[tokio::test]
    async fn what_somebody_else_may_have_just_uploaded_is_kept() {
        let (account, asked) = stub_aws::account(|request| {
            if request.starts_with("DELETE") {
                return (204, String::new());
            }
            let now = i64::try_from(SystemClock.now().as_millis()).unwrap();
            let object = |key: &str, minutes: i64| {
                let at = DateTime::from_millis(now - 60_000 * minutes).fmt(DateTimeFormat::DateTime).unwrap();
                format!("<Contents><Key>{key}</Key><LastModified>{at}</LastModified></Contents>")
            };
            let objects = object("ours", 90) + &object("of-before", 61) + &object("of-somebody-else", 59);
            (200, format!("<ListBucketResult>{objects}</ListBucketResult>"))
        })
        .await;
        let bucket = ArtefactBucket::new(&account, &"sale".parse().unwrap());
        bucket.keep_only(&["ours".to_owned()].into()).await.unwrap();
        let asked = asked.lock().unwrap();
        let deleted: Vec<_> = asked.iter().filter(|request| request.starts_with("DELETE")).collect();
        assert!(deleted.len() == 1 && deleted[0].contains("/of-before?"), "{asked:?}");
    }
}
