//! Which addresses may be called.

use std::net::IpAddr;

use url::{Host, Url};

use crate::address::is_public;
use crate::allow::{self, Allow};

/// The longest address; browsers and proxies take no longer ones either.
const MAX_URL: usize = 2048;
/// Names that mean something in an inner network only.
const INNER: [&str; 4] = ["localhost", "local", "internal", "home.arpa"];

/// The rules of a deployment.
#[derive(Debug, Clone, Default)]
pub struct Guard {
    allow: Allow,
}

/// Why an address may not be called. Each completes the sentence "the URL …".
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Forbidden {
    #[error("is not an absolute URL of at most {MAX_URL} bytes")]
    Malformed,
    #[error("must begin with https://")]
    Scheme,
    #[error("must not hold a user name or a password")]
    UserInfo,
    #[error("names a host that may not be called")]
    Host,
    #[error("leads to an address that may not be called")]
    Address,
}

/// An address that may be called, as far as it can be told from its text.
#[derive(Clone, PartialEq, Eq)]
pub struct Target {
    url: Url,
    /// The receiver is one that an operator has named: wherever the name leads, it may be called.
    named: bool,
}

impl Target {
    pub fn url(&self) -> &Url {
        &self.url
    }

    /// Whether the addresses that the name leads to need not be judged.
    pub const fn is_named(&self) -> bool {
        self.named
    }
}

impl std::fmt::Debug for Target {
    /// The URL may hold a secret.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Target").field("named", &self.named).finish_non_exhaustive()
    }
}

impl Guard {
    pub fn new(allow: Allow) -> Self {
        Self { allow }
    }

    /// Judges an address by its text: its form, its scheme, and its host where that is an address,
    /// in whatever spelling.
    pub fn target(&self, text: &str) -> Result<Target, Forbidden> {
        if text.len() > MAX_URL {
            return Err(Forbidden::Malformed);
        }
        let url = Url::parse(text).map_err(|_| Forbidden::Malformed)?;
        let host = match url.host() {
            Some(host) => host.to_owned(),
            // `mailto:` and its kin have no host.
            None => return Err(Forbidden::Scheme),
        };
        // `127.0.0.1..` is no address to the parser of URLs; what it is to a resolver, nobody says.
        if let Host::Domain(name) = &host
            && has_empty_label(name)
        {
            return Err(Forbidden::Malformed);
        }
        let port = url.port_or_known_default().ok_or(Forbidden::Scheme)?;
        if !url.username().is_empty() || url.password().is_some() {
            return Err(Forbidden::UserInfo);
        }
        let named = self.allow.names(&host, port);
        match url.scheme() {
            "https" => {}
            "http" if named => {}
            _ => return Err(Forbidden::Scheme),
        }
        if named {
            return Ok(Target { url, named });
        }
        match &host {
            Host::Domain(name) if is_inner(name) => Err(Forbidden::Host),
            Host::Domain(_) => Ok(Target { url, named }),
            literal => match allow::address(literal) {
                Some(address) if self.permits(address) => Ok(Target { url, named }),
                _ => Err(Forbidden::Address),
            },
        }
    }

    /// Judges an address that a name has led to.
    pub fn permits(&self, address: IpAddr) -> bool {
        is_public(address) || self.allow.contains(address)
    }
}

/// Whether nothing stands before a dot or between two. One that ends the name is fine.
fn has_empty_label(name: &str) -> bool {
    name.strip_suffix('.').unwrap_or(name).split('.').any(str::is_empty)
}

fn is_inner(name: &str) -> bool {
    let name = name.trim_end_matches('.');
    INNER.iter().any(|inner| {
        name.strip_suffix(inner).is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn judge(allow: &str, url: &str) -> Result<(), Forbidden> {
        Guard::new(allow.parse().unwrap()).target(url).map(drop)
    }

    #[test]
    fn p6_only_https_to_the_public_internet_is_called() {
        for good in [
            "https://example.com/webhook",
            "https://example.com:8443/a?b=c#d",
            "https://1.1.1.1/",
            "https://[2606:4700:4700::1111]:444/",
            "https://localhost.example.com/",
            "https://mylocal/",
            "https://EXAMPLE.com",
            "https://example.com./",
        ] {
            assert_eq!(judge("", good), Ok(()), "{good}");
        }
        for (bad, why) in [
            ("", Forbidden::Malformed),
            ("example.com/a", Forbidden::Malformed),
            ("/a", Forbidden::Malformed),
            ("https://", Forbidden::Malformed),
            ("https://exa mple.com/", Forbidden::Malformed),
            ("https://example.com../", Forbidden::Malformed),
            ("https://example..com/", Forbidden::Malformed),
            ("https://.example.com/", Forbidden::Malformed),
            ("https://127.0.0.1../", Forbidden::Malformed),
            ("https://localhost../", Forbidden::Malformed),
            ("http://example.com/", Forbidden::Scheme),
            ("ftp://example.com/", Forbidden::Scheme),
            ("file:///etc/passwd", Forbidden::Scheme),
            ("gopher://example.com/", Forbidden::Scheme),
            ("mailto:a@example.com", Forbidden::Scheme),
            ("data:text/plain,a", Forbidden::Scheme),
            ("https://user@example.com/", Forbidden::UserInfo),
            ("https://user:word@example.com/", Forbidden::UserInfo),
            ("https://:word@example.com/", Forbidden::UserInfo),
        ] {
            assert_eq!(judge("", bad), Err(why), "{bad}");
        }
        let long = format!("https://example.com/{}", "a".repeat(MAX_URL));
        assert_eq!(judge("", &long), Err(Forbidden::Malformed));
    }

    #[test]
    fn p6_inner_names_and_literal_addresses_in_every_spelling_are_refused() {
        for name in [
            "https://localhost/",
            "https://LOCALHOST/",
            "https://localhost./",
            "https://a.localhost/",
            "https://printer.local/",
            "https://metadata.google.internal/",
            "https://ip-10-0-0-1.ec2.internal./",
            "https://router.home.arpa/",
        ] {
            assert_eq!(judge("", name), Err(Forbidden::Host), "{name}");
        }
        for address in [
            "https://127.0.0.1/",
            "https://127.1/",
            "https://2130706433/",
            "https://0x7f000001/",
            "https://0x7f.0.0.1/",
            "https://0177.0.0.1/",
            "https://017700000001/",
            "https://127.0.0.1./",
            "https://１２７.０.０.１/",
            "https://169.254.169.254/latest/meta-data/",
            "https://0xa9fea9fe/",
            "https://10.0.0.1/",
            "https://0/",
            "https://[::1]/",
            "https://[::]/",
            "https://[::ffff:127.0.0.1]/",
            "https://[::ffff:7f00:1]/",
            "https://[64:ff9b::7f00:1]/",
            "https://[2002:7f00:1::]/",
            "https://[fd00:ec2::254]/",
            "https://[fe80::1]/",
        ] {
            assert_eq!(judge("", address), Err(Forbidden::Address), "{address}");
        }
    }

    #[test]
    fn p6_what_is_allowed_is_exactly_what_is_named() {
        assert_eq!(judge("localhost:8080", "http://localhost:8080/a"), Ok(()));
        assert_eq!(judge("localhost:8080", "http://localhost:8081/a"), Err(Forbidden::Scheme));
        assert_eq!(judge("localhost:8080", "https://localhost:8081/a"), Err(Forbidden::Host));
        assert_eq!(judge("127.0.0.0/8", "http://127.9.9.9:1/a"), Ok(()));
        assert_eq!(judge("127.0.0.0/8", "https://10.0.0.1/a"), Err(Forbidden::Address));
        // A network says nothing of names, so http is not for them.
        assert_eq!(judge("10.0.0.0/8", "http://example.com/a"), Err(Forbidden::Scheme));
        assert_eq!(judge("10.0.0.0/8", "https://example.com/a"), Ok(()));
        assert_eq!(judge("localhost", "ftp://localhost/a"), Err(Forbidden::Scheme));
        assert_eq!(judge("localhost", "http://a@localhost/a"), Err(Forbidden::UserInfo));
        let guard = Guard::new("10.0.0.0/8".parse().unwrap());
        assert!(guard.permits("10.1.1.1".parse().unwrap()));
        assert!(guard.permits("1.1.1.1".parse().unwrap()));
        assert!(!guard.permits("127.0.0.1".parse().unwrap()));
    }

    #[test]
    fn a_target_prints_no_url() {
        let target = Guard::default().target("https://example.com/canary").unwrap();
        assert!(!format!("{target:?}").contains("canary"));
    }
}
