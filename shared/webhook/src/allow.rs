//! Receivers that an operator allows although the general rules do not.

use std::net::IpAddr;
use std::str::FromStr;

use url::Host;

/// What the setting names: hosts, hosts with a port, and networks.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Allow {
    hosts: Vec<(Host, Option<u16>)>,
    networks: Vec<Network>,
}

/// An entry that is none of them. It is not repeated here, since it may be anything.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("entry {entry} is neither a host, nor a host with a port, nor a network")]
pub struct InvalidAllow {
    /// Which one, counted from 1.
    pub entry: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Network {
    address: IpAddr,
    prefix: u8,
}

impl Allow {
    /// Whether exactly this receiver is named.
    pub(crate) fn names(&self, host: &Host, port: u16) -> bool {
        let host = plain(host.clone());
        let named = |(known, at): &(Host, Option<u16>)| {
            *known == host && at.is_none_or(|known| known == port)
        };
        self.hosts.iter().any(named) || address(&host).is_some_and(|a| self.contains(a))
    }

    /// Whether the address is in a network that is named.
    pub(crate) fn contains(&self, address: IpAddr) -> bool {
        self.networks.iter().any(|network| network.contains(address.to_canonical()))
    }
}

impl FromStr for Allow {
    type Err = InvalidAllow;

    /// Reads `host`, `host:port` and `address/prefix`, separated by commas. An IPv6 address with a
    /// port stands in brackets.
    fn from_str(text: &str) -> Result<Self, InvalidAllow> {
        let mut allow = Self::default();
        for (index, entry) in text.split(',').map(str::trim).enumerate() {
            let invalid = InvalidAllow { entry: index + 1 };
            if entry.contains('/') {
                allow.networks.push(network(entry).ok_or(invalid)?);
            } else if !entry.is_empty() {
                allow.hosts.push(host(entry).ok_or(invalid)?);
            }
        }
        Ok(allow)
    }
}

fn host(entry: &str) -> Option<(Host, Option<u16>)> {
    if let Ok(address) = entry.parse::<IpAddr>() {
        return Some((of(address), None));
    }
    let (name, port) = match entry.rsplit_once(':') {
        // The colons of an IPv6 address in brackets are none before a port.
        Some((name, port)) if !port.ends_with(']') => (name, Some(port.parse().ok()?)),
        _ => (entry, None),
    };
    // A star would be a name like any other, and allow less than whoever writes it thinks.
    match Host::parse(name) {
        Ok(host) if !name.contains('*') => Some((plain(host), port)),
        _ => None,
    }
}

/// One name for each host: without the dot that ends a name, and with IPv4 as IPv4.
fn plain(host: Host) -> Host {
    match host {
        Host::Domain(name) => Host::Domain(name.trim_end_matches('.').to_owned()),
        Host::Ipv4(address) => Host::Ipv4(address),
        Host::Ipv6(address) => of(address.to_canonical()),
    }
}

fn of(address: IpAddr) -> Host {
    match address.to_canonical() {
        IpAddr::V4(address) => Host::Ipv4(address),
        IpAddr::V6(address) => Host::Ipv6(address),
    }
}

pub(crate) fn address<S>(host: &Host<S>) -> Option<IpAddr> {
    match host {
        Host::Domain(_) => None,
        Host::Ipv4(address) => Some((*address).into()),
        Host::Ipv6(address) => Some((*address).into()),
    }
}

impl Network {
    fn contains(&self, address: IpAddr) -> bool {
        match (self.address, address) {
            (IpAddr::V4(ours), IpAddr::V4(other)) => {
                same(ours.to_bits().into(), other.to_bits().into(), 32 - self.prefix)
            }
            (IpAddr::V6(ours), IpAddr::V6(other)) => {
                same(ours.to_bits(), other.to_bits(), 128 - self.prefix)
            }
            _ => false,
        }
    }
}

/// Whether two addresses are equal but for their last bits.
fn same(one: u128, other: u128, last: u8) -> bool {
    (one ^ other).checked_shr(last.into()).unwrap_or(0) == 0
}

fn network(text: &str) -> Option<Network> {
    let (address, prefix) = text.split_once('/')?;
    let address: IpAddr = address.parse().ok()?;
    let prefix: u8 = prefix.parse().ok()?;
    let bits = if address.is_ipv4() { 32 } else { 128 };
    (prefix <= bits).then_some(Network { address, prefix })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(list: &str, host: &str, port: u16) -> bool {
        let allow: Allow = list.parse().unwrap();
        allow.names(&Host::parse(host).unwrap(), port)
    }

    #[test]
    fn a_host_is_allowed_at_every_port_or_at_the_one_that_is_named() {
        assert!(names("localhost", "localhost", 80) && names("LOCALHOST", "localhost.", 1));
        assert!(names("localhost:80", "localhost", 80));
        assert!(!names("localhost:80", "localhost", 81));
        assert!(!names("localhost", "a.localhost", 80) && !names("", "localhost", 80));
        assert!(names("a.example, 10.0.0.1:8080", "10.0.0.1", 8080));
        assert!(!names("10.0.0.1:8080", "10.0.0.1", 80));
        assert!(names("[::1]:80", "[::1]", 80) && !names("[::1]:80", "[::1]", 81));
        assert!(names("::1", "[::1]", 81) && names("[::1]", "[::1]", 81));
    }

    #[test]
    fn an_address_is_allowed_in_whatever_spelling() {
        for spelling in ["127.0.0.1", "0x7f000001", "2130706433", "127.1", "[::ffff:127.0.0.1]"] {
            assert!(names("127.0.0.1", spelling, 80), "{spelling}");
            assert!(names("127.0.0.0/8", spelling, 80), "{spelling}");
        }
    }

    #[test]
    fn a_network_allows_what_is_in_it_and_nothing_else() {
        let allow: Allow = "10.1.0.0/16, fd00::/8, 192.0.2.7/32, 0.0.0.0/0".parse().unwrap();
        let only = Allow { networks: allow.networks[..3].to_vec(), ..Allow::default() };
        for inside in ["10.1.0.0", "10.1.255.255", "::ffff:10.1.2.3", "fd12::1", "192.0.2.7"] {
            assert!(only.contains(inside.parse().unwrap()), "{inside}");
        }
        for outside in ["10.0.255.255", "10.2.0.0", "fc00::1", "192.0.2.6", "::1"] {
            assert!(!only.contains(outside.parse().unwrap()), "{outside}");
        }
        assert!(allow.contains("1.2.3.4".parse().unwrap()));
        assert!(!allow.contains("::1".parse().unwrap()));
    }

    #[test]
    fn an_entry_that_is_neither_is_refused() {
        for bad in ["a b", "host:port", "host:70000", "10.0.0.0/33", "fd00::/129", "x/8", "/", "*"]
        {
            assert_eq!(bad.parse::<Allow>(), Err(InvalidAllow { entry: 1 }), "{bad}");
            let third = format!("host, 10.0.0.0/8, {bad}");
            assert_eq!(third.parse::<Allow>(), Err(InvalidAllow { entry: 3 }), "{bad}");
        }
    }
}
