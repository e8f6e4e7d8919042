//! Which receivers of webhooks are called. Whatever address a client writes down, and whatever its
//! name leads to, a connection is made to the public internet or to what an operator has named; what
//! is public says a table of networks, against which the guard's own reading is held.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::sync::LazyLock;

use webhook::{Allow, Guard, Target};

/// Networks that are none of the public internet: the special-purpose registry, several receivers,
/// and what is reserved.
const INNER: &str = "0.0.0.0/8 10.0.0.0/8 100.64.0.0/10 127.0.0.0/8 169.254.0.0/16 172.16.0.0/12 \
    192.0.0.0/24 192.0.2.0/24 192.88.99.0/24 192.168.0.0/16 198.18.0.0/15 198.51.100.0/24 \
    203.0.113.0/24 224.0.0.0/4 240.0.0.0/4 2001::/23 2001:db8::/32 3fff::/20";
/// Networks outside of which, and of [`WRAPPED`], nothing is public.
const GLOBAL: &str = "0.0.0.0/0 2000::/3";
/// Networks whose addresses hold one of IPv4, and behind how many bytes.
const WRAPPED: [(&str, usize); 3] = [("::ffff:0:0/96", 12), ("64:ff9b::/96", 12), ("2002::/16", 2)];

/// The longest address.
const MAX_URL: usize = 2048;
/// What the operator of the second guard allows. The target says the same in code.
const ALLOWED: &str = "hooks.internal, localhost:8080, 192.0.2.7:81, 10.1.0.0/16, fd12::/16";

/// What that comes to for addresses.
const ALLOWED_NETWORKS: &str = "10.1.0.0/16 fd12::/16";

/// Guards without and with a setting, and the tables that they are held against.
struct World {
    guards: [Guard; 2],
    inner: Vec<Network>,
    global: Vec<Network>,
    allowed: Vec<Network>,
    wrapped: Vec<(Network, usize)>,
}

static WORLD: LazyLock<World> = LazyLock::new(|| World {
    guards: [Guard::default(), Guard::new(ALLOWED.parse().unwrap())],
    inner: INNER.split_whitespace().map(Network::read).collect(),
    global: GLOBAL.split_whitespace().map(Network::read).collect(),
    allowed: ALLOWED_NETWORKS.split_whitespace().map(Network::read).collect(),
    wrapped: WRAPPED.map(|(network, at)| (Network::read(network), at)).to_vec(),
});

/// The input is a URL, a line end, and lines that are addresses: as text, or the bytes of one.
pub(crate) fn check(input: &[u8]) {
    let mut lines = input.split(|byte| *byte == b'\n');
    let url = lines.next().unwrap_or_default();
    let addresses: Vec<IpAddr> = lines.filter_map(address).collect();
    let url = std::str::from_utf8(url).ok();
    for (guard, allows) in WORLD.guards.iter().zip([false, true]) {
        for address in &addresses {
            let may = is_public(*address) || (allows && in_allowed_network(*address));
            assert_eq!(guard.permits(*address), may, "{address}");
            assert_eq!(webhook::is_public(*address), is_public(*address), "{address}");
            if !allows && guard.permits(*address) {
                standard_library_agrees(*address);
            }
        }
        let Some(target) = url.and_then(|url| guard.target(url).ok()) else { continue };
        judged(&target, url.unwrap_or_default(), allows);
        // Whoever calls it connects to those of its addresses that are left.
        let named = target.is_named();
        for address in addresses.iter().filter(|address| named || guard.permits(**address)) {
            assert!(named || is_public(*address) || (allows && in_allowed_network(*address)));
        }
        // Escapes make it longer.
        if target.url().as_str().len() <= MAX_URL {
            assert_eq!(guard.target(target.url().as_str()).as_ref(), Ok(&target), "once more");
        }
    }
    // A setting that anybody may write allows no address but those of its networks.
    if let Some(Ok(allow)) = url.map(str::parse::<Allow>)
        && url.is_some_and(|setting| !setting.contains('/'))
    {
        let guard = Guard::new(allow);
        for address in &addresses {
            assert_eq!(guard.permits(*address), is_public(*address), "{address}");
        }
    }
}

/// Text, or else as many bytes as an address has.
fn address(line: &[u8]) -> Option<IpAddr> {
    let text = std::str::from_utf8(line).ok().and_then(|text| text.parse().ok());
    let v6 = || line.first_chunk::<16>().map(|bytes| Ipv6Addr::from(*bytes).into());
    let v4 = || line.first_chunk::<4>().map(|bytes| Ipv4Addr::from(*bytes).into());
    text.or_else(v6).or_else(v4)
}

/// A target that was let through, told from its text alone.
fn judged(target: &Target, written: &str, allows: bool) {
    let url = target.url();
    let host = url.host_str().expect("a target has a host");
    let port = url.port_or_known_default().expect("a target has a port");
    assert!(url.username().is_empty() && url.password().is_none());
    assert!(written.len() <= MAX_URL);
    let literal = host.trim_start_matches('[').trim_end_matches(']').parse::<IpAddr>().ok();
    let name = host.trim_end_matches('.');
    let named = allows
        && match literal.map(|address| address.to_canonical()) {
            Some(address) => {
                in_allowed_network(address)
                    || (address == Ipv4Addr::new(192, 0, 2, 7) && port == 81)
            }
            None => name == "hooks.internal" || (name == "localhost" && port == 8080),
        };
    assert_eq!(target.is_named(), named, "{url}");
    assert!(url.scheme() == "https" || (url.scheme() == "http" && named), "{url}");
    if named {
        return;
    }
    if let Some(address) = literal {
        assert!(is_public(address), "{url}");
        return;
    }
    let inner = ["localhost", "local", "internal", "home.arpa"];
    let below = |top: &str| name.ends_with(&format!(".{top}"));
    assert!(!inner.iter().any(|top| name == *top || below(top)), "{url}");
    // What a resolver would take for a number is read as an address before, or refused.
    let last = name.rsplit('.').next().unwrap_or_default();
    let number = last.strip_prefix("0x").map_or_else(
        || !last.is_empty() && last.bytes().all(|b| b.is_ascii_digit()),
        |digits| digits.bytes().all(|b| b.is_ascii_hexdigit()),
    );
    assert!(!number, "{url}");
}

fn in_allowed_network(address: IpAddr) -> bool {
    let address = address.to_canonical();
    WORLD.allowed.iter().any(|network| network.holds(address))
}

fn is_public(address: IpAddr) -> bool {
    let wrapped = WORLD.wrapped.iter().find(|(network, _)| network.holds(address));
    let address = match (address, wrapped) {
        (IpAddr::V6(address), Some((_, at))) => {
            let bytes = address.octets();
            Ipv4Addr::new(bytes[*at], bytes[at + 1], bytes[at + 2], bytes[at + 3]).into()
        }
        (address, _) => address,
    };
    let any = |networks: &[Network]| networks.iter().any(|network| network.holds(address));
    any(&WORLD.global) && !any(&WORLD.inner)
}

/// A family and the first bits of its addresses, at the upper end.
#[derive(Clone)]
struct Network {
    v4: bool,
    bits: u128,
    length: u32,
}

impl Network {
    fn read(text: &str) -> Self {
        let (address, length) = text.split_once('/').unwrap();
        let (v4, bits) = bits(address.parse().unwrap());
        Self { v4, bits, length: length.parse().unwrap() }
    }

    fn holds(&self, address: IpAddr) -> bool {
        let (v4, bits) = bits(address);
        v4 == self.v4 && (bits ^ self.bits).leading_zeros() >= self.length
    }
}

fn bits(address: IpAddr) -> (bool, u128) {
    match address {
        IpAddr::V4(address) => (true, u128::from(address.to_bits()) << 96),
        IpAddr::V6(address) => (false, address.to_bits()),
    }
}

/// A third opinion on what is never public.
fn standard_library_agrees(address: IpAddr) {
    match address.to_canonical() {
        IpAddr::V4(v4) => assert!(
            !v4.is_private()
                && !v4.is_loopback()
                && !v4.is_link_local()
                && !v4.is_unspecified()
                && !v4.is_broadcast()
                && !v4.is_documentation()
                && !v4.is_multicast(),
            "{address}"
        ),
        IpAddr::V6(v6) => assert!(
            !v6.is_loopback()
                && !v6.is_unspecified()
                && !v6.is_multicast()
                && !v6.is_unique_local()
                && !v6.is_unicast_link_local(),
            "{address}"
        ),
    }
}
