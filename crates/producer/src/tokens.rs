use rand::rngs::SysRng;
use waitroom::Token;
use waitroom::ports::{PortError, PortResult, TokenSource};

/// Tokens from the operating system's generator.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemTokens;

impl TokenSource for SystemTokens {
    fn token(&self) -> PortResult<Token> {
        Token::random(&mut SysRng).map_err(PortError::broken("draw a token from the system's generator"))
    }
}
