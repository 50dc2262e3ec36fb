#[derive(Debug, thiserror::Error)]
pub enum PassError {
    #[error("could not generate a key")]
    Generate,
    #[error("the stored signing key is not an RSA key in PKCS#8; rotate the keys")]
    Unreadable,
    #[error("the stored proof key is not 32 bytes in base64; remove it, and the room creates another one")]
    UnreadableProofKey,
    #[error("could not sign a pass")]
    Sign,
}
