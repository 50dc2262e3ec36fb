//! The bucket that holds the waiting page. Only the API reads it, and behind an edge the door's function.

use aws_config::SdkConfig;
use aws_sdk_s3::Client;
use aws_sdk_s3::config::Builder;
use aws_sdk_s3::operation::get_object::GetObjectError;
use aws_sdk_s3::operation::list_objects_v2::ListObjectsV2Error;
use aws_sdk_s3::primitives::ByteStream;
use waitroom::ports::{Fault, PortError, PortResult};

use crate::retry::{call, call_unless};

/// The name of the metadata that has a file's policy.
const POLICY: &str = "policy";

#[derive(Clone, Debug)]
pub struct PageBucket {
    client: Client,
    bucket: String,
}

/// A file of the page, with what [`PageBucket::put`] stored beside it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredFile {
    pub content_type: String,
    pub policy: String,
    pub body: Vec<u8>,
}

impl PageBucket {
    pub fn new(config: &SdkConfig, bucket: String) -> Self {
        // An emulator has no host name for each bucket.
        let is_emulator = config.endpoint_url().is_some();
        let config = Builder::from(config).force_path_style(is_emulator).build();
        Self { client: Client::from_conf(config), bucket }
    }

    /// Stores a file. The policy is for the `Content-Security-Policy` header.
    pub async fn put(&self, name: &str, content_type: &str, policy: &str, body: &[u8]) -> PortResult<()> {
        let put = || {
            let object = self.client.put_object().bucket(&self.bucket).key(name).content_type(content_type);
            object.metadata(POLICY, policy).body(ByteStream::from(body.to_vec())).send()
        };
        call("store the waiting page", put).await.map(drop)
    }

    /// The file of this name, if there is one.
    pub async fn get(&self, name: &str) -> PortResult<Option<StoredFile>> {
        const READ: &str = "read the waiting page";
        let object = self.client.get_object().bucket(&self.bucket).key(name);
        let object = call_unless(READ, || object.clone().send(), GetObjectError::is_no_such_key).await?;
        let Some(object) = object else { return Ok(None) };
        let policy = object.metadata.and_then(|mut metadata| metadata.remove(POLICY));
        let body = object.body.collect().await.map_err(|error| PortError::new(READ, Fault::Busy, error))?;
        let (content_type, policy) = (object.content_type.unwrap_or_default(), policy.unwrap_or_default());
        Ok(Some(StoredFile { content_type, policy, body: body.to_vec() }))
    }

    /// Deletes all files. A bucket that does not exist counts as empty.
    pub async fn clear(&self) -> PortResult<()> {
        let attempt = "empty the bucket of the waiting page";
        loop {
            let list = self.client.list_objects_v2().bucket(&self.bucket);
            let is_gone = ListObjectsV2Error::is_no_such_bucket;
            let listed = call_unless(attempt, || list.clone().send(), is_gone).await?;
            let Some(listed) = listed else { return Ok(()) };
            let names: Vec<_> =
                listed.contents.unwrap_or_default().into_iter().filter_map(|object| object.key).collect();
            if names.is_empty() {
                return Ok(());
            }
            for name in names {
                let delete = self.client.delete_object().bucket(&self.bucket).key(name);
                call(attempt, || delete.clone().send()).await?;
            }
        }
    }
}
