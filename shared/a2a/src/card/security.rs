//! How callers prove who they are (A2A §4.5): the deployment's settings, read strictly, and the part
//! of the card that shows them.
//!
//! **A mistake in these settings ends the start.** A field that nobody reads, or a requirement that
//! names a scheme which is not there, would leave a door open that its owner believes closed.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::marker::PhantomData;

use serde::de::{Deserialize, Deserializer, Error as _, MapAccess, Visitor};
use serde::ser::{Serialize, SerializeMap as _, Serializer};
use serde_json::error::Category;

use super::rules;

/// The schemes of a deployment and which of them a request needs.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Security {
    schemes: BTreeMap<String, SecurityScheme>,
    requirements: Vec<SecurityRequirement>,
}

/// What is wrong with the settings, and where in their JSON. No value of theirs is repeated.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InvalidSecurity {
    #[error("{0}")]
    Schemes(Mistake),
    #[error("{0}")]
    Requirements(Mistake),
}

/// One mistake.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mistake {
    /// Empty for the whole.
    path: String,
    what: String,
}

impl Mistake {
    fn at(path: impl Into<String>, what: impl Into<String>) -> Self {
        Self { path: path.into(), what: what.into() }
    }
}

impl fmt::Display for Mistake {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.path.is_empty() {
            f.write_str(&self.what)
        } else {
            write!(f, "{}: {}", self.path, self.what)
        }
    }
}

impl Security {
    /// Reads the map of schemes and the list of requirements, as the card has them (`ProtoJSON`).
    ///
    /// Refused: unknown and repeated fields, a scheme or flow that is not exactly one of those that
    /// there are, one without what it needs, an address that is not one, a requirement that names
    /// no scheme, or one that is not declared.
    pub fn parse(schemes: &str, requirements: &str) -> Result<Self, InvalidSecurity> {
        let schemes: Distinct<SecurityScheme> = read(schemes).map_err(InvalidSecurity::Schemes)?;
        for (name, scheme) in &schemes.0 {
            if name.trim().is_empty() {
                return Err(InvalidSecurity::Schemes(Mistake::at("", "a scheme has no name")));
            }
            scheme.check().map_err(|what| InvalidSecurity::Schemes(Mistake::at(name, what)))?;
        }
        let requirements: Vec<SecurityRequirement> =
            read(requirements).map_err(InvalidSecurity::Requirements)?;
        let security = Self { schemes: schemes.0, requirements };
        for (index, requirement) in security.requirements.iter().enumerate() {
            let mistake =
                |what: &str| InvalidSecurity::Requirements(Mistake::at(format!("[{index}]"), what));
            if requirement.schemes.is_empty() {
                // Everybody would meet it, and so nobody would have to meet the others.
                return Err(mistake("names no scheme"));
            }
            if !security.declares(requirement.schemes.keys()) {
                return Err(mistake("names a scheme that is not declared"));
            }
        }
        Ok(security)
    }

    pub const fn schemes(&self) -> &BTreeMap<String, SecurityScheme> {
        &self.schemes
    }

    /// Alternatives; of each, all schemes together.
    pub fn requirements(&self) -> &[SecurityRequirement] {
        &self.requirements
    }

    /// Whether a request must come from somebody who is known.
    pub fn is_required(&self) -> bool {
        !self.requirements.is_empty()
    }

    /// Whether there is a scheme of each of these names.
    pub fn declares<'a>(&self, mut names: impl Iterator<Item = &'a String>) -> bool {
        names.all(|name| self.schemes.contains_key(name))
    }

    /// What a 401 says in `WWW-Authenticate`: one challenge for each way in. At least one.
    pub fn challenges(&self) -> Vec<String> {
        let needed: BTreeSet<&String> =
            self.requirements.iter().flat_map(|requirement| requirement.schemes.keys()).collect();
        let mut challenges = Vec::new();
        for challenge in needed.iter().filter_map(|name| self.schemes.get(*name)?.challenge()) {
            if !challenges.contains(&challenge) {
                challenges.push(challenge);
            }
        }
        if challenges.is_empty() {
            challenges.push(BEARER.to_owned());
        }
        challenges
    }

    /// Whether a card with it can be signed so that every reading of A2A §8.4 takes the same bytes:
    /// some keep an empty map of scopes, which the protocol wants to be there, and some drop it.
    pub fn is_signable(&self) -> bool {
        self.schemes.values().all(|scheme| match scheme {
            SecurityScheme::OAuth2(oauth) => !oauth.flows.scopes().is_empty(),
            _ => true,
        })
    }
}

const BEARER: &str = r#"Bearer realm="a2a""#;

/// Reads one setting, and says where its mistake is.
fn read<'a, T: Deserialize<'a>>(text: &'a str) -> Result<T, Mistake> {
    let mut reader = serde_json::Deserializer::from_str(text);
    let read: T = serde_path_to_error::deserialize(&mut reader).map_err(|error| {
        let path = error.path().to_string();
        let path = if path == "." { String::new() } else { path };
        let text = error.inner().to_string();
        let text = text.rsplit_once(" at line ").map_or(text.as_str(), |(head, _)| head);
        // What was found stands in front, and may itself hold any words.
        let what = match (error.inner().classify(), text.rsplit_once(", expected ")) {
            (Category::Data, Some((head, expected)))
                if head.starts_with("invalid ") || head.starts_with("unknown variant ") =>
            {
                format!("must be {expected}")
            }
            (Category::Data, _) => text.to_owned(),
            _ => return Mistake::at("", "is not JSON"),
        };
        Mistake::at(path, what)
    })?;
    reader.end().map_err(|_| Mistake::at("", "is not one JSON value"))?;
    Ok(read)
}

/// A map in which no name comes twice.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Distinct<V>(BTreeMap<String, V>);

impl<'de, V: Deserialize<'de>> Deserialize<'de> for Distinct<V> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Names<V>(PhantomData<V>);
        impl<'de, V: Deserialize<'de>> Visitor<'de> for Names<V> {
            type Value = Distinct<V>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Distinct<V>, A::Error> {
                let mut entries = BTreeMap::new();
                while let Some((name, value)) = map.next_entry()? {
                    if entries.insert(name, value).is_some() {
                        return Err(A::Error::custom("a name comes twice"));
                    }
                }
                Ok(Distinct(entries))
            }
        }
        deserializer.deserialize_map(Names(PhantomData))
    }
}

/// One way to prove who one is.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(try_from = "AnyScheme")]
pub enum SecurityScheme {
    #[serde(rename = "apiKeySecurityScheme")]
    ApiKey(ApiKey),
    #[serde(rename = "httpAuthSecurityScheme")]
    HttpAuth(HttpAuth),
    #[serde(rename = "oauth2SecurityScheme")]
    OAuth2(OAuth2),
    #[serde(rename = "openIdConnectSecurityScheme")]
    OpenIdConnect(OpenIdConnect),
    #[serde(rename = "mtlsSecurityScheme")]
    MutualTls(MutualTls),
}

#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields, expecting = "an object")]
struct AnyScheme {
    #[serde(rename = "apiKeySecurityScheme", alias = "api_key_security_scheme")]
    api_key: Option<ApiKey>,
    #[serde(rename = "httpAuthSecurityScheme", alias = "http_auth_security_scheme")]
    http_auth: Option<HttpAuth>,
    #[serde(rename = "oauth2SecurityScheme", alias = "oauth2_security_scheme")]
    oauth2: Option<OAuth2>,
    #[serde(rename = "openIdConnectSecurityScheme", alias = "open_id_connect_security_scheme")]
    open_id_connect: Option<OpenIdConnect>,
    #[serde(rename = "mtlsSecurityScheme", alias = "mtls_security_scheme")]
    mutual_tls: Option<MutualTls>,
}

impl TryFrom<AnyScheme> for SecurityScheme {
    type Error = &'static str;

    fn try_from(any: AnyScheme) -> Result<Self, &'static str> {
        only([
            any.api_key.map(Self::ApiKey),
            any.http_auth.map(Self::HttpAuth),
            any.oauth2.map(Self::OAuth2),
            any.open_id_connect.map(Self::OpenIdConnect),
            any.mutual_tls.map(Self::MutualTls),
        ])
        .ok_or("a scheme is exactly one of those that there are")
    }
}

/// The one that is there, if exactly one is.
fn only<T, const N: usize>(of: [Option<T>; N]) -> Option<T> {
    let mut there = of.into_iter().flatten();
    let first = there.next();
    if there.next().is_some() { None } else { first }
}

impl SecurityScheme {
    fn check(&self) -> Result<(), String> {
        let visible = |text: &str| {
            !text.is_empty()
                && text.bytes().all(|b| b.is_ascii_graphic() && b != b'"' && b != b'\\')
        };
        let url =
            |name: &str, url: &str| rules::web_url(url).map_err(|what| format!("{name} {what}"));
        match self {
            Self::ApiKey(key) if visible(&key.name) => Ok(()),
            Self::ApiKey(_) => Err("name is visible ASCII without quotes".to_owned()),
            Self::HttpAuth(http) if rules::is_token(&http.scheme) => Ok(()),
            Self::HttpAuth(_) => Err("scheme is the name of an HTTP scheme".to_owned()),
            Self::OAuth2(oauth) => {
                for (name, text) in oauth.flows.urls() {
                    url(name, text)?;
                }
                oauth
                    .oauth2_metadata_url
                    .as_deref()
                    .map_or(Ok(()), |at| url("oauth2MetadataUrl", at))
            }
            Self::OpenIdConnect(connect) => url("openIdConnectUrl", &connect.open_id_connect_url),
            Self::MutualTls(_) => Ok(()),
        }
    }

    /// `None` for what is not proved in a header that HTTP knows of.
    fn challenge(&self) -> Option<String> {
        match self {
            Self::HttpAuth(http) => Some(format!(r#"{} realm="a2a""#, http.scheme)),
            Self::OAuth2(_) | Self::OpenIdConnect(_) => Some(BEARER.to_owned()),
            Self::ApiKey(key) => {
                let place = match key.location {
                    ApiKeyLocation::Query => "query",
                    ApiKeyLocation::Header => "header",
                    ApiKeyLocation::Cookie => "cookie",
                };
                Some(format!(r#"ApiKey realm="a2a", in="{place}", name="{}""#, key.name))
            }
            Self::MutualTls(_) => None,
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(deny_unknown_fields, expecting = "an object")]
pub struct ApiKey {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    pub location: ApiKeyLocation,
    /// Of the header, cookie or parameter.
    pub name: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ApiKeyLocation {
    Query,
    Header,
    Cookie,
}

#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, expecting = "an object")]
pub struct HttpAuth {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    pub scheme: String,
    #[serde(alias = "bearer_format", skip_serializing_if = "Option::is_none")]
    pub bearer_format: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, expecting = "an object")]
pub struct OAuth2 {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    pub flows: Flows,
    #[serde(alias = "oauth2_metadata_url", skip_serializing_if = "Option::is_none")]
    pub oauth2_metadata_url: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, expecting = "an object")]
pub struct OpenIdConnect {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    #[serde(alias = "open_id_connect_url")]
    pub open_id_connect_url: String,
}

#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(deny_unknown_fields, expecting = "an object")]
pub struct MutualTls {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
}

/// How a token is got. The flows that OAuth itself has given up are not there.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "camelCase", try_from = "AnyFlow")]
pub enum Flows {
    AuthorizationCode(AuthorizationCode),
    ClientCredentials(ClientCredentials),
    DeviceCode(DeviceCode),
}

#[derive(serde::Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, expecting = "an object")]
struct AnyFlow {
    #[serde(alias = "authorization_code")]
    authorization_code: Option<AuthorizationCode>,
    #[serde(alias = "client_credentials")]
    client_credentials: Option<ClientCredentials>,
    #[serde(alias = "device_code")]
    device_code: Option<DeviceCode>,
}

impl TryFrom<AnyFlow> for Flows {
    type Error = &'static str;

    fn try_from(any: AnyFlow) -> Result<Self, &'static str> {
        only([
            any.authorization_code.map(Self::AuthorizationCode),
            any.client_credentials.map(Self::ClientCredentials),
            any.device_code.map(Self::DeviceCode),
        ])
        .ok_or("exactly one flow is given")
    }
}

impl Flows {
    fn scopes(&self) -> &BTreeMap<String, String> {
        match self {
            Self::AuthorizationCode(flow) => &flow.scopes.0,
            Self::ClientCredentials(flow) => &flow.scopes.0,
            Self::DeviceCode(flow) => &flow.scopes.0,
        }
    }

    fn urls(&self) -> impl Iterator<Item = (&'static str, &str)> {
        let (first, token, refresh) = match self {
            Self::AuthorizationCode(flow) => {
                let first = ("authorizationUrl", flow.authorization_url.as_str());
                (Some(first), &flow.token_url, &flow.refresh_url)
            }
            Self::ClientCredentials(flow) => (None, &flow.token_url, &flow.refresh_url),
            Self::DeviceCode(flow) => {
                let first = ("deviceAuthorizationUrl", flow.device_authorization_url.as_str());
                (Some(first), &flow.token_url, &flow.refresh_url)
            }
        };
        let refresh = refresh.as_deref().map(|url| ("refreshUrl", url));
        [first, Some(("tokenUrl", token)), refresh].into_iter().flatten()
    }
}

#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, expecting = "an object")]
pub struct AuthorizationCode {
    #[serde(alias = "authorization_url")]
    pub authorization_url: String,
    #[serde(alias = "token_url")]
    pub token_url: String,
    #[serde(alias = "refresh_url", skip_serializing_if = "Option::is_none")]
    pub refresh_url: Option<String>,
    pub scopes: Scopes,
    #[serde(default, alias = "pkce_required", skip_serializing_if = "std::ops::Not::not")]
    pub pkce_required: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, expecting = "an object")]
pub struct ClientCredentials {
    #[serde(alias = "token_url")]
    pub token_url: String,
    #[serde(alias = "refresh_url", skip_serializing_if = "Option::is_none")]
    pub refresh_url: Option<String>,
    pub scopes: Scopes,
}

#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, expecting = "an object")]
pub struct DeviceCode {
    #[serde(alias = "device_authorization_url")]
    pub device_authorization_url: String,
    #[serde(alias = "token_url")]
    pub token_url: String,
    #[serde(alias = "refresh_url", skip_serializing_if = "Option::is_none")]
    pub refresh_url: Option<String>,
    pub scopes: Scopes,
}

/// What a token can be good for, with what that means. There may be none.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Scopes(BTreeMap<String, String>);

impl Serialize for Scopes {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Scopes {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Distinct::deserialize(deserializer).map(|scopes| Self(scopes.0))
    }
}

/// Schemes that are needed together, each with the scopes that its token must have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SecurityRequirement {
    schemes: BTreeMap<String, Vec<String>>,
}

impl SecurityRequirement {
    pub(super) fn of(schemes: &BTreeMap<String, Vec<String>>) -> Self {
        Self { schemes: schemes.clone() }
    }

    pub const fn schemes(&self) -> &BTreeMap<String, Vec<String>> {
        &self.schemes
    }
}

#[derive(serde::Serialize, serde::Deserialize)]
#[serde(deny_unknown_fields, expecting = "an object")]
struct List {
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    list: Vec<String>,
}

impl Serialize for SecurityRequirement {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let schemes: BTreeMap<&String, List> =
            self.schemes.iter().map(|(name, list)| (name, List { list: list.clone() })).collect();
        let mut map = serializer.serialize_map(Some(1))?;
        map.serialize_entry("schemes", &schemes)?;
        map.end()
    }
}

impl<'de> Deserialize<'de> for SecurityRequirement {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(serde::Deserialize)]
        #[serde(deny_unknown_fields, expecting = "an object")]
        struct Wire {
            schemes: Distinct<List>,
        }
        let Wire { schemes } = Wire::deserialize(deserializer)?;
        Ok(Self { schemes: schemes.0.into_iter().map(|(name, list)| (name, list.list)).collect() })
    }
}
