//! SIGHUP: heard by every server from its start on, as a process that does not listen is ended by it. Reads no files.

/// SIGHUP, by which services are told to read again what they have read.
#[derive(Debug)]
pub(crate) struct Hangups(#[cfg(unix)] Option<tokio::signal::unix::Signal>);

impl Hangups {
    #[cfg(unix)]
    pub(crate) fn new() -> Self {
        use tokio::signal::unix::{SignalKind, signal};
        let hangups = signal(SignalKind::hangup());
        if let Err(error) = &hangups {
            tracing::warn!(%error, "SIGHUP is not listened to: {error}");
        }
        Hangups(hangups.ok())
    }

    #[cfg(not(unix))]
    pub(crate) fn new() -> Self {
        Hangups()
    }

    #[cfg(unix)]
    pub(crate) async fn next(&mut self) {
        let heard = match &mut self.0 {
            Some(hangups) => hangups.recv().await,
            None => None,
        };
        if heard.is_none() {
            std::future::pending::<()>().await;
        }
    }

    #[cfg(not(unix))]
    pub(crate) async fn next(&mut self) {
        std::future::pending::<()>().await;
    }
}

/// Says of each that it was heard; for ever. Scripts send it to every node, whether it has a certificate of its own or not.
pub(crate) fn keep_hearing() -> impl Future<Output = ()> + Send {
    let mut told = Hangups::new();
    async move {
        loop {
            told.next().await;
            tracing::info!(
                "SIGHUP: the certificate of protect.listen is read again, where there is one; settings are read at a start"
            );
        }
    }
}
