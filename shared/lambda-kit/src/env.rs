//! Settings from the environment, read once at the start.
//!
//! **A wrong set of settings is reported whole**, so that nobody has to start five times to find five
//! mistakes; and no value is ever printed, because some are secrets.
//!
//! ```
//! # use lambda_kit::env::{Env, Invalid};
//! struct Config {
//!     bucket: String,
//!     attempts: u32,
//! }
//!
//! fn read(env: &Env) -> Result<Config, Invalid> {
//!     let mut read = env.reader();
//!     let bucket = read.required("APP_BUCKET");
//!     let attempts = read.or("APP_ATTEMPTS", 3);
//!     read.finish(|| Some(Config { bucket: bucket?, attempts }))
//! }
//!
//! let config = read(&Env::of([("APP_BUCKET", "files")])).unwrap();
//! assert_eq!((config.bucket.as_str(), config.attempts), ("files", 3));
//! let invalid = read(&Env::of([("APP_ATTEMPTS", "many")])).err().unwrap();
//! assert_eq!(
//!     invalid.to_string(),
//!     "settings: APP_BUCKET is not set; APP_ATTEMPTS must be a whole number"
//! );
//! ```

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

/// Where settings come from: the process, or in tests a list.
#[derive(Clone)]
pub struct Env {
    values: BTreeMap<String, String>,
}

impl Env {
    /// What the process was started with.
    pub fn process() -> Self {
        // Not `vars`, which panics on a name or value of another program that is not Unicode.
        let unicode = |(name, value): (std::ffi::OsString, std::ffi::OsString)| {
            Some((name.into_string().ok()?, value.into_string().ok()?))
        };
        Self { values: std::env::vars_os().filter_map(unicode).collect() }
    }

    /// Exactly these.
    pub fn of<N, V>(values: impl IntoIterator<Item = (N, V)>) -> Self
    where
        N: Into<String>,
        V: Into<String>,
    {
        Self { values: values.into_iter().map(|(n, v)| (n.into(), v.into())).collect() }
    }

    /// The value, if there is one that is not empty: templates write an empty value where they mean
    /// none.
    pub fn value(&self, name: &str) -> Option<&str> {
        self.values.get(name).map(String::as_str).filter(|value| !value.is_empty())
    }

    /// The names of what is set and not empty.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.values.iter().filter(|(_, value)| !value.is_empty()).map(|(name, _)| name.as_str())
    }

    /// Starts to read a set of settings.
    pub fn reader(&self) -> Reader<'_> {
        Reader { env: self, problems: Vec::new() }
    }
}

impl fmt::Debug for Env {
    /// Prints the number of values only.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Env").field("values", &self.values.len()).finish()
    }
}

/// Reads settings and gathers what is wrong with them.
#[derive(Debug)]
pub struct Reader<'a> {
    env: &'a Env,
    problems: Vec<Problem>,
}

impl Reader<'_> {
    /// A setting that must be there. `None` means that a problem is noted.
    pub fn required<T: Setting>(&mut self, name: &'static str) -> Option<T> {
        if self.env.value(name).is_none() {
            self.problem(name, "is not set");
        }
        self.optional(name)
    }

    /// A setting that may be absent. One that cannot be read is a problem, not absent.
    pub fn optional<T: Setting>(&mut self, name: &'static str) -> Option<T> {
        self.parsed(name, T::WANTED, T::parse)
    }

    /// A setting with a default.
    pub fn or<T: Setting>(&mut self, name: &'static str, default: T) -> T {
        self.optional(name).unwrap_or(default)
    }

    /// A setting in a form of the caller's own; `wanted` completes the sentence "… must be".
    pub fn parsed<T>(
        &mut self,
        name: &'static str,
        wanted: &'static str,
        parse: impl FnOnce(&str) -> Option<T>,
    ) -> Option<T> {
        let value = parse(self.env.value(name)?);
        if value.is_none() {
            self.problems.push(Problem { name, what: What::MustBe(wanted) });
        }
        value
    }

    /// A setting whose parser tells what is wrong with it, without repeating what it holds.
    pub fn tried<T, E: fmt::Display>(
        &mut self,
        name: &'static str,
        parse: impl FnOnce(&str) -> Result<T, E>,
    ) -> Option<T> {
        match parse(self.env.value(name)?) {
            Ok(value) => Some(value),
            Err(error) => {
                self.problem(name, format!("is refused: {error}"));
                None
            }
        }
    }

    /// Notes a problem that only the caller can see, such as two settings that exclude each other;
    /// `what` completes the sentence that begins with the name, and repeats no value.
    pub fn problem(&mut self, name: &'static str, what: impl Into<Cow<'static, str>>) {
        self.problems.push(Problem { name, what: What::Is(what.into()) });
    }

    /// Ends the reading: the settings, or all problems. `make` gives `None` only where
    /// [`Reader::required`] has given `None`.
    pub fn finish<T>(self, make: impl FnOnce() -> Option<T>) -> Result<T, Invalid> {
        match make() {
            Some(settings) if self.problems.is_empty() => Ok(settings),
            _ => Err(Invalid { problems: self.problems }),
        }
    }
}

/// One thing that is wrong with one setting.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    name: &'static str,
    what: What,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum What {
    Is(Cow<'static, str>),
    MustBe(&'static str),
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.what {
            What::Is(what) => write!(f, "{} {what}", self.name),
            What::MustBe(wanted) => write!(f, "{} must be {wanted}", self.name),
        }
    }
}

/// Everything that is wrong with a set of settings.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("settings: {}", sentence(.problems))]
pub struct Invalid {
    problems: Vec<Problem>,
}

impl Invalid {
    pub fn problems(&self) -> &[Problem] {
        &self.problems
    }
}

fn sentence(problems: &[Problem]) -> String {
    problems.iter().map(Problem::to_string).collect::<Vec<_>>().join("; ")
}

/// A type that a setting can have.
pub trait Setting: Sized {
    /// Completes the sentence "… must be".
    const WANTED: &str;

    fn parse(text: &str) -> Option<Self>;
}

impl Setting for String {
    const WANTED: &str = "a text";

    fn parse(text: &str) -> Option<Self> {
        Some(text.to_owned())
    }
}

impl Setting for bool {
    const WANTED: &str = "true or false";

    fn parse(text: &str) -> Option<Self> {
        match text.to_ascii_lowercase().as_str() {
            "true" | "1" | "on" | "yes" => Some(true),
            "false" | "0" | "off" | "no" => Some(false),
            _ => None,
        }
    }
}

/// Seconds, with or without a fraction.
impl Setting for Duration {
    const WANTED: &str = "a number of seconds";

    fn parse(text: &str) -> Option<Self> {
        Self::try_from_secs_f64(text.parse().ok()?).ok()
    }
}

macro_rules! whole_numbers {
    ($($number:ty),*) => {
        $(impl Setting for $number {
            const WANTED: &str = "a whole number";

            fn parse(text: &str) -> Option<Self> {
                text.parse().ok()
            }
        })*
    };
}

whole_numbers!(u16, u32, u64, usize);

/// A text that is never printed: a key, a token, an address with a password in it.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// The text itself, for the one place that needs it.
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret")
    }
}

impl Setting for Secret {
    const WANTED: &str = "a text";

    fn parse(text: &str) -> Option<Self> {
        Some(Self::new(text))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, PartialEq)]
    struct Config {
        name: String,
        size: u64,
        wait: Duration,
        loud: bool,
        note: Option<String>,
    }

    fn read(env: &Env) -> Result<Config, Invalid> {
        let mut read = env.reader();
        let name = read.required("NAME");
        let size = read.required("SIZE");
        let wait = read.or("WAIT", Duration::from_secs(20));
        let loud = read.or("LOUD", false);
        let note = read.optional("NOTE");
        read.finish(|| Some(Config { name: name?, size: size?, wait, loud, note }))
    }

    #[test]
    fn settings_are_read_with_their_types_and_defaults() {
        let env = Env::of([("NAME", "a"), ("SIZE", "10"), ("WAIT", "0.25"), ("LOUD", "TRUE")]);
        let config = Config {
            name: "a".to_owned(),
            size: 10,
            wait: Duration::from_millis(250),
            loud: true,
            note: None,
        };
        assert_eq!(read(&env), Ok(config));
    }

    #[test]
    fn every_problem_is_named_at_once() {
        let env = Env::of([("SIZE", "-1"), ("WAIT", "soon"), ("LOUD", "maybe")]);
        let problems = read(&env).unwrap_err().to_string();
        assert_eq!(
            problems,
            "settings: NAME is not set; SIZE must be a whole number; \
             WAIT must be a number of seconds; LOUD must be true or false"
        );
    }

    #[test]
    fn an_empty_value_is_an_absent_one() {
        let env = Env::of([("NAME", ""), ("SIZE", "1"), ("NOTE", "")]);
        assert_eq!(read(&env).unwrap_err().to_string(), "settings: NAME is not set");
    }

    #[test]
    fn a_caller_can_note_a_problem_of_its_own() {
        let env = Env::of([("NAME", "a")]);
        let mut read = env.reader();
        read.problem("NAME", "excludes OTHER");
        let invalid = read.finish(|| Some(())).unwrap_err();
        assert_eq!(invalid.problems().len(), 1);
        assert_eq!(invalid.to_string(), "settings: NAME excludes OTHER");
    }

    #[test]
    fn nothing_prints_a_value() {
        let env = Env::of([("KEY", "s3cret"), ("SIZE", "s3cret")]);
        let mut read = env.reader();
        let key = read.required::<Secret>("KEY").unwrap();
        let size = read.required::<u64>("SIZE");
        let invalid = read.finish(|| size).unwrap_err();
        assert_eq!(key.expose(), "s3cret");
        let printed = format!("{env:?} {key:?} {invalid:?} {invalid}");
        assert!(!printed.contains("s3cret"), "{printed}");
    }
}
