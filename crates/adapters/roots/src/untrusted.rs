//! A certificate that is refused, in words: what rustls says of it is for programmers.

use std::error::Error;
use std::fmt;
use std::io;

use rustls::CertificateError;

/// Why a server's certificate is refused, and what to do, in a sentence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UntrustedCertificate(String);

impl fmt::Display for UntrustedCertificate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Error for UntrustedCertificate {}

impl UntrustedCertificate {
    /// If that is what rustls says.
    pub fn of(error: &rustls::Error) -> Option<Self> {
        let rustls::Error::InvalidCertificate(error) = error else { return None };
        Some(Self(match error {
            // With the name of a CA that is known, and another key.
            CertificateError::UnknownIssuer | CertificateError::BadSignature => "this machine doesn't know who signed the certificate: let the server send the whole \
                                                chain; or, with a CA of your own, name its certificate in SSL_CERT_FILE"
                .into(),
            CertificateError::Expired | CertificateError::ExpiredContext { .. } => {
                "the certificate has expired: renew it, and let the server read it again".into()
            }
            CertificateError::NotValidYet | CertificateError::NotValidYetContext { .. } => {
                "the certificate isn't valid yet: see whether the clocks of both machines are right".into()
            }
            CertificateError::NotValidForName => "the certificate is for another name: get one for this name".into(),
            CertificateError::NotValidForNameContext { expected, presented } => {
                let names = if presented.is_empty() { "no name".into() } else { presented.join(", ") };
                format!("the certificate is for {names}, not for {}: get one for this name", expected.to_str())
            }
            // It is in an error of another crate, which says nothing else of it.
            other if format!("{other:?}").contains("CaUsedAsEndEntity") => {
                "the certificate is one of a CA, which no server may show: a self-signed one needs basicConstraints=CA:FALSE, and \
                 SSL_CERT_FILE has to name it"
                    .into()
            }
            other => format!("the certificate is refused: {other}"),
        }))
    }
}

/// The error of a connection, or in its place that of the certificate that it failed on.
pub fn in_words(error: impl Into<Box<dyn Error + Send + Sync>>) -> Box<dyn Error + Send + Sync> {
    let error = error.into();
    let untrusted = found(&*error);
    untrusted.map_or(error, Into::into)
}

fn found(error: &(dyn Error + 'static)) -> Option<UntrustedCertificate> {
    let inner = error.downcast_ref::<io::Error>().and_then(io::Error::get_ref);
    if let Some(inner) = inner {
        return found(inner);
    }
    let own = error.downcast_ref::<rustls::Error>().and_then(UntrustedCertificate::of);
    own.or_else(|| error.source().and_then(found))
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test that finds something else fails")]
mod tests {
    use std::sync::Arc;

    use rustls::OtherError;
    use rustls::pki_types::ServerName;

    use super::*;

    #[derive(Debug)]
    struct CaUsedAsEndEntity;

    impl fmt::Display for CaUsedAsEndEntity {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            fmt::Debug::fmt(self, f)
        }
    }

    impl Error for CaUsedAsEndEntity {}

    fn said(error: CertificateError) -> String {
        // As a client of hyper has it.
        let inner = io::Error::new(io::ErrorKind::InvalidData, rustls::Error::InvalidCertificate(error));
        in_words(io::Error::other(inner)).to_string()
    }

    #[test]
    fn whatever_a_certificate_is_refused_for_is_said_with_what_to_do() {
        assert!(said(CertificateError::UnknownIssuer).ends_with("name its certificate in SSL_CERT_FILE"));
        assert!(said(CertificateError::Expired).starts_with("the certificate has expired: renew it"));
        let other = CertificateError::Other(OtherError(Arc::new(CaUsedAsEndEntity)));
        assert!(said(other).contains("a self-signed one needs basicConstraints=CA:FALSE"));
        let expected = ServerName::try_from("wait.example").unwrap();
        let presented = vec!["shop.example".to_owned()];
        assert_eq!(
            said(CertificateError::NotValidForNameContext { expected, presented }),
            "the certificate is for shop.example, not for wait.example: get one for this name"
        );
        assert!(said(CertificateError::Revoked).starts_with("the certificate is refused: "));
    }

    #[test]
    fn any_other_error_stays() {
        assert_eq!(in_words(io::Error::other("connection refused")).to_string(), "connection refused");
    }
}
