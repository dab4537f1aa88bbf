//! Certificates for tests, by authorities of their own.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject as _;
use tempfile::TempDir;

/// Somebody whose word is taken by whoever knows their certificate.
pub(crate) struct Authority {
    folder: TempDir,
}

/// A certificate, with its key.
pub(crate) struct Signed {
    pub(crate) cert: PathBuf,
    pub(crate) key: PathBuf,
}

/// Runs openssl in a folder. Keys are on a curve: an RSA key takes a second to find.
fn openssl(folder: &Path, args: &str) {
    let mut command = Command::new("openssl");
    let made = command.current_dir(folder).args(args.split(' ')).output();
    let made = made.expect("openssl is there");
    assert!(made.status.success(), "{args}: {}", String::from_utf8_lossy(&made.stderr));
}

const KEY: &str = "-newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes";

impl Authority {
    pub(crate) fn new() -> Authority {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let authority = "-subj /CN=authority -addext basicConstraints=critical,CA:TRUE";
        let args = format!("req -x509 {KEY} -days 2 {authority} -keyout ca.key -out ca.pem");
        openssl(folder.path(), &args);
        Authority { folder }
    }

    /// Where its own certificate is.
    pub(crate) fn file(&self) -> PathBuf {
        self.folder.path().join("ca.pem")
    }

    pub(crate) fn pem(&self) -> Vec<u8> {
        std::fs::read(self.file()).expect("it was written")
    }

    pub(crate) fn der(&self) -> CertificateDer<'static> {
        CertificateDer::from_pem_slice(&self.pem()).expect("a certificate")
    }

    /// A certificate for `of` (`DNS:name`, `IP:address`).
    pub(crate) fn sign(&self, of: &str) -> Signed {
        self.sign_for_days(of, 2)
    }

    /// One that has run out.
    pub(crate) fn sign_too_late(&self, of: &str) -> Signed {
        let signed = self.sign_for_days(of, 0);
        // It ends with the second that it was made in.
        std::thread::sleep(Duration::from_millis(1_100));
        signed
    }

    fn sign_for_days(&self, of: &str, days: u32) -> Signed {
        // Removed with the authority's own.
        let folder = tempfile::tempdir_in(self.folder.path()).expect("the folder is ours").keep();
        let site = format!("-subj /CN=site -addext subjectAltName={of}");
        openssl(&folder, &format!("req {KEY} {site} -keyout site.key -out site.csr"));
        let by = "-CA ../ca.pem -CAkey ../ca.key -CAcreateserial -copy_extensions copy";
        openssl(&folder, &format!("x509 -req -in site.csr {by} -days {days} -out site.pem"));
        Signed { cert: folder.join("site.pem"), key: folder.join("site.key") }
    }
}
