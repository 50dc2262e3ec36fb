//! A custom page on AWS.

use ::page::Page;
use aws_sdk_s3::primitives::ByteStream;

use crate::{CloudError, CloudErrorKind, DeployedRoom};

/// Whether a room on AWS can show this page. The API serves text only; it would corrupt any other file.
pub fn check_page(page: &Page) -> Result<(), CloudError> {
    let is_text = |content_type: &str| content_type.starts_with("text/") || content_type == "image/svg+xml";
    match page.files().find(|(_, file)| !is_text(file.content_type)) {
        None => Ok(()),
        Some((name, file)) => {
            let reason =
                format!("{name} is {}, and on AWS a page can contain only text and SVG", file.content_type);
            Err(CloudError::new(CloudErrorKind::Other, "deploy the custom page", reason)
                .with_advice("use SVG images, and fonts that visitors have installed"))
        }
    }
}

impl DeployedRoom {
    pub(crate) async fn upload_page(&self, page: &Page) -> Result<(), CloudError> {
        let s3 = self.account.s3();
        for (name, file) in page.files() {
            // The API sends this metadata as the file's Content-Security-Policy.
            let put = s3.put_object().bucket(&self.page_bucket).expected_bucket_owner(&self.account.id);
            let put = put.key(name).content_type(file.content_type).metadata("policy", &file.policy);
            put.body(ByteStream::from(file.body.clone())).send().await.map_err(|error| {
                let attempt = format!("upload {name} to the bucket {}", self.page_bucket);
                self.account.errors.call_failed(attempt, error)
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
    fn a_page_of_text_is_accepted_and_a_photograph_refused() {
        let folder = tempfile::tempdir().unwrap();
        let read = || Design::read(folder.path()).unwrap().page(&"Sale".parse().unwrap());
        fs::write(folder.path().join("bee.svg"), "<svg/>").unwrap();
        fs::write(folder.path().join("page.toml"), "logo = \"bee.svg\"").unwrap();
        assert!(check_page(&read()).is_ok());
        fs::write(folder.path().join("bee.png"), "PNG").unwrap();
        fs::write(folder.path().join("page.toml"), "logo = \"bee.png\"").unwrap();
        assert!(check_page(&read()).is_ok(), "a small logo is inside the document");
        fs::write(folder.path().join("bee.png"), [0; 10_000]).unwrap();
        let error = check_page(&read()).unwrap_err();
        assert!(error.source().unwrap().to_string().starts_with("bee.png is image/png"));
    }
}
