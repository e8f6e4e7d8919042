//! What an agent's settings must be, so that its card is one (A2A §4.4).
//!
//! **Looked at when agents are loaded, so that no request ever finds a card that is wrong.** All
//! mistakes are told at once, each with where it is.

use std::collections::BTreeSet;
use std::fmt;

use domain::AgentDefinition;
use domain::agent_definition::{A2aSettings, Skill};

const MAX_NAME: usize = 200;
const MAX_DESCRIPTION: usize = 2000;
const MAX_SKILL_ID: usize = 100;

/// Everything that is wrong with an agent's settings.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}", .0.join("; "))]
pub struct InvalidSettings(Vec<String>);

impl InvalidSettings {
    /// Each as `place what`.
    pub fn problems(&self) -> &[String] {
        &self.0
    }
}

/// Checks what of an agent stands in its card.
pub fn check(definition: &AgentDefinition) -> Result<(), InvalidSettings> {
    let mut problems = Problems(Vec::new());
    if let Some(name) = &definition.display_name {
        problems.text("display_name", name, MAX_NAME);
    }
    if let Some(description) = &definition.description {
        problems.text("description", description, MAX_DESCRIPTION);
    }
    settings(&mut problems, &definition.a2a);
    if problems.0.is_empty() { Ok(()) } else { Err(InvalidSettings(problems.0)) }
}

fn settings(problems: &mut Problems, a2a: &A2aSettings) {
    problems.modes("a2a.default_input_modes", &a2a.default_input_modes);
    problems.modes("a2a.default_output_modes", &a2a.default_output_modes);
    for (name, modes) in [
        ("a2a.default_input_modes", &a2a.default_input_modes),
        ("a2a.default_output_modes", &a2a.default_output_modes),
    ] {
        if modes.is_empty() {
            problems.add(name, "is empty");
        }
    }
    if let Some(provider) = &a2a.provider {
        problems.text("a2a.provider.organization", &provider.organization, MAX_NAME);
        problems.url("a2a.provider.url", &provider.url);
    }
    for (place, url) in [
        ("a2a.documentation_url", &a2a.documentation_url),
        ("a2a.icon_url", &a2a.icon_url),
        ("a2a.public_interface_url", &a2a.public_interface_url),
    ] {
        if let Some(url) = url {
            problems.url(place, url);
        }
    }
    let mut seen = BTreeSet::new();
    for (index, extension) in a2a.extensions.iter().enumerate() {
        let place = format!("a2a.extensions[{index}]");
        if !is_extension(&extension.uri) {
            problems
                .add(format!("{place}.uri"), "is not an absolute URI without commas and spaces");
        }
        if !seen.insert(extension.uri.as_str()) {
            problems.add(format!("{place}.uri"), "comes twice");
        }
        if let Some(description) = &extension.description {
            problems.text(&format!("{place}.description"), description, MAX_DESCRIPTION);
        }
    }
    let mut seen = BTreeSet::new();
    for (index, tenant) in a2a.tenants.iter().enumerate() {
        if !seen.insert(tenant) {
            problems.add(format!("a2a.tenants[{index}]"), "comes twice");
        }
    }
    let mut ids = BTreeSet::new();
    for (index, skill) in a2a.skills.iter().enumerate() {
        problems.skill(&format!("a2a.skills[{index}]"), skill, &mut ids);
    }
    if let Some(extended) = &a2a.extended_card {
        if let Some(description) = &extended.description {
            problems.text("a2a.extended_card.description", description, MAX_DESCRIPTION);
        }
        for (index, skill) in extended.skills.iter().enumerate() {
            problems.skill(&format!("a2a.extended_card.skills[{index}]"), skill, &mut ids);
        }
    }
}

struct Problems(Vec<String>);

impl Problems {
    fn add(&mut self, place: impl fmt::Display, what: &str) {
        self.0.push(format!("{place} {what}"));
    }

    fn text(&mut self, place: &str, text: &str, max: usize) {
        if text.trim().is_empty() {
            self.add(place, "is blank");
        }
        if text.chars().count() > max {
            self.add(place, &format!("is longer than {max} characters"));
        }
    }

    fn url(&mut self, place: &str, url: &str) {
        if let Err(what) = web_url(url) {
            self.add(place, what);
        }
    }

    fn modes(&mut self, place: &str, modes: &[String]) {
        for (index, mode) in modes.iter().enumerate() {
            let parts = mode.split_once('/');
            if !parts.is_some_and(|(kind, subtype)| is_token(kind) && is_token(subtype)) {
                self.add(format!("{place}[{index}]"), "is not of the form type/subtype");
            }
        }
    }

    fn skill<'a>(&mut self, place: &str, skill: &'a Skill, ids: &mut BTreeSet<&'a str>) {
        if !is_skill_id(&skill.id) {
            let what = "does not match [A-Za-z0-9][A-Za-z0-9._-]{0,99}";
            self.add(format!("{place}.id"), what);
        }
        if !ids.insert(&skill.id) {
            self.add(format!("{place}.id"), "comes twice");
        }
        self.text(&format!("{place}.name"), &skill.name, MAX_NAME);
        self.text(&format!("{place}.description"), &skill.description, MAX_DESCRIPTION);
        if skill.tags.iter().all(|tag| tag.trim().is_empty()) {
            self.add(format!("{place}.tags"), "has no tag that is not blank");
        }
        self.modes(&format!("{place}.input_modes"), &skill.input_modes);
        self.modes(&format!("{place}.output_modes"), &skill.output_modes);
        for (index, requirement) in skill.security.iter().enumerate() {
            if requirement.is_empty() {
                self.add(format!("{place}.security[{index}]"), "names no scheme");
            }
        }
    }
}

/// What HTTP calls a token: a part of a media type, the name of a scheme.
pub(super) fn is_token(text: &str) -> bool {
    let ok = |b: u8| b.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&b);
    !text.is_empty() && text.bytes().all(ok)
}

fn is_skill_id(id: &str) -> bool {
    let first = id.bytes().next().is_some_and(|b| b.is_ascii_alphanumeric());
    let ok = |b: u8| b.is_ascii_alphanumeric() || b"._-".contains(&b);
    first && id.len() <= MAX_SKILL_ID && id.bytes().all(ok)
}

/// As it can stand in `A2A-Extensions`, a list with commas.
fn is_extension(uri: &str) -> bool {
    let scheme = uri.split_once(':').map_or("", |(scheme, _)| scheme);
    let ok = |b: u8| b.is_ascii_alphanumeric() || b"+-.".contains(&b);
    scheme.bytes().next().is_some_and(|b| b.is_ascii_alphabetic())
        && scheme.bytes().all(ok)
        && uri.len() > scheme.len() + 1
        && uri.bytes().all(|b| b.is_ascii_graphic() && b != b',')
}

/// An absolute http(s) address that says nothing of who asks and names no place within a page.
pub(super) fn web_url(url: &str) -> Result<(), &'static str> {
    let rest = ["https://", "http://"].iter().find_map(|scheme| {
        let (head, rest) = url.split_at_checked(scheme.len())?;
        head.eq_ignore_ascii_case(scheme).then_some(rest)
    });
    let Some(rest) = rest else { return Err("is not an absolute http or https address") };
    if url.chars().any(|c| c.is_whitespace() || c.is_control()) {
        return Err("has white space in it");
    }
    if url.contains('#') {
        return Err("has a fragment");
    }
    let authority = rest.split(['/', '?']).next().unwrap_or_default();
    if authority.contains('@') {
        return Err("names a user");
    }
    let parsed = url.parse::<http::Uri>();
    let host = parsed.as_ref().ok().and_then(http::Uri::host).unwrap_or_default();
    if host.is_empty() { Err("is not an address") } else { Ok(()) }
}
