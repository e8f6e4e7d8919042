//! The cards of a deployment: where it is, how callers prove who they are, and what its cards are
//! signed with.
//!
//! **A card that clients see twice is the same bytes twice**, in this process and in any other with
//! the same settings, so that asking whether it has changed costs nobody more than the question.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use a2a::card::{self, AgentCard, Document, InvalidSecurity, Security, SigningKeys, Subject};
use domain::Timestamp;
use http::HeaderMap;
use http::header::HOST;
use http::uri::Authority;
use lambda_kit::env::{Reader, Secret};

use crate::agents::{Agent, Agents};

/// Where clients reach us.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Address {
    /// The deployment's public URL, without a slash at the end.
    Public(String),
    /// The request's own `Host`: for local runs only, where nobody else can name it.
    FromHost,
}

impl Address {
    /// Never taken from what a client sends, unless a setting allows it; and then only what is a host,
    /// with or without a port.
    fn origin(&self, request: &HeaderMap) -> String {
        match self {
            Self::Public(url) => url.clone(),
            Self::FromHost => {
                let host = request.get(HOST).and_then(|host| host.to_str().ok());
                let host = host.filter(|host| is_host(host));
                format!("http://{}", host.unwrap_or("localhost"))
            }
        }
    }
}

fn is_host(text: &str) -> bool {
    !text.contains('@') && text.parse::<Authority>().is_ok()
}

/// How callers prove who they are, and how a card proves whose it is.
#[derive(Debug, Clone, Default)]
pub struct Trust {
    /// `COGNITION_A2A_SECURITY_SCHEMES` (`{}`) and `COGNITION_A2A_SECURITY_REQUIREMENTS` (`[]`), in
    /// the JSON that the card shows. With a requirement, whoever is not known is refused.
    pub security: Security,
    /// `COGNITION_CARD_SIGNING_KEYS` (none): P-256 keys as JWK, JWK Set or PEM. A secret.
    pub keys: SigningKeys,
}

const SCHEMES: &str = "COGNITION_A2A_SECURITY_SCHEMES";
const REQUIREMENTS: &str = "COGNITION_A2A_SECURITY_REQUIREMENTS";
const KEYS: &str = "COGNITION_CARD_SIGNING_KEYS";

impl Trust {
    /// Reads the settings; what is wrong with them is noted where it is read.
    pub fn read(read: &mut Reader<'_>) -> Self {
        let schemes = read.or(SCHEMES, "{}".to_owned());
        let requirements = read.or(REQUIREMENTS, "[]".to_owned());
        let security = Security::parse(&schemes, &requirements).unwrap_or_else(|invalid| {
            let name = match invalid {
                InvalidSecurity::Schemes(_) => SCHEMES,
                InvalidSecurity::Requirements(_) => REQUIREMENTS,
            };
            read.problem(name, format!("is wrong: {invalid}"));
            Security::default()
        });
        let keys: Option<Secret> = read.optional(KEYS);
        let keys = keys.map_or_else(SigningKeys::default, |keys| {
            SigningKeys::parse(keys.expose()).unwrap_or_else(|invalid| {
                read.problem(KEYS, format!("is wrong: {invalid}"));
                SigningKeys::default()
            })
        });
        if !keys.is_empty() && !security.is_signable() {
            read.problem(SCHEMES, "needs a scope in each flow, because cards are signed");
        }
        Self { security, keys }
    }
}

/// An agent that says in its card what the deployment does not hold.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("a skill of agent {0} needs a security scheme that the deployment does not declare")]
pub struct UndeclaredScheme(String);

/// The cards of all agents.
#[derive(Debug)]
pub struct Cards {
    address: Address,
    trust: Trust,
    /// From when on this process has served them.
    since: Timestamp,
    keys: Document,
    /// Made when they are first asked for, where their address is the same for everybody.
    made: BTreeMap<String, OnceLock<Document>>,
}

impl Cards {
    /// `since` is now, at the start.
    pub fn new(
        address: Address,
        trust: Trust,
        agents: &Agents,
        since: Timestamp,
    ) -> Result<Self, UndeclaredScheme> {
        for agent in agents.all() {
            let a2a = &agent.definition.a2a;
            let more = a2a.extended_card.iter().flat_map(|card| &card.skills);
            let mut needed =
                a2a.skills.iter().chain(more).flat_map(|skill| &skill.security).flatten();
            if !needed.all(|(scheme, _)| trust.security.declares([scheme].into_iter())) {
                return Err(UndeclaredScheme(agent.definition.name.to_string()));
            }
        }
        let keys = Document::keys(&trust.keys, since);
        let made = agents.names().map(|name| (name.to_owned(), OnceLock::new())).collect();
        Ok(Self { address, trust, since, keys, made })
    }

    /// The card for everybody.
    pub(crate) fn public(&self, agent: &Agent, request: &HeaderMap) -> Document {
        let make = || {
            let url = self.url(agent, request);
            let card = card::public(&self.subject(agent, &url));
            Document::card(card, &self.trust.keys, self.since)
        };
        let kept = match self.address {
            Address::Public(_) => self.made.get(agent.definition.name.as_str()),
            Address::FromHost => None,
        };
        kept.map_or_else(make, |kept| kept.get_or_init(make).clone())
    }

    /// The card for callers who are known; `None` where the agent has no other than the public one.
    pub(crate) fn extended(
        &self,
        agent: &Agent,
        request: &HeaderMap,
        tenant: Option<&str>,
    ) -> Option<AgentCard> {
        let url = self.url(agent, request);
        let card = card::extended(&self.subject(agent, &url), tenant)?;
        Some(if self.trust.keys.is_empty() { card } else { self.trust.keys.sign(card) })
    }

    /// The keys that verify the cards.
    pub(crate) const fn keys(&self) -> &Document {
        &self.keys
    }

    pub(crate) const fn security(&self) -> &Security {
        &self.trust.security
    }

    fn url(&self, agent: &Agent, request: &HeaderMap) -> String {
        format!("{}/a2a/{}", self.address.origin(request), agent.definition.name)
    }

    fn subject<'a>(&'a self, agent: &'a Agent, url: &'a str) -> Subject<'a> {
        Subject {
            definition: &agent.definition,
            url,
            version: env!("CARGO_PKG_VERSION"),
            security: &self.trust.security,
        }
    }
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    #[test]
    fn a_host_that_is_none_does_not_come_into_a_card() {
        let origin = |host: &'static str| {
            let headers = HeaderMap::from_iter([(HOST, HeaderValue::from_static(host))]);
            Address::FromHost.origin(&headers)
        };
        assert_eq!(origin("127.0.0.1:8700"), "http://127.0.0.1:8700");
        assert_eq!(origin("[::1]:8700"), "http://[::1]:8700");
        for odd in ["", "a b", "a/b?c", "user@a", "\"><script>"] {
            assert_eq!(origin(odd), "http://localhost", "{odd}");
        }
    }
}
