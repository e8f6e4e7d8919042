//! Patterns for file names: one implementation for every place that has files.
//!
//! - Without `/`, a pattern is matched against the base name, at any depth.
//! - With `/`, it is matched against the path relative to where the search starts; a leading `/`
//!   only says so.
//! - `*` and `?` stay inside a segment. `**` as a whole segment crosses any number of them; at the
//!   end it needs at least one.
//! - `[abc]`, `[a-z]`, `[!abc]` and `[^abc]`; `{a,b}`, also nested; `\` takes the next character as
//!   it is. A group of one element, an unclosed `[` or `{` and a leading `!` are literal.
//! - A name that starts with a dot is matched only by a segment that starts with one, and `**` does
//!   not enter such directories. So `*.yml` finds `.github/x.yml`, and `**/*.yml` does not.
//! - Letters are compared as they are.

mod braces;
mod name;

use name::Name;

/// Most bytes of a pattern.
pub const MAX_PATTERN: usize = 1_024;
/// Most patterns that the groups of one pattern may expand to.
pub const MAX_EXPANSIONS: usize = 1_000;

/// A pattern that was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pattern {
    alternatives: Vec<Alternative>,
}

/// Why a pattern was refused. Does not repeat it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum InvalidPattern {
    #[error("the pattern is empty")]
    Empty,
    #[error("the pattern is longer than {MAX_PATTERN} bytes")]
    TooLong,
    #[error("the pattern has a `..` segment")]
    Parent,
    #[error("the pattern's groups expand to more than {MAX_EXPANSIONS} patterns")]
    TooManyExpansions,
}

/// One pattern without groups.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Alternative {
    BaseName(Name),
    Path(Vec<Segment>),
    /// It can only name a directory, and only files are looked for.
    Nothing,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Segment {
    AnyDepth,
    Name(Name),
}

impl Pattern {
    pub fn parse(text: &str) -> Result<Self, InvalidPattern> {
        if text.is_empty() {
            return Err(InvalidPattern::Empty);
        }
        if text.len() > MAX_PATTERN {
            return Err(InvalidPattern::TooLong);
        }
        let expanded = braces::expand(text).ok_or(InvalidPattern::TooManyExpansions)?;
        let alternatives = expanded.iter().map(|one| Alternative::parse(one));
        Ok(Self { alternatives: alternatives.collect::<Result<_, _>>()? })
    }

    /// Whether a file matches. The path is relative to where the search starts.
    pub fn matches(&self, path: &str) -> bool {
        self.alternatives.iter().any(|alternative| alternative.matches(path))
    }
}

impl Alternative {
    fn parse(text: &str) -> Result<Self, InvalidPattern> {
        if text.split('/').any(|segment| segment == "..") {
            return Err(InvalidPattern::Parent);
        }
        if !text.contains('/') {
            return Ok(Self::BaseName(Name::parse(text)));
        }
        if text.ends_with('/') {
            return Ok(Self::Nothing);
        }
        let mut segments = Vec::new();
        for segment in text.split('/') {
            match segment {
                "" | "." => {}
                "**" if segments.last() == Some(&Segment::AnyDepth) => {}
                "**" => segments.push(Segment::AnyDepth),
                name => segments.push(Segment::Name(Name::parse(name))),
            }
        }
        Ok(if segments.is_empty() { Self::Nothing } else { Self::Path(segments) })
    }

    fn matches(&self, path: &str) -> bool {
        match self {
            Self::Nothing => false,
            Self::BaseName(name) => {
                name.matches(path.rsplit_once('/').map_or(path, |(_, base)| base))
            }
            Self::Path(segments) => {
                let names: Vec<&str> = path.split('/').collect();
                matches_path(segments, &names)
            }
        }
    }
}

/// Goes through the names once and keeps, for each, which segments may come next: linear in both,
/// whatever the pattern.
fn matches_path(segments: &[Segment], names: &[&str]) -> bool {
    let mut next = vec![false; segments.len() + 1];
    if let Some(first) = next.first_mut() {
        *first = true;
    }
    skip_any_depth(segments, &mut next);
    for name in names {
        let mut after = vec![false; segments.len() + 1];
        for (at, segment) in segments.iter().enumerate() {
            if !next.get(at).copied().unwrap_or_default() {
                continue;
            }
            // `**` takes the name and may take more, or is done with it.
            let (taken, stays) = match segment {
                Segment::AnyDepth => (!name.starts_with('.'), true),
                Segment::Name(pattern) => (pattern.matches(name), false),
            };
            if let Some(slot) = after.get_mut(at).filter(|_| taken && stays) {
                *slot = true;
            }
            if let Some(slot) = after.get_mut(at + 1).filter(|_| taken) {
                *slot = true;
            }
        }
        skip_any_depth(segments, &mut after);
        next = after;
    }
    next.last().copied().unwrap_or_default()
}

/// `**` may also stand for nothing, unless it ends the pattern.
fn skip_any_depth(segments: &[Segment], next: &mut [bool]) {
    for (at, segment) in segments.iter().enumerate() {
        let skips = *segment == Segment::AnyDepth && at + 1 < segments.len();
        let reached = next.get(at).copied().unwrap_or_default();
        if let Some(slot) = next.get_mut(at + 1).filter(|_| skips && reached) {
            *slot = true;
        }
    }
}

#[cfg(test)]
mod tests;
