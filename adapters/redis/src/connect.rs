//! Making connections, to one server, to a Cluster, or to whichever server the Sentinels say is the primary.

use redis::aio::{ConnectionLike, MultiplexedConnection};
use redis::cluster::{ClusterClient, ClusterClientBuilder};
use redis::cluster_async::ClusterConnection;
use redis::sentinel::{SentinelClientBuilder, SentinelServerType};
use redis::{
    AsyncConnectionConfig, Client, Cmd, ConnectionInfo, Pipeline, ProtocolVersion, PushInfo,
    RedisFuture, RedisResult, TlsCertificates, TlsMode, Value,
};
use tokio::sync::mpsc::UnboundedSender;

use crate::address::{Address, Arrangement, with_pushes};
use crate::limits::{
    CALL_DEADLINE, CLUSTER_RETRIES, CLUSTER_RETRY_MAX_MS, CLUSTER_RETRY_MIN_MS, CONNECT_DEADLINE,
};

/// A connection that many callers share.
#[derive(Clone)]
pub(crate) enum Connection {
    Server(MultiplexedConnection),
    Cluster(ClusterConnection),
}

/// Where what comes unasked is to go: messages of subscriptions, and word that the connection is lost.
pub(crate) type Pushes = UnboundedSender<PushInfo>;

impl Connection {
    /// Connects; with `pushes` in the protocol that has them.
    pub(crate) async fn make(address: &Address, pushes: Option<Pushes>) -> RedisResult<Connection> {
        install_tls();
        match &address.arrangement {
            Arrangement::Standalone(server) => {
                to_server(server.clone(), address.certificates(), pushes).await
            }
            Arrangement::Sentinel { sentinels, master, tls } => {
                let certificates = address.certificates();
                let server = primary(sentinels, master, *tls, certificates).await?;
                // Its address holds the certificates by now.
                to_server(server, None, pushes).await
            }
            Arrangement::Cluster(nodes) => {
                let client = cluster(nodes, address.certificates(), pushes)?;
                Ok(Connection::Cluster(client.get_async_connection().await?))
            }
        }
    }

    /// Several servers, of which some may be away.
    pub(crate) fn is_cluster(&self) -> bool {
        matches!(self, Connection::Cluster(_))
    }

    /// Asks to hear of a channel of the slot of its name.
    pub(crate) async fn subscribe(&mut self, channel: &str) -> RedisResult<()> {
        match self {
            Connection::Cluster(cluster) => cluster.ssubscribe(channel).await,
            // One channel, one confirmation: an answer like any other.
            Connection::Server(server) => {
                redis::cmd("SSUBSCRIBE").arg(channel).exec_async(server).await
            }
        }
    }

    pub(crate) async fn unsubscribe(&mut self, channel: &str) -> RedisResult<()> {
        match self {
            Connection::Cluster(cluster) => cluster.sunsubscribe(channel).await,
            Connection::Server(server) => {
                redis::cmd("SUNSUBSCRIBE").arg(channel).exec_async(server).await
            }
        }
    }
}

impl ConnectionLike for Connection {
    fn req_packed_command<'a>(&'a mut self, command: &'a Cmd) -> RedisFuture<'a, Value> {
        match self {
            Connection::Server(server) => server.req_packed_command(command),
            Connection::Cluster(cluster) => cluster.req_packed_command(command),
        }
    }

    fn req_packed_commands<'a>(
        &'a mut self,
        pipeline: &'a Pipeline,
        offset: usize,
        count: usize,
    ) -> RedisFuture<'a, Vec<Value>> {
        match self {
            Connection::Server(server) => server.req_packed_commands(pipeline, offset, count),
            Connection::Cluster(cluster) => cluster.req_packed_commands(pipeline, offset, count),
        }
    }

    fn get_db(&self) -> i64 {
        match self {
            Connection::Server(server) => server.get_db(),
            Connection::Cluster(cluster) => cluster.get_db(),
        }
    }
}

impl std::fmt::Debug for Connection {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Connection::Server(_) => "a connection to a server",
            Connection::Cluster(_) => "connections to a Cluster",
        })
    }
}

/// rustls asks the process for its cryptography; another part of the program may have named the same one before.
fn install_tls() {
    let _named_before = rustls::crypto::aws_lc_rs::default_provider().install_default();
}

fn config() -> AsyncConnectionConfig {
    AsyncConnectionConfig::new()
        .set_connection_timeout(Some(CONNECT_DEADLINE))
        .set_response_timeout(Some(CALL_DEADLINE))
}

async fn to_server(
    server: ConnectionInfo,
    certificates: Option<TlsCertificates>,
    pushes: Option<Pushes>,
) -> RedisResult<Connection> {
    let (server, config) = match pushes {
        Some(pushes) => (with_pushes(server), config().set_push_sender(pushes)),
        None => (server, config()),
    };
    let client = match certificates {
        Some(certificates) => Client::build_with_tls(server, certificates)?,
        None => Client::open(server)?,
    };
    let made = client.get_multiplexed_async_connection_with_config(&config).await?;
    Ok(Connection::Server(made))
}

fn cluster(
    nodes: &[ConnectionInfo],
    certificates: Option<TlsCertificates>,
    pushes: Option<Pushes>,
) -> RedisResult<ClusterClient> {
    let mut builder = ClusterClientBuilder::new(nodes.to_vec())
        .connection_timeout(CONNECT_DEADLINE)
        .response_timeout(CALL_DEADLINE)
        .retries(CLUSTER_RETRIES)
        .min_retry_wait(CLUSTER_RETRY_MIN_MS)
        .max_retry_wait(CLUSTER_RETRY_MAX_MS);
    if let Some(certificates) = certificates {
        builder = builder.certs(certificates);
    }
    if let Some(pushes) = pushes {
        builder = builder.use_protocol(ProtocolVersion::RESP3).push_sender(pushes);
    }
    builder.build()
}

/// The primary that the Sentinels name now. User and password are the servers'; the Sentinels are asked without.
async fn primary(
    sentinels: &[ConnectionInfo],
    master: &str,
    tls: bool,
    certificates: Option<TlsCertificates>,
) -> RedisResult<ConnectionInfo> {
    let addresses = sentinels.iter().map(|sentinel| sentinel.addr().clone());
    let mut builder = SentinelClientBuilder::new(addresses, master, SentinelServerType::Master)?;
    if tls {
        builder = builder
            .set_client_to_redis_tls_mode(TlsMode::Secure)
            .set_client_to_sentinel_tls_mode(TlsMode::Secure);
    }
    if let Some(certificates) = certificates {
        builder = builder
            .set_client_to_redis_certificates(certificates.clone())
            .set_client_to_sentinel_certificates(certificates);
    }
    let settings = sentinels.first().map(|first| first.redis_settings().clone());
    if let Some(user) = settings.as_ref().and_then(|settings| settings.username()) {
        builder = builder.set_client_to_redis_username(user);
    }
    if let Some(password) = settings.as_ref().and_then(|settings| settings.password()) {
        builder = builder.set_client_to_redis_password(password);
    }
    let client = builder.build()?.async_get_client().await?;
    Ok(client.get_connection_info().clone())
}
