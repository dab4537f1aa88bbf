//! A PostgreSQL server's address: read, held to what is known, and told without its password.

use std::fmt;

use url::Url;

use crate::failure::OpenError;

const SCHEMES: [&str; 2] = ["postgres", "postgresql"];

/// What may stand behind the `?`. A word that the driver passes over silently might be a slip in `sslmode`.
const PARAMETERS: [&str; 6] =
    ["sslmode", "sslrootcert", "sslcert", "sslkey", "application_name", "host"];

/// How connections are called in the server's own lists, unless the address says otherwise.
const APPLICATION: &str = "jari";

/// The address of a database on a server. Shows no password.
#[derive(Clone)]
pub(crate) struct ServerAddress {
    url: Url,
    place: String,
}

impl fmt::Debug for ServerAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.place)
    }
}

impl ServerAddress {
    pub(crate) fn is_one(address: &str) -> bool {
        let scheme = address.split_once(':').map_or("", |(scheme, _)| scheme);
        SCHEMES.contains(&scheme)
    }

    pub(crate) fn parse(address: &str) -> Result<ServerAddress, OpenError> {
        // The text is not told: it may hold a password in the wrong place.
        let refuse = |what: String| Err(OpenError::Address(what));
        let mut url = match Url::parse(address) {
            Ok(url) => url,
            Err(error) => return refuse(format!("the records' address is no URL ({error})")),
        };
        let keys: Vec<_> = url.query_pairs().map(|(key, _)| key.into_owned()).collect();
        if let Some(unknown) = keys.iter().find(|key| !PARAMETERS.contains(&key.as_str())) {
            let known = PARAMETERS.join(", ");
            return refuse(format!("{unknown:?} is none of the address's parameters ({known})"));
        }
        if url.host_str().is_none_or(str::is_empty) && !keys.iter().any(|key| key == "host") {
            return refuse("the records' address names no host".to_owned());
        }
        if url.path().trim_start_matches('/').is_empty() {
            return refuse("the records' address names no database".to_owned());
        }
        let mut place = url.clone();
        // Fails only for addresses without a host, which have no password.
        let _ = place.set_password(None);
        place.set_query(None);
        if !keys.iter().any(|key| key == "application_name") {
            url.query_pairs_mut().append_pair("application_name", APPLICATION);
        }
        Ok(ServerAddress { url, place: place.to_string() })
    }

    /// With the password: for the driver alone.
    pub(crate) fn url(&self) -> &Url {
        &self.url
    }

    /// How the database is called in errors and logs.
    pub(crate) fn place(&self) -> &str {
        &self.place
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_password_is_never_told() {
        let address = "postgres://jari:hunter2@db.example:5433/jari?sslmode=verify-full";
        let read = ServerAddress::parse(address).unwrap();
        assert_eq!(read.place(), "postgres://jari@db.example:5433/jari");
        assert_eq!(read.url().password(), Some("hunter2"));
        let wrong = [
            "postgres://jari:hunter2@db.example:port/jari",
            "postgres://jari:hunter2@db.example/",
            "postgres://jari@db.example/jari?password=hunter2",
            "postgres:///jari",
        ];
        for address in wrong {
            let error = ServerAddress::parse(address).unwrap_err();
            assert!(!format!("{error:?} {error}").contains("hunter2"), "{error}");
        }
        assert!(!format!("{read:?}").contains("hunter2"));
    }

    #[test]
    fn a_slip_in_a_parameter_is_refused_and_a_socket_is_fine() {
        let told = ServerAddress::parse("postgres://db/jari?sslmod=verify-full").unwrap_err();
        assert!(told.to_string().contains("sslmod"), "{told}");
        assert!(ServerAddress::parse("postgres:///jari?host=/run/postgresql").is_ok());
        for (address, server) in
            [("postgres://db/x", true), ("postgresql://db/x", true), ("postgres.db", false)]
        {
            assert_eq!(ServerAddress::is_one(address), server, "{address}");
        }
    }
}
