#[derive(Debug, thiserror::Error)]
pub enum PassError {
    #[error("could not generate a signing key")]
    Generate,
    #[error("the stored signing key is not an RSA key in PKCS#8; rotate the keys")]
    Unreadable,
    #[error("could not sign a pass")]
    Sign,
}
