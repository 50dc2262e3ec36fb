//! The certificate authorities that every TLS client of this workspace trusts: those that `SSL_CERT_FILE` and `SSL_CERT_DIR` name,
//! or else this machine's. Only where it has none, as in an empty container, Mozilla's that are bundled.
//!
//! Whoever names a file wants no other authorities. So one that cannot be read is an error.

mod untrusted;

use std::env;
use std::io;
use std::sync::Arc;

use rustls::crypto::aws_lc_rs::default_provider;
use rustls::pki_types::CertificateDer;
use rustls::{ClientConfig, RootCertStore};
use rustls_native_certs::{CertificateResult, load_native_certs};

pub use untrusted::{UntrustedCertificate, in_words};

#[cfg(feature = "bundled")]
const BUNDLED: &[CertificateDer<'static>] = webpki_root_certs::TLS_SERVER_ROOT_CERTS;
#[cfg(not(feature = "bundled"))]
const BUNDLED: &[CertificateDer<'static>] = &[];

/// The configuration of a TLS client that trusts them.
pub fn client_config() -> io::Result<ClientConfig> {
    let config = ClientConfig::builder_with_provider(Arc::new(default_provider()));
    let config = config.with_safe_default_protocol_versions().map_err(io::Error::other)?;
    Ok(config.with_root_certificates(store()?).with_no_client_auth())
}

pub fn store() -> io::Result<RootCertStore> {
    let mut store = RootCertStore::empty();
    store.add_parsable_certificates(certificates()?);
    Ok(store)
}

/// At least one, and each can be used.
pub fn certificates() -> io::Result<Vec<CertificateDer<'static>>> {
    let named = ["SSL_CERT_FILE", "SSL_CERT_DIR"].into_iter().filter_map(|variable| {
        env::var_os(variable).map(|value| format!("{variable}={}", value.to_string_lossy()))
    });
    choose(load_native_certs(), &named.collect::<Vec<_>>().join(" "), BUNDLED)
}

/// `named` are the variables that name certificates.
fn choose(
    found: CertificateResult,
    named: &str,
    bundled: &[CertificateDer<'static>],
) -> io::Result<Vec<CertificateDer<'static>>> {
    let CertificateResult { mut certs, errors, .. } = found;
    certs.retain(|cert| RootCertStore::empty().add(cert.clone()).is_ok());
    let (is_named, has_none) = (!named.is_empty(), certs.is_empty());
    match errors.first() {
        Some(error) if is_named => {
            Err(io::Error::other(format!("could not read the CA certificates of {named}: {error}")))
        }
        Some(error) if has_none => {
            Err(io::Error::other(format!("could not read this machine's CA certificates: {error}")))
        }
        None if has_none && is_named => {
            Err(io::Error::other(format!("there are no CA certificates in {named}")))
        }
        None if has_none && bundled.is_empty() => {
            Err(io::Error::other("this machine has no CA certificates: install the package ca-certificates"))
        }
        None if has_none => Ok(bundled.to_vec()),
        _ => Ok(certs),
    }
}

#[cfg(all(test, feature = "bundled"))]
#[allow(clippy::unwrap_used, reason = "a test that finds something else fails")]
mod tests {
    use std::path::Path;

    use rustls_native_certs::load_certs_from_paths;

    use super::*;

    /// What is trusted if this file was found; or what is wrong.
    fn chosen(file: Option<&Path>, named: &str) -> Result<usize, String> {
        let chosen = choose(load_certs_from_paths(file, None), named, BUNDLED);
        chosen.map(|certificates| certificates.len()).map_err(|error| error.to_string())
    }

    #[test]
    fn the_bundled_authorities_serve_a_machine_without_any() {
        assert_eq!(chosen(None, ""), Ok(BUNDLED.len()));
        let without = choose(CertificateResult::default(), "", &[]).unwrap_err();
        assert!(without.to_string().ends_with("install the package ca-certificates"), "{without}");
        let mut store = RootCertStore::empty();
        let (usable, unusable) = store.add_parsable_certificates(BUNDLED.iter().cloned());
        assert!(usable > 100 && unusable == 0, "{usable} and {unusable}");
    }

    #[test]
    fn those_of_the_machine_are_preferred() {
        let mut found = CertificateResult::default();
        found.certs.extend([BUNDLED[0].clone(), CertificateDer::from_slice(b"no certificate")]);
        assert_eq!(choose(found, "", BUNDLED).unwrap(), BUNDLED[..1]);
    }

    #[test]
    fn a_named_file_is_no_wish_but_an_order() {
        let missing = Path::new("/nowhere/ca.pem");
        let said = chosen(Some(missing), "SSL_CERT_FILE=/nowhere/ca.pem").unwrap_err();
        assert!(
            said.starts_with("could not read the CA certificates of SSL_CERT_FILE=/nowhere/ca.pem: "),
            "{said}"
        );
        assert_eq!(
            chosen(None, "SSL_CERT_DIR=/empty"),
            Err("there are no CA certificates in SSL_CERT_DIR=/empty".into())
        );
        let unread = chosen(Some(missing), "").unwrap_err();
        assert!(unread.starts_with("could not read this machine's CA certificates: "), "{unread}");
    }
}
