use serde::{Deserialize, Serialize};

/// Where the public keys of an issuer are, as the room publishes it at `/.well-known/openid-configuration`. JWT authorizers of
/// API Gateway and `OpenID` clients know only the issuer, and find the keys by this.
///
/// A room is no `OpenID` provider. It fills in what `OpenID` Connect Discovery 1.0 requires, as far as a room has it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Discovery {
    pub issuer: String,
    pub jwks_uri: String,
    /// The room's short name, the audience of its passes. Rooms of before December 2026 do not say it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub room: Option<String>,
    /// The door: that is where a person gets a pass.
    authorization_endpoint: String,
    response_types_supported: [String; 1],
    subject_types_supported: [String; 1],
    id_token_signing_alg_values_supported: [String; 1],
}

impl Discovery {
    pub fn of(issuer: String, room: &str) -> Self {
        Self {
            room: Some(room.into()),
            jwks_uri: format!("{issuer}/.well-known/jwks.json"),
            authorization_endpoint: format!("{issuer}/beekeeper"),
            issuer,
            response_types_supported: ["id_token".into()],
            subject_types_supported: ["public".into()],
            id_token_signing_alg_values_supported: ["RS256".into()],
        }
    }
}
