//! Tags, rules, times and names, between the protocol's types and ours.

use std::collections::BTreeMap;
use std::time::{Duration, UNIX_EPOCH};

use domain::Timestamp;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};
use s3s::dto;
use s3s::{S3Result, s3_error};

use super::record::Rule;

/// More tags than this no object has.
const MAX_TAGS: usize = 10;

/// What stays as it is in a listing with `encoding-type=url`.
const PLAIN: &AsciiSet =
    &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~').remove(b'/');

/// A name in a listing that asks for percent-encoding.
pub(super) fn encode(name: &str) -> String {
    utf8_percent_encode(name, PLAIN).to_string()
}

pub(super) fn time(at: Timestamp) -> dto::Timestamp {
    let since = Duration::from_micros(u64::try_from(at.as_micros()).unwrap_or(0));
    dto::Timestamp::from(UNIX_EPOCH + since)
}

/// The tags of an `x-amz-tagging` header, which is a query string.
pub(super) fn tags_of_header(header: &str) -> S3Result<BTreeMap<String, String>> {
    let decode = |text: &str| {
        let text = text.replace('+', " ");
        percent_decode_str(&text).decode_utf8().map(String::from).ok()
    };
    let pairs = header.split('&').filter(|pair| !pair.is_empty());
    let tags = pairs.map(|pair| {
        let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
        Some((decode(key)?, decode(value)?))
    });
    distinct(tags)
}

pub(super) fn tags_of_set(set: dto::TagSet) -> S3Result<BTreeMap<String, String>> {
    distinct(set.into_iter().map(|tag| Some((tag.key?, tag.value.unwrap_or_default()))))
}

/// A key comes once, is not empty, and there are not too many.
fn distinct(
    tags: impl Iterator<Item = Option<(String, String)>>,
) -> S3Result<BTreeMap<String, String>> {
    let mut map = BTreeMap::new();
    for tag in tags {
        let (key, value) = tag.ok_or_else(|| s3_error!(InvalidTag))?;
        if key.is_empty() || map.insert(key, value).is_some() || map.len() > MAX_TAGS {
            return Err(s3_error!(InvalidTag));
        }
    }
    Ok(map)
}

pub(super) fn tag_set(tags: BTreeMap<String, String>) -> dto::TagSet {
    let tag = |(key, value)| dto::Tag { key: Some(key), value: Some(value) };
    tags.into_iter().map(tag).collect()
}

/// The rule, if it is of the kind that we carry out: an age in days, for a prefix and tags. The
/// end of unfinished uploads in parts may be asked for too, since there are none.
pub(super) fn rule(rule: dto::LifecycleRule) -> S3Result<Rule> {
    let other = rule.transitions.is_some()
        || rule.noncurrent_version_expiration.is_some()
        || rule.noncurrent_version_transitions.is_some();
    let days = rule.expiration.as_ref().and_then(|e| e.days).filter(|days| *days > 0);
    let (Some(days), false) = (days, other) else { return Err(s3_error!(NotImplemented)) };
    let filter = rule.filter.unwrap_or_default();
    let and = filter.and.unwrap_or_default();
    let sizes = [
        filter.object_size_greater_than,
        filter.object_size_less_than,
        and.object_size_greater_than,
        and.object_size_less_than,
    ];
    if sizes.iter().any(Option::is_some) {
        return Err(s3_error!(NotImplemented));
    }
    Ok(Rule {
        id: rule.id,
        enabled: rule.status.as_str() == dto::ExpirationStatus::ENABLED,
        prefix: rule.prefix.or(filter.prefix).or(and.prefix).filter(|prefix| !prefix.is_empty()),
        tags: tags_of_set(filter.tag.into_iter().chain(and.tags.unwrap_or_default()).collect())?,
        days,
    })
}

pub(super) fn rule_out(rule: Rule) -> dto::LifecycleRule {
    let status =
        if rule.enabled { dto::ExpirationStatus::ENABLED } else { dto::ExpirationStatus::DISABLED };
    let mut tags = tag_set(rule.tags);
    let filter = match (rule.prefix, tags.len()) {
        (prefix, 0) => dto::LifecycleRuleFilter { prefix, ..Default::default() },
        (None, 1) => dto::LifecycleRuleFilter { tag: tags.pop(), ..Default::default() },
        (prefix, _) => {
            let and =
                dto::LifecycleRuleAndOperator { prefix, tags: Some(tags), ..Default::default() };
            dto::LifecycleRuleFilter { and: Some(and), ..Default::default() }
        }
    };
    dto::LifecycleRule {
        id: rule.id,
        status: dto::ExpirationStatus::from_static(status),
        filter: Some(filter),
        expiration: Some(dto::LifecycleExpiration { days: Some(rule.days), ..Default::default() }),
        abort_incomplete_multipart_upload: None,
        noncurrent_version_expiration: None,
        noncurrent_version_transitions: None,
        prefix: None,
        transitions: None,
    }
}
