//! The certificate that a protected site's visitors are shown: read again when its files change, while connections go on. A
//! new one that cannot be used changes nothing.

use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use arc_swap::ArcSwap;
use aws_lc_rs::digest::{Context, SHA256};
use jari_config::TlsFiles;
use jari_http::metrics::Metrics;
use rustls::ServerConfig;
use rustls::pki_types::PrivateKeyDer;
use rustls::pki_types::pem::{self, PemObject as _};
use rustls::server::{ClientHello, ResolvesServerCert};
use rustls::sign::CertifiedKey;
use tokio::time::sleep;
use tokio_rustls::TlsAcceptor;

use crate::hangups::Hangups;
use crate::tls::{TlsError, certificates, not_pem, provider, read};

const CERT: &str = "protect.tls_cert";
const KEY: &str = "protect.tls_key";

/// What is spoken over TLS, the better first (RFC 7301).
const PROTOCOLS: [&[u8]; 2] = [b"h2", b"http/1.1"];

/// How often the files are looked at. A change is taken once two looks in a row have found the same: who renews it writes the
/// one file and then the other.
const LOOK_EVERY: Duration = Duration::from_secs(2);

/// A digest of both files; `None`: they cannot be read.
type Content = Option<[u8; 32]>;

/// The certificate in its files, and the one that is shown.
#[derive(Debug)]
pub(crate) struct Certificate {
    files: TlsFiles,
    shown: ArcSwap<CertifiedKey>,
    /// As it was when it was read first.
    first: Content,
}

impl ResolvesServerCert for Certificate {
    fn resolve(&self, _hello: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        Some(self.shown.load_full())
    }
}

impl Certificate {
    /// Reads it.
    ///
    /// # Errors
    /// Why it cannot be used.
    pub(crate) fn read(files: &TlsFiles) -> Result<Certificate, TlsError> {
        let (first, pair) = look(files);
        let shown = ArcSwap::from(Arc::new(pair?));
        Ok(Certificate { files: files.clone(), shown, first })
    }

    /// Accepts connections with it, and with the one that it becomes.
    ///
    /// # Errors
    /// Where the versions of TLS that are safe are none here.
    pub(crate) fn acceptor(self: &Arc<Self>) -> Result<TlsAcceptor, TlsError> {
        let mut config = ServerConfig::builder_with_provider(provider())
            .with_safe_default_protocol_versions()
            .map_err(TlsError::Provider)?
            .with_no_client_auth()
            .with_cert_resolver(self.clone());
        config.alpn_protocols = PROTOCOLS.map(<[u8]>::to_vec).into();
        Ok(TlsAcceptor::from(Arc::new(config)))
    }

    /// Reads the files again when they change, and at once on SIGHUP, which is listened to from this call on; for ever.
    pub(crate) fn keep_renewing(
        self: Arc<Self>,
        metrics: Arc<Metrics>,
    ) -> impl Future<Output = ()> + Send {
        let mut told = Hangups::new();
        async move {
            let mut looks = Looks { acted_on: self.first, last: self.first };
            loop {
                let at_once = tokio::select! {
                    () = sleep(LOOK_EVERY) => false,
                    () = told.next() => true,
                };
                let files = self.files.clone();
                let looked = tokio::task::spawn_blocking(move || look(&files)).await;
                // The thread ends early only where the process does.
                let Ok((content, pair)) = looked else { return };
                if looks.is_due(content, at_once) {
                    self.take(pair, &metrics);
                }
            }
        }
    }

    fn take(&self, pair: Result<CertifiedKey, TlsError>, metrics: &Metrics) {
        metrics.certificate_renewed(pair.is_ok());
        let file = self.files.cert.display();
        match pair {
            Ok(pair) => {
                self.shown.store(Arc::new(pair));
                tracing::info!(%file, "new connections are shown the certificate that {file} has now");
            }
            Err(error) => tracing::error!(
                %error,
                "the site's certificate has changed and cannot be used, the one before is still shown: {error}"
            ),
        }
    }
}

/// What the files have now, and whether it can be used.
fn look(files: &TlsFiles) -> (Content, Result<CertifiedKey, TlsError>) {
    let file = |key, path: &Path| regular(key, path).and_then(|()| read(key, path));
    match file(CERT, &files.cert).and_then(|cert| Ok((cert, file(KEY, &files.key)?))) {
        Ok((cert, key)) => (Some(digest(&cert, &key)), pair(files, &cert, &key)),
        Err(error) => (None, Err(error)),
    }
}

/// A pipe would be read once, and waited for the second time, for ever.
fn regular(key: &'static str, path: &Path) -> Result<(), TlsError> {
    let unread = |source| not_pem(key, path)(pem::Error::Io(source));
    match std::fs::metadata(path).map_err(unread)?.is_file() {
        true => Ok(()),
        false => Err(unread(io::Error::new(io::ErrorKind::InvalidInput, "it is no regular file"))),
    }
}

fn digest(cert: &[u8], key: &[u8]) -> [u8; 32] {
    let mut context = Context::new(&SHA256);
    context.update(&(cert.len() as u64).to_be_bytes());
    context.update(cert);
    context.update(key);
    context.finish().as_ref().try_into().expect("SHA-256 has 32 bytes")
}

fn pair(files: &TlsFiles, cert: &[u8], key: &[u8]) -> Result<CertifiedKey, TlsError> {
    let certs = certificates(CERT, &files.cert, cert)?;
    let key = PrivateKeyDer::from_pem_slice(key).map_err(not_pem(KEY, &files.key))?;
    CertifiedKey::from_der(certs, key, &provider()).map_err(TlsError::Pair)
}

/// What was found so far.
#[derive(Debug)]
struct Looks {
    /// What was taken or refused last.
    acted_on: Content,
    last: Content,
}

impl Looks {
    /// Whether what the files have is to be taken now: something new that stays, or whatever it is where somebody asks for it.
    fn is_due(&mut self, content: Content, at_once: bool) -> bool {
        let stays = std::mem::replace(&mut self.last, content) == content;
        let due = at_once || stays && content != self.acted_on;
        if due {
            self.acted_on = content;
        }
        due
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A look that waits would be the last one.
    #[cfg(unix)]
    #[test]
    fn a_pipe_is_no_certificate() {
        let folder = tempfile::tempdir().expect("a folder");
        let cert = folder.path().join("cert.pem");
        let made = std::process::Command::new("mkfifo").arg(&cert).status();
        assert!(made.expect("there is a mkfifo command").success());
        let (content, pair) = look(&TlsFiles { key: cert.clone(), cert });
        assert_eq!(content, None);
        let error = pair.expect_err("it is none").to_string();
        assert!(error.contains("no regular file") && error.contains("cert.pem"), "{error}");
    }

    #[test]
    fn a_change_is_taken_once_when_it_stays_and_at_once_when_asked_for() {
        let [old, half, new] = [[1; 32], [2; 32], [3; 32]].map(Some);
        let mut looks = Looks { acted_on: old, last: old };
        for (content, at_once, want) in [
            (old, false, false),
            // One file of two is written, then none can be read, then both are there.
            (half, false, false),
            (None, false, false),
            (new, false, false),
            (new, false, true),
            (new, false, false),
            // Away for longer than a moment: told once.
            (None, false, false),
            (None, false, true),
            (None, false, false),
            // Asked for: taken though it is new, or the same.
            (old, true, true),
            (old, false, false),
            (old, true, true),
        ] {
            assert_eq!(looks.is_due(content, at_once), want, "{content:?} {at_once}");
        }
    }
}
