//! Limits how many places one address takes.

use std::fmt;
use std::hash::{BuildHasher, RandomState};
use std::net::{IpAddr, Ipv4Addr};
use std::num::NonZeroU32;
use std::str::FromStr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use hyper::HeaderMap;
use ipnet::Ipv6Net;
use parking_lot::Mutex;
use producer::PlaceLimit;

use crate::proxies::{TrustedProxies, is_from_here};

const MINUTE: Duration = Duration::from_mins(1);

/// How many places an address may take at once. After that it may take as many again in a minute, evenly spaced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PlacesPerMinute(NonZeroU32);

impl PlacesPerMinute {
    pub const fn get(self) -> u32 {
        self.0.get()
    }
}

impl FromStr for PlacesPerMinute {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        text.parse().map(Self).map_err(|_| "must be a whole number from 1; leave it out for no limit")
    }
}

/// Counts the places that each [`LimitedClient`] takes, and those of each IPv6 site.
///
/// The memory is fixed. An address has its entry in one group of [`Group`] entries, and only while the limit still has to
/// remember a place that it took. If more addresses need an entry of the same group, the one that took the fewest places
/// is forgotten: many addresses at once make the limit milder, never stricter.
#[derive(Debug)]
pub struct JoinLimit {
    proxies: TrustedProxies,
    /// The time in which an address regains one place.
    pause: Duration,
    started: Instant,
    hasher: RandomState,
    groups: Box<[Mutex<Group>]>,
    has_warned: AtomicBool,
    has_told: AtomicBool,
}

type Group = [Entry; 8];

/// Who is limited as one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum LimitedClient {
    Address(Ipv4Addr),
    /// An IPv6 network of 64 bits, because one client usually has all of its addresses. Or a site, which has 48 bits.
    Network(Ipv6Net),
    /// This machine itself, through its own proxy.
    Here,
    /// All whose address nobody knows. Without a limit, it would be enough to hide it.
    Unknown,
}

/// What one client or site has used. All times are since the limit's start.
#[derive(Clone, Copy, Debug, Default)]
struct Entry {
    of: Option<LimitedClient>,
    /// Each place moves this forward by one pause. A place is refused if it would lie more than a minute ahead.
    used_until: Duration,
}

impl JoinLimit {
    /// With eight entries each, room for 65,536 addresses in 3 MB.
    const GROUPS: usize = 8192;
    /// A site takes as many places as so many clients. A provider gives a company or a rented server up to 65,536 networks
    /// of 64 bits. It may also give one to each of its customers, and then the site is hundreds of households.
    const CLIENTS_OF_SITE: u32 = 16;

    pub fn new(PlacesPerMinute(places): PlacesPerMinute, proxies: TrustedProxies) -> Self {
        Self::with_groups(places, proxies, Self::GROUPS)
    }

    fn with_groups(places: NonZeroU32, proxies: TrustedProxies, groups: usize) -> Self {
        Self {
            proxies,
            pause: MINUTE / places.get(),
            started: Instant::now(),
            hasher: RandomState::new(),
            groups: (0..groups).map(|_| Mutex::default()).collect(),
            has_warned: AtomicBool::new(false),
            has_told: AtomicBool::new(false),
        }
    }

    /// The limit for the client of this request.
    pub(crate) fn client(&self, sender: IpAddr, headers: &HeaderMap) -> ClientLimit<'_> {
        let mut client = LimitedClient::of(self.proxies.client(sender, headers));
        if client == LimitedClient::Unknown && is_from_here(sender, headers) {
            client = LimitedClient::Here;
            if !self.has_told.swap(true, Ordering::Relaxed) {
                tracing::info!(
                    "this machine itself sent a request through its proxy, as when you try the room here. If your visitors seem to \
                     come from it too, let what is in front of that proxy add X-Forwarded-For"
                );
            }
        } else if client == LimitedClient::Unknown && !self.has_warned.swap(true, Ordering::Relaxed) {
            tracing::warn!(
                proxy = %sender,
                "a request came through named proxies only, so its client is unknown; all unknown clients together may take \
                 as many places as --join-limit lets one address take; let the proxy add X-Forwarded-For, and name only \
                 proxies with --trust-proxy"
            );
        }
        ClientLimit { limit: self, client, has_refused: AtomicBool::new(false) }
    }

    /// Changes the entry of this client or site, or a free one.
    fn with_entry<T>(&self, of: LimitedClient, change: impl FnOnce(&mut Entry) -> T) -> T {
        let hash = usize::try_from(self.hasher.hash_one(of) % self.groups.len() as u64).unwrap_or_default();
        let mut group = self.groups[hash].lock();
        let own = group.iter().position(|entry| entry.of == Some(of));
        let least_used = || (0..group.len()).min_by_key(|&index| group[index].used_until).unwrap_or_default();
        let index = own.unwrap_or_else(least_used);
        let entry = &mut group[index];
        if own.is_none() {
            *entry = Entry { of: Some(of), used_until: Duration::ZERO };
        }
        change(entry)
    }

    fn take(&self, client: LimitedClient, now: Duration) -> Result<(), Duration> {
        let Some(site) = client.site() else { return self.take_one(client, self.pause, now) };
        // The site first: beyond its limit, its networks take no entries from others.
        self.take_one(site, self.pause / Self::CLIENTS_OF_SITE, now)?;
        let taken = self.take_one(client, self.pause, now);
        taken.inspect_err(|_| self.give_one_back(site, self.pause / Self::CLIENTS_OF_SITE))
    }

    fn give_back(&self, client: LimitedClient) {
        self.give_one_back(client, self.pause);
        if let Some(site) = client.site() {
            self.give_one_back(site, self.pause / Self::CLIENTS_OF_SITE);
        }
    }

    fn take_one(&self, of: LimitedClient, pause: Duration, now: Duration) -> Result<(), Duration> {
        self.with_entry(of, |entry| {
            let used_until = entry.used_until.max(now) + pause;
            if let Some(wait) = used_until.checked_sub(now + MINUTE).filter(|wait| !wait.is_zero()) {
                return Err(wait);
            }
            entry.used_until = used_until;
            Ok(())
        })
    }

    fn give_one_back(&self, of: LimitedClient, pause: Duration) {
        self.with_entry(of, |entry| entry.used_until = entry.used_until.saturating_sub(pause));
    }
}

/// The limit for one client.
#[derive(Debug)]
pub(crate) struct ClientLimit<'a> {
    limit: &'a JoinLimit,
    client: LimitedClient,
    has_refused: AtomicBool,
}

impl PlaceLimit for ClientLimit<'_> {
    fn take(&self) -> Result<(), Duration> {
        let taken = self.limit.take(self.client, self.limit.started.elapsed());
        self.has_refused.fetch_or(taken.is_err(), Ordering::Relaxed);
        taken
    }

    fn give_back(&self) {
        self.limit.give_back(self.client);
    }
}

/// For the log: whose join was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0} took as many places as --join-limit allows")]
pub(crate) struct TooManyPlaces(LimitedClient);

impl ClientLimit<'_> {
    /// `None` if the client may have been refused for another reason.
    pub(crate) fn refusal(&self) -> Option<TooManyPlaces> {
        self.has_refused.load(Ordering::Relaxed).then_some(TooManyPlaces(self.client))
    }
}

impl LimitedClient {
    const NETWORK: u8 = 64;
    const SITE: u8 = 48;

    fn of(address: Option<IpAddr>) -> Self {
        match address {
            Some(IpAddr::V4(address)) => Self::Address(address),
            Some(IpAddr::V6(address)) => Self::Network(Ipv6Net::new_assert(address, Self::NETWORK).trunc()),
            None => Self::Unknown,
        }
    }

    /// Who limits this client too.
    fn site(self) -> Option<Self> {
        match self {
            Self::Network(network) => {
                Some(Self::Network(Ipv6Net::new_assert(network.addr(), Self::SITE).trunc()))
            }
            Self::Address(_) | Self::Here | Self::Unknown => None,
        }
    }
}

impl fmt::Display for LimitedClient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Address(address) => address.fmt(f),
            Self::Network(network) => network.fmt(f),
            Self::Here => f.write_str("this machine itself"),
            Self::Unknown => f.write_str("all clients whose address is unknown"),
        }
    }
}

#[cfg(test)]
mod tests {
    use simulation::Arrivals;

    use super::*;

    const START: Duration = Duration::ZERO;

    fn limit(places: u32) -> JoinLimit {
        limit_with_groups(places, JoinLimit::GROUPS)
    }

    fn limit_with_groups(places: u32, groups: usize) -> JoinLimit {
        JoinLimit::with_groups(NonZeroU32::new(places).unwrap(), TrustedProxies::default(), groups)
    }

    fn of(address: &str) -> LimitedClient {
        LimitedClient::of(Some(address.parse().unwrap()))
    }

    fn v4(number: u32) -> LimitedClient {
        LimitedClient::Address(Ipv4Addr::from_bits(number))
    }

    /// A network of 64 bits in the site `2001:db8:7::/48`.
    fn in_site(number: u16) -> LimitedClient {
        of(&format!("2001:db8:7:{number:x}::1"))
    }

    #[test]
    fn an_address_takes_its_places_at_once_and_then_one_by_one() {
        let limit = limit(20);
        let (client, second) = (of("203.0.113.9"), Duration::from_secs(1));
        for _ in 0..20 {
            assert_eq!(limit.take(client, START), Ok(()));
        }
        assert_eq!(limit.take(client, START), Err(3 * second));
        assert_eq!(limit.take(client, 2 * second), Err(second), "a refusal does not count");
        assert_eq!(limit.take(client, 3 * second), Ok(()));
        assert_eq!(limit.take(client, 3 * second), Err(3 * second));
        assert_eq!(limit.take(of("203.0.113.10"), START), Ok(()), "another address has its own places");
        for _ in 0..20 {
            assert_eq!(limit.take(client, MINUTE + 3 * second), Ok(()), "all are regained in a minute");
        }
        assert_eq!(limit.take(client, MINUTE + 3 * second), Err(3 * second));
    }

    /// One in fifty of 20,000 visitors shares an address. The room's file has the number for those who all come within a minute.
    #[test]
    fn the_documented_numbers_refuse_nobody_of_a_crowd_and_most_of_a_script() {
        let (file, page) =
            (include_str!("../../../docs/hosting/room.toml"), include_str!("../../../docs/abuse.md"));
        let shipped = file.lines().find_map(|line| line.strip_prefix("# join_limit = ")).unwrap();
        assert!(page.contains(&format!("--join-limit {shipped}\n")), "{shipped}");
        let compose = include_str!("../../../infra/release/compose/compose.yaml");
        for file in [compose, include_str!("../../../infra/release/kubernetes.yaml")] {
            assert!(file.contains(&format!("# - --join-limit={shipped}\n")), "{shipped}");
        }
        let at_once: u32 = shipped.parse().unwrap();
        let evenly = at_once / 5;
        for (places, shape) in [(at_once, "spike"), (evenly, "5m"), (evenly, "email")] {
            let (limit, crowd) = (limit(places), Arrivals::new(shape.parse().unwrap(), Some(20_000 / 50)));
            let come = crowd.unwrap().times(7).into_iter().map(|at| Duration::from_millis(at.into()));
            let refused = come.filter(|&at| limit.take(of("203.0.113.9"), at).is_err()).count();
            assert_eq!(refused, 0, "{places} places a minute: {shape}");
        }
        let script = |places| {
            let limit = limit(places);
            let tries = (0..=300_000).map(|number| Duration::from_millis(2 * number));
            tries.filter(|&at| limit.take(of("203.0.113.9"), at).is_ok()).count()
        };
        assert_eq!([at_once, evenly].map(script), [4400, 880]);
        assert!(page.contains("a script takes 4,400 places in ten minutes from its address; with 80, 880"));
    }

    #[test]
    fn any_number_of_places_is_allowed_exactly() {
        for places in [1, 7, 59, 61, 100_000] {
            let limit = limit(places);
            let taken = (0..=places).filter(|_| limit.take(of("203.0.113.9"), START).is_ok()).count();
            assert_eq!(taken, places as usize);
        }
    }

    #[test]
    fn a_place_that_was_not_stored_is_given_back() {
        let limit = limit(1);
        let client = of("203.0.113.9");
        limit.take(client, START).unwrap();
        limit.give_back(client);
        assert_eq!(limit.take(client, START), Ok(()));
        assert!(limit.take(client, START).is_err());
    }

    #[test]
    fn an_ipv6_network_of_64_bits_is_one_client() {
        let limit = limit(1);
        limit.take(of("2001:db8:0:1::1"), START).unwrap();
        assert!(limit.take(of("2001:db8:0:1:ffff:ffff:ffff:ffff"), START).is_err());
        assert!(limit.take(of("2001:db8:0:2::1"), START).is_ok());
    }

    #[test]
    fn a_site_with_65536_networks_takes_no_more_than_sixteen_clients() {
        let limit = limit(20);
        let take = |now| (0..=u16::MAX).filter(|&number| limit.take(in_site(number), now).is_ok()).count();
        assert_eq!(take(START), 16 * 20);
        assert_eq!(take(Duration::from_secs(30)), 16 * 10);
        assert!(limit.take(of("2001:db8:8::1"), START).is_ok(), "another site");
        assert!(limit.take(of("203.0.113.9"), START).is_ok());
        let used = |number| limit.with_entry(in_site(number), |entry| entry.used_until);
        assert_eq!(used(u16::MAX), Duration::ZERO, "a refused network takes no entry");
    }

    #[test]
    fn a_client_gives_its_site_back_too() {
        let limit = limit(1);
        for number in 0..1000 {
            limit.take(in_site(number), START).unwrap();
            limit.give_back(in_site(number));
        }
        for number in 0..16 {
            assert_eq!(limit.take(in_site(number), START), Ok(()));
        }
        assert!(limit.take(in_site(16), START).is_err());
        assert!(limit.take(in_site(0), START).is_err(), "one network takes one");
    }

    #[test]
    fn clients_whose_address_is_unknown_share_one_limit() {
        let limit = limit(1);
        assert_eq!(limit.take(LimitedClient::of(None), START), Ok(()));
        assert!(limit.take(LimitedClient::of(None), START).is_err());
        assert_eq!(limit.take(of("203.0.113.9"), START), Ok(()));
    }

    #[test]
    fn this_machine_is_not_taken_for_clients_whose_address_is_unknown() {
        let proxies = TrustedProxies::new(vec!["127.0.0.1".parse().unwrap()]);
        let limit = JoinLimit::with_groups(NonZeroU32::MIN, proxies, 1);
        let refusal = |forwarded: &'static str| {
            let headers =
                [("x-forwarded-for".parse().unwrap(), forwarded.parse().unwrap())].into_iter().collect();
            let client = limit.client([127, 0, 0, 1].into(), &headers);
            assert!(client.take().is_err() || client.refusal().is_none());
            while client.take().is_ok() {}
            client.refusal().unwrap().to_string()
        };
        assert!(refusal("127.0.0.1").starts_with("this machine itself took"), "{}", refusal("127.0.0.1"));
        assert!(refusal("nonsense").starts_with("all clients whose address is unknown took"));
    }

    /// A million addresses, and one that takes all it can.
    #[test]
    fn many_addresses_need_no_more_memory_and_the_greedy_one_stays_limited() {
        let limit = limit(20);
        let greedy = of("203.0.113.9");
        for _ in 0..20 {
            limit.take(greedy, START).unwrap();
        }
        for number in 0..1_000_000 {
            assert_eq!(limit.take(v4(number), START), Ok(()));
        }
        assert!(limit.take(greedy, START).is_err(), "it used more than those that came once");
        assert!(size_of::<Mutex<Group>>() * limit.groups.len() < 4 << 20);
    }

    #[test]
    fn if_all_are_greedy_one_is_forgotten_and_nobody_refused_for_another() {
        let limit = limit_with_groups(1, 1);
        for number in 0..9 {
            assert_eq!(limit.take(v4(number), START), Ok(()));
        }
        let remembered = (0..9).filter(|&number| limit.take(v4(number), START).is_err()).count();
        assert!(remembered < 9, "there is room for eight");
    }

    #[test]
    fn many_threads_take_exactly_the_places() {
        let limit = limit(1000);
        let taken = std::thread::scope(|scope| {
            let take = || (0..500).filter(|_| limit.take(of("203.0.113.9"), START).is_ok()).count();
            let threads: Vec<_> = (0..8).map(|_| scope.spawn(take)).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).sum::<usize>()
        });
        assert_eq!(taken, 1000);
    }
}
