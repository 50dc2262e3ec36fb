//! The certificate that a server shows: who would refuse it, and until when it is valid.

use std::io;
use std::net::{TcpStream, ToSocketAddrs};
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::aws_lc_rs::default_provider;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{ClientConfig, ClientConnection, DigitallySignedStruct, SignatureScheme};
use url::Url;
use waitroom::Timestamp;

use crate::der;

/// The timeout of each step: connecting to an address, sending, receiving.
const STEP_TIMEOUT: Duration = Duration::from_secs(5);
/// How long connecting may take in all. A host may have many addresses that do not answer.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(15);

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerCertificate {
    /// The last instant at which it is valid; none if it cannot be read.
    pub expires: Option<Timestamp>,
    /// Why this machine does not trust it, as a browser would not.
    pub refused: Option<String>,
}

/// Connects to the server of an https URL, and reads the certificate that it shows. Sends no request.
///
/// Blocks for up to half a minute, and longer only if the system looks up the host for longer: that has no time limit.
pub fn read_certificate(url: &Url) -> io::Result<ServerCertificate> {
    let unusable = || io::Error::new(io::ErrorKind::InvalidInput, "the URL has no host");
    let (host, port) = (url.host_str().ok_or_else(unusable)?, url.port_or_known_default().unwrap_or(443));
    // An IPv6 address is in brackets in a URL.
    let host = host.trim_start_matches('[').trim_end_matches(']').to_owned();
    let verifier = Arc::new(RecordingVerifier::new()?);
    let config = ClientConfig::builder_with_provider(Arc::new(default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(io::Error::other)?
        .dangerous()
        .with_custom_certificate_verifier(verifier.clone())
        .with_no_client_auth();
    let name = ServerName::try_from(host.clone()).map_err(io::Error::other)?;
    let mut connection = ClientConnection::new(Arc::new(config), name).map_err(io::Error::other)?;
    let mut stream = connect(&host, port)?;
    let mut shaken = Ok(());
    while shaken.is_ok() && connection.is_handshaking() {
        shaken = connection.complete_io(&mut stream).map(drop);
    }
    let shown = verifier.shown.lock().take();
    match (shown, shaken) {
        // A certificate that is refused ends the handshake, and is what the caller wants to know.
        (Some(shown), Err(_)) if shown.refused.is_some() => Ok(shown),
        // A server without the certificate's key shows a good one as well.
        (_, Err(error)) => Err(error),
        (Some(shown), Ok(())) => Ok(shown),
        (None, Ok(())) => Err(io::Error::other("the server showed no certificate")),
    }
}

fn connect(host: &str, port: u16) -> io::Result<TcpStream> {
    let addresses: Vec<_> = (host, port).to_socket_addrs()?.collect();
    let timeout = timeout_of_one(addresses.len());
    let mut last = io::Error::other("the host has no address");
    for address in &addresses {
        match TcpStream::connect_timeout(address, timeout) {
            Ok(stream) => {
                stream.set_read_timeout(Some(STEP_TIMEOUT))?;
                stream.set_write_timeout(Some(STEP_TIMEOUT))?;
                return Ok(stream);
            }
            Err(error) => last = error,
        }
    }
    Err(last)
}

/// How long one of so many addresses may take. Each has the same share, so those that do not answer leave time for one that
/// does.
fn timeout_of_one(addresses: usize) -> Duration {
    let addresses = u32::try_from(addresses).unwrap_or(u32::MAX).max(1);
    STEP_TIMEOUT.min(CONNECT_TIMEOUT / addresses)
}

/// Verifies as every client of this machine does, and keeps what was shown, refused or not.
#[derive(Debug)]
struct RecordingVerifier {
    trusted: Arc<WebPkiServerVerifier>,
    shown: Mutex<Option<ServerCertificate>>,
}

impl RecordingVerifier {
    fn new() -> io::Result<Self> {
        let roots = roots::store()?.into();
        let trusted = WebPkiServerVerifier::builder_with_provider(roots, Arc::new(default_provider()));
        let trusted = trusted.build().map_err(io::Error::other)?;
        Ok(Self { trusted, shown: Mutex::default() })
    }
}

impl ServerCertVerifier for RecordingVerifier {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        name: &ServerName<'_>,
        ocsp: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        let verified = self.trusted.verify_server_cert(end_entity, intermediates, name, ocsp, now);
        let in_words = |error: &rustls::Error| {
            roots::UntrustedCertificate::of(error)
                .map_or_else(|| error.to_string(), |refused| refused.to_string())
        };
        let refused = verified.as_ref().err().map(in_words);
        let shown = ServerCertificate { expires: der::expires(end_entity), refused };
        *self.shown.lock() = Some(shown);
        verified
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        self.trusted.verify_tls12_signature(message, certificate, signature)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        self.trusted.verify_tls13_signature(message, certificate, signature)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.trusted.supported_verify_schemes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_addresses_share_the_time() {
        let seconds = [0, 1, 3, 12].map(|addresses| timeout_of_one(addresses).as_secs_f64());
        assert_eq!(seconds.map(|seconds| seconds.to_string()), ["5", "5", "5", "1.25"]);
    }
}
