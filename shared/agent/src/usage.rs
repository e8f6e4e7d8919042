//! What the providers say a run has used (agent-loop.md §18).
//!
//! **Only what a provider reported is counted; nothing is estimated.**

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// The tokens of one model call, as the provider reported them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Usage {
    /// Everything that was read, cached or not.
    pub input: u64,
    pub output: u64,
    pub total: u64,
    pub cache_read: u64,
    pub cache_write: u64,
    /// A part of `output`.
    pub reasoning: u64,
}

impl Usage {
    /// A usage of which only input and output are known.
    pub const fn new(input: u64, output: u64) -> Self {
        let total = input.saturating_add(output);
        Self { input, output, total, cache_read: 0, cache_write: 0, reasoning: 0 }
    }

    /// With the total filled in where the provider left it out.
    #[must_use]
    pub const fn with_total(self) -> Self {
        let total =
            if self.total == 0 { self.input.saturating_add(self.output) } else { self.total };
        Self { total, ..self }
    }

    const fn plus(self, other: Self) -> Self {
        Self {
            input: self.input.saturating_add(other.input),
            output: self.output.saturating_add(other.output),
            total: self.total.saturating_add(other.total),
            cache_read: self.cache_read.saturating_add(other.cache_read),
            cache_write: self.cache_write.saturating_add(other.cache_write),
            reasoning: self.reasoning.saturating_add(other.reasoning),
        }
    }
}

/// One attempt at a model call. An attempt whose outcome was lost reports nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Attempt {
    pub provider: String,
    pub model: String,
    pub usage: Option<Usage>,
}

/// How much of the run the totals cover.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Coverage {
    Complete,
    Partial,
    Unavailable,
}

/// The usage of a whole run, said once when it ends or pauses.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Report {
    pub status: Coverage,
    pub totals: Option<Usage>,
    pub model_calls: u32,
    pub reported_model_calls: u32,
    pub unreported_model_calls: u32,
    /// `None` when several were used.
    pub provider: Option<String>,
    pub model: Option<String>,
    /// Empty unless several were used.
    pub by_model: Vec<ByModel>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ByModel {
    pub provider: String,
    pub model: String,
    pub totals: Option<Usage>,
    pub model_calls: u32,
}

/// Sums up the attempts of one run.
pub fn report(attempts: &[Attempt]) -> Report {
    let mut models: BTreeMap<(&str, &str), (Option<Usage>, u32)> = BTreeMap::new();
    let mut reported = 0;
    for attempt in attempts {
        let (totals, calls) = models.entry((&attempt.provider, &attempt.model)).or_default();
        *calls += 1;
        if let Some(usage) = attempt.usage {
            reported += 1;
            *totals = Some(totals.unwrap_or_default().plus(usage));
        }
    }
    let calls: u32 = models.values().map(|(_, calls)| calls).sum();
    let totals = models.values().filter_map(|(totals, _)| *totals).reduce(Usage::plus);
    let status = match reported {
        0 => Coverage::Unavailable,
        n if n == calls => Coverage::Complete,
        _ => Coverage::Partial,
    };
    let only = match models.keys().collect::<Vec<_>>().as_slice() {
        [(provider, model)] => Some((*provider, *model)),
        _ => None,
    };
    let by_model = |((provider, model), (totals, model_calls)): (&(&str, &str), &_)| ByModel {
        provider: (*provider).to_owned(),
        model: (*model).to_owned(),
        totals: *totals,
        model_calls: *model_calls,
    };
    Report {
        status,
        totals,
        model_calls: calls,
        reported_model_calls: reported,
        unreported_model_calls: calls - reported,
        provider: only.map(|(provider, _)| provider.to_owned()),
        model: only.map(|(_, model)| model.to_owned()),
        by_model: if models.len() > 1 { models.iter().map(by_model).collect() } else { vec![] },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn attempt(model: &str, usage: Option<Usage>) -> Attempt {
        Attempt { provider: "p".into(), model: model.into(), usage }
    }

    #[test]
    fn what_was_not_reported_is_said_and_not_guessed() {
        assert_eq!(report(&[]).status, Coverage::Unavailable);
        let none = report(&[attempt("a", None)]);
        assert_eq!((none.status, none.totals), (Coverage::Unavailable, None));
        let some = report(&[attempt("a", Some(Usage::new(1, 2))), attempt("a", None)]);
        assert_eq!((some.status, some.totals), (Coverage::Partial, Some(Usage::new(1, 2))));
        assert_eq!((some.reported_model_calls, some.unreported_model_calls), (1, 1));
    }

    #[test]
    fn one_model_is_named_and_several_are_listed() {
        let usage = Some(Usage::new(1, 2));
        let one = report(&[attempt("a", usage), attempt("a", usage)]);
        assert_eq!((one.status, one.totals), (Coverage::Complete, Some(Usage::new(2, 4))));
        assert_eq!((one.model.as_deref(), one.by_model.len()), (Some("a"), 0));
        let two = report(&[attempt("a", usage), attempt("b", usage)]);
        assert_eq!((two.model.as_deref(), two.by_model.len()), (None, 2));
        assert_eq!(two.totals, Some(Usage::new(2, 4)));
    }
}
