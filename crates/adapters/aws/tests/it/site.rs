//! The bucket of the waiting page.

use aws::PageBucket;
use aws_sdk_s3::types::{BucketLocationConstraint, CreateBucketConfiguration};

use crate::emulators::Emulators;
use crate::room::{config, patient, run};

#[test]
#[ignore = "needs LocalEmu and DynamoDB Local: cargo xtask test aws"]
fn a_page_is_put_read_and_cleared() {
    run(async {
        let config = config(&Emulators::shared().localemu());
        let s3 = aws_sdk_s3::config::Builder::from(&patient(&config)).force_path_style(true).build();
        let s3 = aws_sdk_s3::Client::from_conf(s3);
        let bucket = format!("site-{}", std::process::id());
        let here = CreateBucketConfiguration::builder();
        let here = here.location_constraint(BucketLocationConstraint::EuCentral1).build();
        s3.create_bucket().bucket(&bucket).create_bucket_configuration(here).send().await.unwrap();

        let site = PageBucket::new(&config, bucket.clone());
        let (html, policy) = ("text/html; charset=utf-8", "default-src 'none'");
        for body in ["<p>Ältere Fassung", "<p>Neue Fassung 🦭"] {
            site.put("index.html", html, policy, body.as_bytes()).await.unwrap();
        }
        site.put("own.css", "text/css; charset=utf-8", policy, b"").await.unwrap();
        let page = site.get("index.html").await.unwrap().unwrap();
        assert_eq!((&*page.content_type, &*page.policy), (html, policy));
        assert_eq!(page.body, "<p>Neue Fassung 🦭".as_bytes());
        for missing in ["index.htm", "a b", "../index.html", "ä"] {
            assert_eq!(site.get(missing).await.unwrap(), None, "{missing}");
        }

        site.clear().await.unwrap();
        assert_eq!(s3.list_objects_v2().bucket(&bucket).send().await.unwrap().key_count, Some(0));
        s3.delete_bucket().bucket(&bucket).send().await.unwrap();
        site.clear().await.expect("a bucket that does not exist is empty");
    });
}
