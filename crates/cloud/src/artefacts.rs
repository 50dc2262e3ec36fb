//! The bucket that holds what a stack is made from: the functions' packages, and the template.
//!
//! Each room has one. It is made before the stack and goes after it. What lies in it is called by what is in it, so
//! that nothing is sent twice, and what an update replaces stays until the update is done: should CloudFormation take
//! it back, it finds the packages from before.

use std::collections::BTreeSet;
use std::time::Duration;

use aws_sdk_s3::Client;
use aws_sdk_s3::primitives::ByteStream;
use aws_sdk_s3::types::{
    BucketLocationConstraint, CreateBucketConfiguration, PublicAccessBlockConfiguration,
    ServerSideEncryption, ServerSideEncryptionByDefault, ServerSideEncryptionConfiguration,
    ServerSideEncryptionRule, Tag, Tagging,
};
use tokio::time::{Instant, sleep};
use waitroom::RoomId;

use crate::error::code;
use crate::{Account, CloudError, Kind, names};

/// A bucket that was just removed cannot be made again for a while.
const PATIENCE: Duration = Duration::from_mins(3);
const PAUSE: Duration = Duration::from_secs(2);

/// Where there is no location constraint: the first region there was.
const FIRST_REGION: &str = "us-east-1";

pub(crate) struct Artefacts<'a> {
    account: &'a Account,
    s3: Client,
    room: RoomId,
    pub(crate) bucket: String,
}

impl<'a> Artefacts<'a> {
    pub(crate) fn of(account: &'a Account, room: &RoomId) -> Self {
        let bucket = names::artefacts(room, &account.id, &account.region);
        Self { account, s3: account.s3(), room: room.clone(), bucket }
    }

    /// Whether it is there. An error if it is somebody else's.
    pub(crate) async fn exists(&self) -> Result<bool, CloudError> {
        let attempt = format!("look for the bucket {}", self.bucket);
        let head =
            self.s3.head_bucket().bucket(&self.bucket).expected_bucket_owner(&self.account.id).send().await;
        let Err(error) = head else { return Ok(true) };
        match error.raw_response().map(|response| response.status().as_u16()) {
            Some(404) => Ok(false),
            // The answer to HEAD has no body that could say more.
            Some(403) => {
                let reason = format!(
                    "S3 says 403: it is another account's, or you may not look ({})",
                    self.account.arn
                );
                let advice = "you need the permission s3:ListBucket for it; if you have that, somebody else took the \
                              room's bucket name, and another room name helps";
                Err(CloudError::new(Kind::Denied, attempt, reason).advise(advice))
            }
            _ => Err(self.account.adviser.trouble(attempt, error)),
        }
    }

    /// Makes it if it is not there, and sees to it that it is as it should be.
    pub(crate) async fn make(&self) -> Result<(), CloudError> {
        if !self.exists().await? {
            self.create().await?;
        }
        let attempt = || format!("set up the bucket {}", self.bucket);
        let tag = Tag::builder().key(names::TAG).value(self.room.to_string()).build();
        let tagging = tag.and_then(|tag| Tagging::builder().tag_set(tag).build());
        let by_default =
            ServerSideEncryptionByDefault::builder().sse_algorithm(ServerSideEncryption::Aes256).build();
        let encryption = by_default.and_then(|by_default| {
            let rule =
                ServerSideEncryptionRule::builder().apply_server_side_encryption_by_default(by_default);
            ServerSideEncryptionConfiguration::builder().rules(rule.build()).build()
        });
        let built = |error: aws_sdk_s3::error::BuildError| {
            CloudError::new(Kind::Failed, attempt(), error.to_string())
        };
        let private = PublicAccessBlockConfiguration::builder()
            .block_public_acls(true)
            .block_public_policy(true)
            .ignore_public_acls(true)
            .restrict_public_buckets(true)
            .build();
        let (s3, owner, adviser) = (&self.s3, &self.account.id, &self.account.adviser);
        let put = s3.put_public_access_block().bucket(&self.bucket).expected_bucket_owner(owner);
        let put = put.public_access_block_configuration(private).send().await;
        put.map_err(|error| adviser.trouble(attempt(), error))?;
        let put = s3.put_bucket_encryption().bucket(&self.bucket).expected_bucket_owner(owner);
        let put = put.server_side_encryption_configuration(encryption.map_err(built)?).send().await;
        put.map_err(|error| adviser.trouble(attempt(), error))?;
        let put = s3.put_bucket_tagging().bucket(&self.bucket).expected_bucket_owner(owner);
        let put = put.tagging(tagging.map_err(built)?).send().await;
        put.map_err(|error| adviser.trouble(attempt(), error)).map(drop)
    }

    async fn create(&self) -> Result<(), CloudError> {
        let attempt = format!("make the bucket {}", self.bucket);
        let here = (self.account.region != FIRST_REGION).then(|| {
            let region = BucketLocationConstraint::from(self.account.region.as_str());
            CreateBucketConfiguration::builder().location_constraint(region).build()
        });
        let begun = Instant::now();
        loop {
            let create =
                self.s3.create_bucket().bucket(&self.bucket).set_create_bucket_configuration(here.clone());
            let Err(error) = create.send().await else { return Ok(()) };
            match code(&error) {
                "BucketAlreadyOwnedByYou" => return Ok(()),
                "BucketAlreadyExists" => {
                    let reason = "the name belongs to another account";
                    let advice = "names of buckets are shared by all accounts; give the room another name";
                    return Err(CloudError::new(Kind::Taken, attempt, reason).advise(advice));
                }
                "OperationAborted" if begun.elapsed() < PATIENCE => sleep(PAUSE).await,
                _ => return Err(self.account.adviser.trouble(attempt, error)),
            }
        }
    }

    /// Sends something, unless it is there. Whether it was sent.
    pub(crate) async fn put(&self, key: &str, kind: &str, bytes: &[u8]) -> Result<bool, CloudError> {
        let attempt = || format!("send {key} to the bucket {}", self.bucket);
        let (s3, owner) = (&self.s3, &self.account.id);
        let head = s3.head_object().bucket(&self.bucket).key(key).expected_bucket_owner(owner).send().await;
        let length = i64::try_from(bytes.len()).ok();
        if head.is_ok_and(|there| there.content_length() == length) {
            return Ok(false);
        }
        let put = s3.put_object().bucket(&self.bucket).key(key).expected_bucket_owner(owner);
        let put = put.content_type(kind).body(ByteStream::from(bytes.to_vec())).send().await;
        put.map_err(|error| self.account.adviser.trouble(attempt(), error))?;
        Ok(true)
    }

    /// Where CloudFormation reads something.
    pub(crate) fn url(&self, key: &str) -> String {
        let (bucket, region) = (&self.bucket, &self.account.region);
        let suffix = if region.starts_with("cn-") { "amazonaws.com.cn" } else { "amazonaws.com" };
        match self.account.config.endpoint_url() {
            Some(stand_in) => format!("{}/{bucket}/{key}", stand_in.trim_end_matches('/')),
            None => format!("https://{bucket}.s3.{region}.{suffix}/{key}"),
        }
    }

    /// Removes everything but these.
    pub(crate) async fn keep_only(&self, keys: &BTreeSet<String>) -> Result<usize, CloudError> {
        self.clear(&self.bucket, |key| keys.contains(key)).await
    }

    /// Removes one thing. One that is not there is removed.
    pub(crate) async fn remove(&self, key: &str) -> Result<(), CloudError> {
        let delete =
            self.s3.delete_object().bucket(&self.bucket).key(key).expected_bucket_owner(&self.account.id);
        let attempt = format!("remove {key} from the bucket {}", self.bucket);
        delete.send().await.map(drop).map_err(|error| self.account.adviser.trouble(attempt, error))
    }

    /// Removes the bucket, with what lies in it. Whether it was there.
    pub(crate) async fn destroy(&self) -> Result<bool, CloudError> {
        if !self.exists().await? {
            return Ok(false);
        }
        let attempt = format!("remove the bucket {}", self.bucket);
        let begun = Instant::now();
        loop {
            self.clear(&self.bucket, |_| false).await?;
            let delete = self.s3.delete_bucket().bucket(&self.bucket).expected_bucket_owner(&self.account.id);
            let Err(error) = delete.send().await else { return Ok(true) };
            match code(&error) {
                "NoSuchBucket" => return Ok(true),
                "BucketNotEmpty" | "OperationAborted" if begun.elapsed() < PATIENCE => sleep(PAUSE).await,
                _ => return Err(self.account.adviser.trouble(attempt, error)),
            }
        }
    }

    /// Empties another bucket of the room. One that is gone is empty.
    pub(crate) async fn empty(&self, bucket: &str) -> Result<(), CloudError> {
        self.clear(bucket, |_| false).await.map(drop)
    }

    async fn clear(&self, bucket: &str, keep: impl Fn(&str) -> bool) -> Result<usize, CloudError> {
        let attempt = format!("empty the bucket {bucket}");
        let (owner, adviser) = (&self.account.id, &self.account.adviser);
        let (mut removed, mut more) = (0, None);
        loop {
            let list = self.s3.list_objects_v2().bucket(bucket).expected_bucket_owner(owner);
            let listed = match list.set_continuation_token(more).send().await {
                Ok(listed) => listed,
                Err(error) if code(&error) == "NoSuchBucket" => return Ok(removed),
                Err(error) => return Err(adviser.trouble(attempt, error)),
            };
            for key in listed.contents.unwrap_or_default().into_iter().filter_map(|object| object.key) {
                if !keep(&key) {
                    let delete = self.s3.delete_object().bucket(bucket).key(key).expected_bucket_owner(owner);
                    delete.send().await.map_err(|error| adviser.trouble(&attempt, error))?;
                    removed += 1;
                }
            }
            more = listed.next_continuation_token;
            if more.is_none() {
                return Ok(removed);
            }
        }
    }
}
