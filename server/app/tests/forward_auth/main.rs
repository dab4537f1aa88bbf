//! Jari asked at the door by a real nginx, Envoy, Caddy and Traefik, by the very configurations in `deploy/forward-auth`: who has a
//! pass reaches the site as if nobody were between, everybody else is led to the room and back, and no client can say what
//! only the gate may say.

mod asking;
mod configured;
mod leaving;
mod outage;
mod over_tls;
mod passing;
mod spellings;
mod stage;
mod switching;
mod waiting;
mod walking_in;

/// Makes of a function that is given a kind of proxy a test with each of them.
macro_rules! with_each_proxy {
    ($($test:ident)*) => {
        mod nginx { $(#[tokio::test] async fn $test() { super::$test(jari_servers::BalancerKind::Nginx).await; })* }
        mod envoy { $(#[tokio::test] async fn $test() { super::$test(jari_servers::BalancerKind::Envoy).await; })* }
        mod traefik { $(#[tokio::test] async fn $test() { super::$test(jari_servers::BalancerKind::Traefik).await; })* }
        mod caddy { $(#[tokio::test] async fn $test() { super::$test(jari_servers::BalancerKind::Caddy).await; })* }
    };
}
pub(crate) use with_each_proxy;
