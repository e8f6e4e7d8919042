//! Which paths the server takes.
//!
//! **A [`RelativePath`] never leaves the directory that it is joined to**, as far as text can tell;
//! what is on disk is the server's to check.

use std::fmt;

/// Most bytes of a whole path.
pub const MAX_PATH: usize = 4_096;
/// Most bytes of one segment.
pub const MAX_SEGMENT: usize = 255;
/// The first segment of what only the server and its owners may write.
pub const PROTECTED: &str = ".cognition";

/// A path below the workspace: segments that are neither empty nor `.` nor `..`, without
/// backslashes and control characters. No spelling is repaired: one file, one name.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RelativePath(String);

/// A text that is not such a path. Does not repeat it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum InvalidPath {
    #[error("the path is empty")]
    Empty,
    #[error("the path is not below the workspace")]
    Outside,
    #[error("the path has an empty, `.` or `..` segment")]
    Segment,
    #[error("the path has a backslash or a control character")]
    Character,
    #[error("the path is too long")]
    TooLong,
}

impl RelativePath {
    /// The workspace itself.
    pub const ROOT: Self = Self(String::new());

    /// Reads a path that names something below the workspace.
    pub fn parse(text: &str) -> Result<Self, InvalidPath> {
        if text.is_empty() {
            return Err(InvalidPath::Empty);
        }
        if text.len() > MAX_PATH {
            return Err(InvalidPath::TooLong);
        }
        if text.starts_with('/') {
            return Err(InvalidPath::Outside);
        }
        if text.chars().any(|c| c == '\\' || c.is_control()) {
            return Err(InvalidPath::Character);
        }
        for segment in text.split('/') {
            if matches!(segment, "" | "." | "..") {
                return Err(InvalidPath::Segment);
            }
            if segment.len() > MAX_SEGMENT {
                return Err(InvalidPath::TooLong);
            }
        }
        Ok(Self(text.to_owned()))
    }

    /// Like [`RelativePath::parse`], with `""` and `"."` for the workspace itself.
    pub fn parse_or_root(text: &str) -> Result<Self, InvalidPath> {
        if matches!(text, "" | ".") { Ok(Self::ROOT) } else { Self::parse(text) }
    }

    /// Takes an absolute path as a command or a model sees it, with `root` as the workspace.
    pub fn below(root: &str, absolute: &str) -> Result<Self, InvalidPath> {
        let rest = absolute.strip_prefix(root.trim_end_matches('/'));
        let rest = rest.and_then(|rest| rest.strip_prefix('/')).ok_or(InvalidPath::Outside)?;
        Self::parse(rest)
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }

    pub fn is_root(&self) -> bool {
        self.0.is_empty()
    }

    pub fn segments(&self) -> impl DoubleEndedIterator<Item = &str> {
        self.0.split('/').filter(|segment| !segment.is_empty())
    }

    /// The directory that holds it, and its name there. `None` for the workspace itself.
    pub fn split(&self) -> Option<(Self, &str)> {
        match self.0.rsplit_once('/') {
            Some((parent, name)) => Some((Self(parent.to_owned()), name)),
            None if self.is_root() => None,
            None => Some((Self::ROOT, &self.0)),
        }
    }

    /// The path of an entry of this directory. `None` where the name breaks a rule.
    pub fn child(&self, name: &str) -> Option<Self> {
        let whole =
            if self.is_root() { name.to_owned() } else { format!("{}/{name}", self.as_str()) };
        if name.contains('/') { None } else { Self::parse(&whole).ok() }
    }

    /// Whether only the server and its owners may write here.
    pub fn is_protected(&self) -> bool {
        self.segments().next() == Some(PROTECTED)
    }
}

impl fmt::Debug for RelativePath {
    /// Does not print the path, which may tell what a user works on.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("RelativePath(…)")
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn scenario_36_what_could_lead_elsewhere_is_refused() {
        for bad in [
            "",
            "/etc/passwd",
            "..",
            "../secret",
            "a/../b",
            "a/..",
            "a//b",
            "a/",
            ".",
            "./a",
            "a/.",
            "a/./b",
            "a\0b",
            "a\\..\\b",
            "a\nb",
            "/",
            "//",
        ] {
            assert!(RelativePath::parse(bad).is_err(), "{bad:?}");
        }
        for good in ["a", "a..b", "..a", "a/b.txt", "...", " ", "ü/é", "-rf", "~"] {
            assert_eq!(RelativePath::parse(good).unwrap().as_str(), good);
        }
    }

    #[test]
    fn length_counts_in_bytes() {
        assert!(RelativePath::parse(&"é".repeat(127)).is_ok());
        assert_eq!(RelativePath::parse(&"é".repeat(128)), Err(InvalidPath::TooLong));
        assert!(RelativePath::parse(&vec!["a"; 2048].join("/")).is_ok());
        assert_eq!(RelativePath::parse(&vec!["a"; 2049].join("/")), Err(InvalidPath::TooLong));
    }

    #[test]
    fn scenario_39_protection_goes_by_segments_and_not_by_letters() {
        let protected = |text| RelativePath::parse(text).unwrap().is_protected();
        assert!(protected(".cognition"));
        assert!(protected(".cognition/x"));
        assert!(!protected(".cognitionfoo/x"));
        assert!(!protected("a/.cognition/x"));
    }

    #[test]
    fn an_absolute_path_must_lie_below_the_root_that_is_given() {
        let below = |text| RelativePath::below("/workspace", text);
        assert_eq!(below("/workspace/a/b").unwrap().as_str(), "a/b");
        for bad in ["/workspace", "/workspace/", "/workspacefoo/a", "/workspace/../a", "a", "/a"] {
            assert!(below(bad).is_err(), "{bad}");
        }
        assert_eq!(RelativePath::below("/w/", "/w/a").unwrap().as_str(), "a");
    }

    proptest! {
        #[test]
        fn an_accepted_path_stays_below_any_directory(text in "[a./\\\\\0 ~é-]{0,24}") {
            if let Ok(path) = RelativePath::parse(&text) {
                let root = std::path::Path::new("/root/of/all");
                let joined = root.join(path.as_str());
                let normal = |part| matches!(part, std::path::Component::Normal(_));
                prop_assert!(joined.strip_prefix(root).unwrap().components().all(normal));
                // Nothing was repaired: what comes out is what went in, segment by segment.
                prop_assert_eq!(path.segments().collect::<Vec<_>>().join("/"), text);
            }
        }

        #[test]
        fn a_path_is_its_directory_and_its_name(text in "[ab.]{1,3}(/[ab.]{1,3}){0,4}") {
            if let Ok(path) = RelativePath::parse(&text) {
                let (parent, name) = path.split().unwrap();
                prop_assert_eq!(parent.child(name), Some(path.clone()));
            }
        }
    }
}
