//! A page of the operator's own.

use ::page::Page;
use aws_sdk_s3::primitives::ByteStream;

use crate::{CloudError, DeployedRoom, Kind};

/// The API hands on what is text, and would garble everything else.
pub(crate) fn check(page: &Page) -> Result<(), CloudError> {
    let is_text = |kind: &str| kind.starts_with("text/") || kind == "image/svg+xml";
    match page.files().find(|(_, file)| !is_text(file.content_type)) {
        None => Ok(()),
        Some((name, file)) => {
            let reason =
                format!("{name} is {}, and API Gateway would garble what is not text", file.content_type);
            Err(CloudError::new(Kind::Failed, "bring your page to AWS", reason)
                .advise("use SVG images, and fonts that visitors have"))
        }
    }
}

impl DeployedRoom {
    pub(crate) async fn put_page(&self, page: &Page) -> Result<(), CloudError> {
        let s3 = self.account.s3();
        for (name, file) in page.files() {
            // The API serves a file with the policy that lies beside it.
            let put = s3.put_object().bucket(&self.bucket).expected_bucket_owner(&self.account.id).key(name);
            let put = put.content_type(file.content_type).metadata("policy", &file.policy);
            put.body(ByteStream::from(file.body.clone())).send().await.map_err(|error| {
                self.account.adviser.trouble(format!("put {name} into the bucket {}", self.bucket), error)
            })?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::error::Error;
    use std::fs;

    use ::page::Design;

    use super::*;

    #[test]
    fn a_page_of_text_goes_and_a_photograph_does_not() {
        let folder = tempfile::tempdir().unwrap();
        let read = || Design::read(folder.path()).unwrap().page(&"Sale".parse().unwrap());
        fs::write(folder.path().join("bee.svg"), "<svg/>").unwrap();
        fs::write(folder.path().join("page.toml"), "logo = \"bee.svg\"").unwrap();
        assert!(check(&read()).is_ok());
        fs::write(folder.path().join("bee.png"), "PNG").unwrap();
        fs::write(folder.path().join("page.toml"), "logo = \"bee.png\"").unwrap();
        let trouble = check(&read()).unwrap_err();
        assert!(trouble.source().unwrap().to_string().starts_with("bee.png is image/png"));
    }
}
