//! Addresses that belong to the public internet.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Whether an address is one of the public internet: none of this machine, of a private or shared
/// network, of a cloud's metadata, of documentation, benchmarks or several receivers, and none that
/// wraps such an address.
pub fn is_public(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => is_public_v4(address),
        IpAddr::V6(address) => is_public_v6(address),
    }
}

#[expect(clippy::match_same_arms, reason = "each line is one registry entry")]
fn is_public_v4(address: Ipv4Addr) -> bool {
    let [a, b, c, _] = address.octets();
    match (a, b, c) {
        // This network, private, loopback; multicast, reserved, broadcast.
        (0 | 10 | 127 | 224..=255, _, _) => false,
        // Carriers' NAT.
        (100, 64..=127, _) => false,
        // Link-local, among it metadata.
        (169, 254, _) => false,
        // Private.
        (172, 16..=31, _) | (192, 168, _) => false,
        // Protocol assignments; relays of 6to4.
        (192, 0, 0) | (192, 88, 99) => false,
        // Benchmarks.
        (198, 18..=19, _) => false,
        // Documentation.
        (192, 0, 2) | (198, 51, 100) | (203, 0, 113) => false,
        _ => true,
    }
}

fn is_public_v6(address: Ipv6Addr) -> bool {
    let segments = address.segments();
    match segments {
        // IPv4-mapped, and NAT64 with the well-known prefix: what counts is inside.
        [0, 0, 0, 0, 0, 0xffff, high, low] | [0x64, 0xff9b, 0, 0, 0, 0, high, low] => {
            is_public_v4(v4(high, low))
        }
        // 6to4.
        [0x2002, high, low, ..] => is_public_v4(v4(high, low)),
        // Protocol assignments, among them Teredo, which hides an IPv4 address; documentation.
        [0x2001, 0..=0x1ff | 0xdb8, ..] | [0x3fff, 0..=0xfff, ..] => false,
        // Global unicast. Outside of it are loopback, unique local, link-local, multicast and all
        // that is not given out.
        [0x2000..=0x3fff, ..] => true,
        _ => false,
    }
}

fn v4(high: u16, low: u16) -> Ipv4Addr {
    let ([a, b], [c, d]) = (high.to_be_bytes(), low.to_be_bytes());
    Ipv4Addr::new(a, b, c, d)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn p6_no_address_of_an_inner_network_is_public() {
        for address in [
            "0.0.0.0",
            "0.1.2.3",
            "10.0.0.1",
            "10.255.255.255",
            "100.64.0.0",
            "100.100.100.200",
            "100.127.255.255",
            "127.0.0.1",
            "127.255.255.254",
            "169.254.0.1",
            "169.254.169.254",
            "169.254.170.2",
            "172.16.0.0",
            "172.31.255.255",
            "192.0.0.1",
            "192.0.0.170",
            "192.0.2.1",
            "192.88.99.1",
            "192.168.0.1",
            "198.18.0.1",
            "198.19.255.255",
            "198.51.100.7",
            "203.0.113.7",
            "224.0.0.1",
            "239.255.255.255",
            "240.0.0.1",
            "255.255.255.255",
            "::",
            "::1",
            "::7f00:1",
            "::ffff:127.0.0.1",
            "::ffff:10.0.0.1",
            "::ffff:169.254.169.254",
            "64:ff9b::7f00:1",
            "64:ff9b::a00:1",
            "64:ff9b:1::a00:1",
            "100::1",
            "2001::1",
            "2001:0:4136:e378:8000:63bf:3fff:fdd2",
            "2001:10::1",
            "2001:20::1",
            "2001:db8::1",
            "2002:7f00:1::",
            "2002:a9fe:a9fe::1",
            "2002:c0a8:1::1",
            "3fff::1",
            "5f00::1",
            "fc00::1",
            "fd00:ec2::254",
            "fdff::1",
            "fe80::1",
            "febf::1",
            "fec0::1",
            "ff02::1",
        ] {
            assert!(!is_public(address.parse().unwrap()), "{address}");
        }
    }

    #[test]
    fn p6_what_lies_beside_them_is_public() {
        for address in [
            "1.1.1.1",
            "9.255.255.255",
            "11.0.0.0",
            "100.63.255.255",
            "100.128.0.0",
            "126.255.255.255",
            "128.0.0.0",
            "169.253.255.255",
            "169.255.0.0",
            "172.15.255.255",
            "172.32.0.0",
            "192.0.1.0",
            "192.0.3.0",
            "192.88.98.1",
            "192.167.255.255",
            "192.169.0.0",
            "198.17.255.255",
            "198.20.0.0",
            "198.51.99.1",
            "203.0.112.1",
            "223.255.255.255",
            "::ffff:1.1.1.1",
            "64:ff9b::101:101",
            "2001:200::1",
            "2001:4860:4860::8888",
            "2002:101:101::1",
            "2606:4700:4700::1111",
            "3ffe::1",
        ] {
            assert!(is_public(address.parse().unwrap()), "{address}");
        }
    }
}
