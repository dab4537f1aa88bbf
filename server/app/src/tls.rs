//! TLS of a protected site, from files: what cannot be used and why, and whom an https upstream is taken for. The certificate
//! that visitors are shown is in `certificate`.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use jari_config::Protect;
use jari_http::UpstreamTls;
use rustls::crypto::CryptoProvider;
use rustls::pki_types::pem::{self, PemObject as _};
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use thiserror::Error;

/// A chain has some kilobytes, a whole system's list of authorities some hundreds.
const FILE_MAX_BYTES: u64 = 1_024 * 1_024;

/// What is spoken to sites over TLS (RFC 7301).
const TO_SITES: &[u8] = b"http/1.1";

/// Why TLS cannot be spoken as the configuration says.
#[derive(Debug, Error)]
pub enum TlsError {
    #[error("{key} = {}: {source}; name a PEM file that this user may read", path.display())]
    File { key: &'static str, path: PathBuf, source: pem::Error },
    #[error("{key} = {} is longer than 1 MiB: it is no file of certificates", path.display())]
    TooLong { key: &'static str, path: PathBuf },
    #[error("protect.tls_cert and protect.tls_key do not go together: {0}")]
    Pair(rustls::Error),
    #[error("protect.ca_file = {}: {source}; name the certificate of the authority that signed the site's", path.display())]
    Authority { path: PathBuf, source: rustls::Error },
    #[error(
        "this system has no list of certificate authorities ({0}), and protect.upstream is https; install one (ca-certificates), or name the site's own in protect.ca_file"
    )]
    NoAuthorities(String),
    #[error("protect.server_name = {0:?} is neither a host's name nor an address")]
    Name(String),
    #[error("TLS cannot be spoken here: {0}")]
    Provider(rustls::Error),
}

pub(crate) fn provider() -> Arc<CryptoProvider> {
    Arc::new(rustls::crypto::aws_lc_rs::default_provider())
}

/// A file that the configuration names.
///
/// # Errors
/// [`TlsError::File`], [`TlsError::TooLong`].
pub(crate) fn read(key: &'static str, path: &Path) -> Result<Vec<u8>, TlsError> {
    let unread = |source| not_pem(key, path)(pem::Error::Io(source));
    let mut bytes = Vec::new();
    let file = File::open(path).map_err(unread)?;
    file.take(FILE_MAX_BYTES + 1).read_to_end(&mut bytes).map_err(unread)?;
    if bytes.len() as u64 > FILE_MAX_BYTES {
        return Err(TlsError::TooLong { key, path: path.to_owned() });
    }
    Ok(bytes)
}

pub(crate) fn not_pem(key: &'static str, path: &Path) -> impl Fn(pem::Error) -> TlsError {
    move |source| TlsError::File { key, path: path.to_owned(), source }
}

/// The certificates in a file's text, of which there is one at least.
///
/// # Errors
/// [`TlsError::File`].
pub(crate) fn certificates(
    key: &'static str,
    path: &Path,
    text: &[u8],
) -> Result<Vec<CertificateDer<'static>>, TlsError> {
    let certificates: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(text).collect();
    let certificates = certificates.map_err(not_pem(key, path))?;
    match certificates.is_empty() {
        true => Err(not_pem(key, path)(pem::Error::NoItemsFound)),
        false => Ok(certificates),
    }
}

/// Whom the upstream is taken for: who has a certificate of its name that an authority vouches for.
///
/// # Errors
/// Where nobody could vouch for it, or the name is none.
pub(crate) fn upstream(protect: &Protect) -> Result<UpstreamTls, TlsError> {
    if protect.upstream.scheme() == "http" {
        return Ok(UpstreamTls::default());
    }
    let roots = match &protect.ca_file {
        Some(path) => authorities(path)?,
        None => of_the_system()?,
    };
    let mut config = ClientConfig::builder_with_provider(provider())
        .with_safe_default_protocol_versions()
        .map_err(TlsError::Provider)?
        .with_root_certificates(roots)
        .with_no_client_auth();
    config.alpn_protocols = vec![TO_SITES.to_vec()];
    let name = protect
        .server_name
        .as_ref()
        .map(|name| ServerName::try_from(name.clone()).map_err(|_| TlsError::Name(name.clone())));
    Ok(UpstreamTls { config: Arc::new(config), name: name.transpose()? })
}

fn authorities(path: &Path) -> Result<RootCertStore, TlsError> {
    const KEY: &str = "protect.ca_file";
    let mut roots = RootCertStore::empty();
    for certificate in certificates(KEY, path, &read(KEY, path)?)? {
        let added = roots.add(certificate);
        added.map_err(|source| TlsError::Authority { path: path.to_owned(), source })?;
    }
    Ok(roots)
}

fn of_the_system() -> Result<RootCertStore, TlsError> {
    let found = rustls_native_certs::load_native_certs();
    let mut roots = RootCertStore::empty();
    // A system's list has some that nobody can read any more.
    roots.add_parsable_certificates(found.certs);
    if !roots.is_empty() {
        return Ok(roots);
    }
    let why: Vec<_> = found.errors.iter().map(ToString::to_string).collect();
    Err(TlsError::NoAuthorities(if why.is_empty() { "none found".into() } else { why.join(", ") }))
}
