use rand::rngs::SysRng;
use waitroom::Token;
use waitroom::ports::{Fault, PortError, PortResult, TokenSource};

/// Tokens from the operating system's generator.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemTokens;

impl TokenSource for SystemTokens {
    fn token(&self) -> PortResult<Token> {
        Token::random(&mut SysRng)
            .map_err(|error| PortError::new("draw a token from the system's generator", Fault::Broken, error))
    }
}
