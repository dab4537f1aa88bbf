//! Joins per client address, and newcomers per address and network: what one client can take of a line whose places cost
//! nothing. In memory, and on each node by itself.

use std::net::IpAddr;

use jari_api::Code;
use jari_ports::Entropy;

use crate::client_address::{limit_key, network_key};
use crate::options::{HttpOptions, JoinLimit};
use crate::problem_response::Refusal;
use crate::rate_cells::{PER_MINUTE, Pace, RateCells};

#[derive(Debug)]
pub struct JoinLimiter {
    joins: RateCells,
    newcomers: RateCells,
    networks: RateCells,
}

impl JoinLimiter {
    /// Where joins are not limited by address, nothing is.
    #[must_use]
    pub fn new(options: &HttpOptions, entropy: &dyn Entropy) -> Self {
        let off = options.join_limit.per_minute == 0;
        let cells = |limit: JoinLimit| {
            let count = if off { 0 } else { limit.per_minute };
            RateCells::new(Pace { count, span: PER_MINUTE, burst: limit.burst }, entropy)
        };
        JoinLimiter {
            joins: cells(options.join_limit),
            newcomers: cells(options.newcomer_limit),
            networks: cells(options.network_limit),
        }
    }

    /// Counts a join from `address`, whoever it is.
    ///
    /// # Errors
    /// 429 `too_many_joins`; this one does not count.
    pub(crate) fn join(&self, address: IpAddr) -> Result<(), Refusal> {
        let counted = self.joins.count(limit_key(address));
        counted.map_err(|after| Refusal::new(Code::TooManyJoins).poll_after(after))
    }

    /// Counts somebody from `address` who is to get a place and is known by nothing but a cookie of ours, which costs nobody
    /// anything. Who is over the limit of the address takes nothing of its network's.
    ///
    /// # Errors
    /// 429 `too_many_newcomers`, with which `limit` it was.
    pub(crate) fn newcomer(&self, address: IpAddr) -> Result<(), Refusal> {
        let by_address = self.newcomers.count(limit_key(address)).map_err(|at| ("address", at));
        let counted = by_address.and_then(|()| {
            self.networks.count(network_key(address)).map_err(|after| ("network", after))
        });
        counted.map_err(|(limit, after)| {
            Refusal::new(Code::TooManyNewcomers).with("limit", limit).poll_after(after)
        })
    }

    /// Takes back a newcomer who got no place after all, or had one: who asks again and again before the opening is one person.
    pub(crate) fn no_newcomer(&self, address: IpAddr) {
        self.newcomers.give_back(limit_key(address));
        self.networks.give_back(network_key(address));
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::jitter::tests::Fixed;

    fn limiter(change: impl FnOnce(&mut HttpOptions)) -> JoinLimiter {
        let mut options = HttpOptions::new("http://127.0.0.1/".parse().expect("a URL"));
        change(&mut options);
        JoinLimiter::new(&options, &Fixed(9))
    }

    fn limit(per_minute: u32, burst: u32) -> JoinLimit {
        JoinLimit { per_minute, burst }
    }

    fn ip(text: &str) -> IpAddr {
        text.parse().expect("an address")
    }

    fn taken(limiter: &JoinLimiter, address: &str, tries: usize) -> usize {
        (0..tries).filter(|_| limiter.newcomer(ip(address)).is_ok()).count()
    }

    #[tokio::test(start_paused = true)]
    async fn newcomers_of_an_address_and_of_its_network_are_limited() {
        let limiter = limiter(|options| {
            options.newcomer_limit = limit(60, 10);
            options.network_limit = limit(600, 25);
        });
        assert_eq!(taken(&limiter, "192.0.2.1", 500), 10);
        let refusal = limiter.newcomer(ip("192.0.2.1")).expect_err("over its limit");
        assert_eq!(refusal.code(), Code::TooManyNewcomers);
        assert_eq!(taken(&limiter, "192.0.2.2", 500), 10, "a neighbour has its own");
        // 480 refused tries took nothing of the network's 25.
        assert_eq!(taken(&limiter, "192.0.2.3", 500), 5, "and all of a network one together");
        assert_eq!(taken(&limiter, "192.0.3.1", 500), 10, "another network is not held to it");
        tokio::time::advance(Duration::from_secs(2)).await;
        assert_eq!(taken(&limiter, "192.0.2.1", 500), 2);
    }

    /// A provider gives a customer of IPv6 a whole /64 at least, and whoever has a server often a /48.
    #[tokio::test(start_paused = true)]
    async fn ipv6_is_counted_by_64_and_by_48() {
        let limiter = limiter(|options| {
            options.newcomer_limit = limit(60, 10);
            options.network_limit = limit(600, 25);
        });
        assert_eq!(taken(&limiter, "2001:db8:1:1::1", 5), 5);
        assert_eq!(taken(&limiter, "2001:db8:1:1:ffff::2", 500), 5, "one /64");
        assert_eq!(taken(&limiter, "2001:db8:1:2::1", 500), 10);
        assert_eq!(taken(&limiter, "2001:db8:1:ffff::1", 500), 5, "one /48");
        assert_eq!(taken(&limiter, "2001:db8:2::1", 500), 10);
        assert_eq!(taken(&limiter, "::ffff:192.0.2.1", 5), 5);
        assert_eq!(taken(&limiter, "192.0.2.1", 500), 5, "the same address");
    }

    /// Somebody who looks before the opening, every half a minute, takes nothing of the limit.
    #[tokio::test(start_paused = true)]
    async fn who_got_no_place_does_not_count() {
        let limiter = limiter(|options| options.newcomer_limit = limit(60, 10));
        for _ in 0..1_000 {
            assert!(limiter.newcomer(ip("192.0.2.1")).is_ok());
            limiter.no_newcomer(ip("192.0.2.1"));
        }
        assert_eq!(taken(&limiter, "192.0.2.1", 500), 10);
    }

    #[tokio::test(start_paused = true)]
    async fn joins_of_one_address_are_limited_whoever_they_are() {
        let limiter = limiter(|options| options.join_limit = limit(60, 10));
        assert_eq!((0..50).filter(|_| limiter.join(ip("192.0.2.1")).is_ok()).count(), 10);
        assert!(limiter.join(ip("192.0.2.2")).is_ok());
    }

    #[tokio::test(start_paused = true)]
    async fn without_a_limit_of_joins_there_is_none_of_newcomers() {
        let limiter = limiter(|options| options.join_limit.per_minute = 0);
        assert_eq!(taken(&limiter, "192.0.2.1", 50_000), 50_000);
        let limiter = self::limiter(|options| options.newcomer_limit.per_minute = 0);
        assert_eq!(taken(&limiter, "192.0.2.1", 5_000), 5_000, "but that of networks is another");
    }
}
