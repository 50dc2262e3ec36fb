/// This access key has all permissions.
pub(crate) const ACCESS_KEY: &str = "test";

/// Makes an AWS client use this endpoint, with an access key that has all permissions.
pub(crate) fn environment(endpoint: String) -> [(&'static str, String); 4] {
    [
        ("AWS_ENDPOINT_URL", endpoint),
        ("AWS_ACCESS_KEY_ID", ACCESS_KEY.to_owned()),
        ("AWS_SECRET_ACCESS_KEY", "test".to_owned()),
        ("AWS_DEFAULT_REGION", "us-east-1".to_owned()),
    ]
}
