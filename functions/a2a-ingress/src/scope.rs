//! Who asks: the one place where a scope is made from a request (decisions.md §5).
//!
//! **Behind an authorizer, what the client sends as scope headers means nothing.**

use std::collections::HashSet;

use domain::scope::is_key;
use domain::{Scope, ScopeError};
use http::HeaderMap;
use lambda_http::request::RequestContext;

/// The authorizer's context field that holds the scope: a JSON object of strings.
pub const AUTHORIZER_FIELD: &str = "cognition_scope";
const HEADER_PREFIX: &str = "x-cognition-scope-";

/// Where scopes come from, and which keys they have.
#[derive(Debug, Clone)]
pub struct ScopeSettings {
    pub source: ScopeSource,
    pub keys: Vec<String>,
    /// Whether a request must carry every key.
    pub required: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ScopeSource {
    /// The API Gateway authorizer's context.
    Authorizer,
    /// `X-Cognition-Scope-*` headers: for local runs, or behind a builder's own ingress.
    Headers,
}

/// Why a request has no scope.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Denied {
    /// These keys are absent or empty. The names of keys are no secret.
    #[error("scope keys are missing")]
    Missing(Vec<String>),
    #[error("the same scope header came twice")]
    Duplicate,
    #[error("a scope header is not text")]
    NotText,
    #[error("the scope is not valid")]
    Invalid(#[source] ScopeError),
}

impl ScopeSettings {
    /// Reads a list of keys as a comma list or a JSON array.
    pub fn parse_keys(text: &str) -> Option<Vec<String>> {
        let keys: Vec<String> = if text.trim_start().starts_with('[') {
            serde_json::from_str(text).ok()?
        } else {
            text.split(',').map(|key| key.trim().to_owned()).collect()
        };
        let distinct: HashSet<&String> = keys.iter().collect();
        let fine = !keys.is_empty()
            && distinct.len() == keys.len()
            && keys.len() <= domain::scope::MAX_KEYS
            && keys.iter().all(|key| is_key(key));
        fine.then_some(keys)
    }

    /// The trusted scope of a request.
    pub fn scope(
        &self,
        headers: &HeaderMap,
        context: Option<&RequestContext>,
    ) -> Result<Scope, Denied> {
        let pairs = match self.source {
            ScopeSource::Headers => self.in_headers(headers)?,
            ScopeSource::Authorizer => self.of_authorizer(context)?,
        };
        if self.required {
            let missing: Vec<String> = self
                .keys
                .iter()
                .filter(|key| !pairs.iter().any(|(have, _)| have == *key))
                .cloned()
                .collect();
            if !missing.is_empty() {
                return Err(Denied::Missing(missing));
            }
        }
        Scope::new(pairs).map_err(Denied::Invalid)
    }

    /// Whether anybody vouches for who asks: a part of a scope, or an authorizer that let the
    /// request through. A scope that is wrong is for [`ScopeSettings::scope`] to refuse.
    pub fn is_known(
        &self,
        scope: &Result<Scope, Denied>,
        context: Option<&RequestContext>,
    ) -> bool {
        let authorizer = match context {
            Some(RequestContext::ApiGatewayV1(v1)) => {
                // IAM says who asks in a place of its own.
                if v1.identity.user_arn.is_some() {
                    return true;
                }
                Some(&v1.authorizer)
            }
            Some(RequestContext::ApiGatewayV2(v2)) => v2.authorizer.as_ref(),
            _ => None,
        };
        let authorized = authorizer.is_some_and(|authorizer| {
            !authorizer.fields.is_empty() || authorizer.jwt.is_some() || authorizer.iam.is_some()
        });
        authorized
            || match scope {
                Ok(scope) => *scope != Scope::empty(),
                Err(Denied::Missing(missing)) => missing.len() < self.keys.len(),
                Err(Denied::Duplicate | Denied::NotText | Denied::Invalid(_)) => true,
            }
    }

    fn in_headers(&self, headers: &HeaderMap) -> Result<Vec<(String, String)>, Denied> {
        let mut pairs = Vec::new();
        for key in &self.keys {
            let name = format!("{HEADER_PREFIX}{}", key.replace('_', "-"));
            let mut values = headers.get_all(&name).iter();
            let Some(value) = values.next() else { continue };
            if values.next().is_some() {
                return Err(Denied::Duplicate);
            }
            let text = std::str::from_utf8(value.as_bytes()).map_err(|_| Denied::NotText)?;
            if !text.is_empty() {
                pairs.push((key.clone(), text.to_owned()));
            }
        }
        Ok(pairs)
    }

    fn of_authorizer(
        &self,
        context: Option<&RequestContext>,
    ) -> Result<Vec<(String, String)>, Denied> {
        let field = match context {
            Some(RequestContext::ApiGatewayV1(v1)) => v1.authorizer.fields.get(AUTHORIZER_FIELD),
            Some(RequestContext::ApiGatewayV2(v2)) => {
                v2.authorizer.as_ref().and_then(|auth| auth.fields.get(AUTHORIZER_FIELD))
            }
            _ => None,
        };
        let Some(text) = field.and_then(serde_json::Value::as_str) else {
            return Ok(Vec::new());
        };
        let values: serde_json::Map<String, serde_json::Value> =
            serde_json::from_str(text).map_err(|_| Denied::Invalid(ScopeError::Unreadable))?;
        let mut pairs = Vec::new();
        for key in &self.keys {
            match values.get(key) {
                Some(serde_json::Value::String(value)) if !value.is_empty() => {
                    pairs.push((key.clone(), value.clone()));
                }
                None | Some(serde_json::Value::String(_)) => {}
                Some(_) => return Err(Denied::Invalid(ScopeError::Unreadable)),
            }
        }
        Ok(pairs)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(source: ScopeSource, required: bool) -> ScopeSettings {
        ScopeSettings { source, keys: vec!["tenant".into(), "sub_user".into()], required }
    }

    fn headers(pairs: &[(&'static str, &str)]) -> HeaderMap {
        let mut headers = HeaderMap::new();
        for (name, value) in pairs {
            headers.append(*name, value.parse().unwrap());
        }
        headers
    }

    fn authorized(scope: &str) -> RequestContext {
        let event = serde_json::json!({
            "httpMethod": "GET", "path": "/", "headers": {}, "multiValueHeaders": {},
            "requestContext": {"httpMethod": "GET", "authorizer": {"cognition_scope": scope}},
        });
        let request = lambda_http::request::from_str(&event.to_string()).unwrap();
        request.extensions().get::<RequestContext>().unwrap().clone()
    }

    #[test]
    fn headers_name_their_key_with_hyphens_and_in_any_case() {
        let given =
            headers(&[("x-cognition-scope-tenant", "acme"), ("X-Cognition-Scope-Sub-User", "b")]);
        let scope = settings(ScopeSource::Headers, true).scope(&given, None).unwrap();
        assert_eq!(scope.canonical(), r#"{"sub_user":"b","tenant":"acme"}"#);
    }

    #[test]
    fn scenario_2_a_missing_or_empty_key_is_named() {
        let given = headers(&[("x-cognition-scope-tenant", "")]);
        let denied = settings(ScopeSource::Headers, true).scope(&given, None);
        assert_eq!(denied, Err(Denied::Missing(vec!["tenant".into(), "sub_user".into()])));
    }

    #[test]
    fn without_scoping_what_is_there_is_the_scope() {
        let local = settings(ScopeSource::Headers, false);
        assert_eq!(local.scope(&HeaderMap::new(), None), Ok(Scope::empty()));
        let one =
            headers(&[("x-cognition-scope-tenant", "acme"), ("x-cognition-scope-other", "x")]);
        assert_eq!(local.scope(&one, None).unwrap().canonical(), r#"{"tenant":"acme"}"#);
    }

    #[test]
    fn a_header_that_comes_twice_is_refused() {
        let given =
            headers(&[("x-cognition-scope-tenant", "a"), ("x-cognition-scope-tenant", "b")]);
        let denied = settings(ScopeSource::Headers, false).scope(&given, None);
        assert_eq!(denied, Err(Denied::Duplicate));
    }

    #[test]
    fn behind_an_authorizer_headers_mean_nothing() {
        let forged =
            headers(&[("x-cognition-scope-tenant", "victim"), ("x-cognition-scope-sub-user", "v")]);
        let guarded = settings(ScopeSource::Authorizer, true);
        let context = authorized(r#"{"tenant":"acme","sub_user":"b"}"#);
        let scope = guarded.scope(&forged, Some(&context)).unwrap();
        assert_eq!(scope.canonical(), r#"{"sub_user":"b","tenant":"acme"}"#);
        assert!(matches!(guarded.scope(&forged, None), Err(Denied::Missing(_))));
    }

    #[test]
    fn an_authorizer_that_gives_no_text_is_refused() {
        let guarded = settings(ScopeSource::Authorizer, true);
        for bad in ["not json", r#"{"tenant":1,"sub_user":"b"}"#, "[]"] {
            assert!(matches!(
                guarded.scope(&HeaderMap::new(), Some(&authorized(bad))),
                Err(Denied::Invalid(_))
            ));
        }
    }

    #[test]
    fn whoever_an_authorizer_let_through_or_who_has_a_part_of_a_scope_is_known() {
        let strict = settings(ScopeSource::Headers, true);
        let lax = settings(ScopeSource::Headers, false);
        let known = |settings: &ScopeSettings, given: &HeaderMap, context| {
            settings.is_known(&settings.scope(given, context), context)
        };
        let part = headers(&[("x-cognition-scope-tenant", "acme")]);
        assert!(known(&lax, &part, None) && known(&strict, &part, None));
        assert!(!known(&lax, &HeaderMap::new(), None) && !known(&strict, &HeaderMap::new(), None));
        let let_through = authorized("{}");
        assert!(known(&lax, &HeaderMap::new(), Some(&let_through)));
        let guarded = settings(ScopeSource::Authorizer, false);
        assert!(!known(&guarded, &part, None));
    }

    #[test]
    fn keys_are_a_comma_list_or_a_json_array() {
        let keys = |text| ScopeSettings::parse_keys(text);
        assert_eq!(keys("user, team"), Some(vec!["user".into(), "team".into()]));
        assert_eq!(keys(r#"["user"]"#), Some(vec!["user".into()]));
        for bad in ["", "User", "a,a", "a b", "[1]", "[]"] {
            assert_eq!(keys(bad), None, "{bad}");
        }
    }
}
