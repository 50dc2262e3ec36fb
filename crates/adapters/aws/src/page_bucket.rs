//! The bucket that holds the waiting page. Nobody reads it but the API.

use aws_config::SdkConfig;
use aws_sdk_s3::Client;
use aws_sdk_s3::config::Builder;
use aws_sdk_s3::operation::list_objects_v2::ListObjectsV2Error;
use aws_sdk_s3::primitives::ByteStream;
use waitroom::ports::PortResult;

use crate::retry::persistently;

#[derive(Clone, Debug)]
pub struct PageBucket {
    client: Client,
    bucket: String,
}

impl PageBucket {
    pub fn new(config: &SdkConfig, bucket: String) -> Self {
        // What stands in for AWS has no host name for each bucket.
        let stands_in = config.endpoint_url().is_some();
        let config = Builder::from(config).force_path_style(stands_in).build();
        Self { client: Client::from_conf(config), bucket }
    }

    /// The policy, for the `Content-Security-Policy` header, lies beside the file as its metadata `policy`.
    pub async fn put(&self, name: &str, content_type: &str, policy: &str, body: &[u8]) -> PortResult<()> {
        let put = || {
            let object = self.client.put_object().bucket(&self.bucket).key(name).content_type(content_type);
            object.metadata("policy", policy).body(ByteStream::from(body.to_vec())).send()
        };
        persistently(put).await.map(drop).map_err(|trouble| trouble.while_trying_to("store the waiting page"))
    }

    /// Removes whatever lies there. A bucket that is gone is empty.
    pub async fn clear(&self) -> PortResult<()> {
        let attempt = "empty the bucket of the waiting page";
        loop {
            let list = self.client.list_objects_v2().bucket(&self.bucket);
            let listed = match persistently(|| list.clone().send()).await {
                Ok(listed) => listed,
                Err(trouble)
                    if trouble
                        .error
                        .as_service_error()
                        .is_some_and(ListObjectsV2Error::is_no_such_bucket) =>
                {
                    return Ok(());
                }
                Err(trouble) => return Err(trouble.while_trying_to(attempt)),
            };
            let names: Vec<_> =
                listed.contents.unwrap_or_default().into_iter().filter_map(|object| object.key).collect();
            if names.is_empty() {
                return Ok(());
            }
            for name in names {
                let delete = self.client.delete_object().bucket(&self.bucket).key(name);
                let deleted = persistently(|| delete.clone().send()).await;
                deleted.map_err(|trouble| trouble.while_trying_to(attempt))?;
            }
        }
    }
}
