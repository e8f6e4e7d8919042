//! Page tokens: a text is refused, or is the one that is made here for a place in this very list. No
//! other list takes it, and what is changed is no token or that of another place of the same list.

use domain::{AgentKey, Scope, ScopeDigest, TaskId, TaskState, Timestamp};
use store::tasks::list::{Cursor, Filter, Snapshot};
use store::tasks::page_token::{self, Binding};
use uuid::Uuid;

/// The last moment that a database keeps.
const LAST: u64 = 253_402_300_799_999_999;
/// The hexadecimal digits of the version and of what binds a token to its list.
const BOUND: usize = 2 + 32;
/// Those with the place itself, behind which a snapshot may come.
const WHOLE: usize = BOUND + 2 * (8 + 8 + 16);

/// The input is a line each for a text that may be a token, for a place (numbers), and for two
/// lists (user, agent, context, state and time, with `|` between them).
pub(crate) fn check(input: &[u8]) {
    let Ok(text) = std::str::from_utf8(input) else { return };
    let mut lines = text.split('\n');
    let given = lines.next().unwrap_or_default();
    let cursor = cursor(lines.next().unwrap_or_default());
    let lists = [lines.next(), lines.next()].map(|line| List::read(line.unwrap_or_default()));
    let [Some(mine), Some(other)] = &lists else { return };
    let binding = mine.binding();

    if let Some(place) = page_token::read(given, binding) {
        assert_eq!(page_token::write(&place, binding), given, "one text for one place");
    }
    let token = page_token::write(&cursor, binding);
    assert!(token.bytes().all(|byte| byte.is_ascii_alphanumeric()));
    assert_eq!(page_token::read(&token, binding).as_ref(), Some(&cursor));
    let elsewhere = page_token::read(&token, other.binding());
    assert_eq!(elsewhere, (mine == other).then_some(cursor), "{mine:?} and {other:?}");

    // Where the given text says: cut, made longer, and with one digit changed. What is left may be
    // another place of this list, and a page there shows what its caller may see.
    let at = given.len() % token.len();
    let cut = token[..at].to_owned();
    let longer = format!("{token}{given}0");
    let digit = if token.as_bytes()[at] == b'0' { "1" } else { "0" };
    let forged = format!("{cut}{digit}{}", &token[at + 1..]);
    for (text, kept) in [(&cut, WHOLE), (&longer, 0), (&forged, BOUND)] {
        let place = page_token::read(text, binding);
        assert!(place.is_none() || at >= kept, "{text}");
        assert!(place.is_none_or(|place| page_token::write(&place, binding) == *text), "{text}");
    }
}

#[derive(Debug, PartialEq)]
struct List<'a> {
    scope: ScopeDigest,
    agent: AgentKey,
    context: Option<&'a str>,
    state: Option<TaskState>,
    since: Option<i64>,
}

impl<'a> List<'a> {
    /// `None` for what no list is about.
    fn read(line: &'a str) -> Option<Self> {
        let mut fields = line.split('|').map(|field| Some(field).filter(|field| *field != "-"));
        let mut field = || fields.next().flatten();
        let user = field().map(|user| ("user".to_owned(), user.to_owned()));
        Some(Self {
            scope: Scope::new(user).ok()?.digest(),
            agent: AgentKey::from_stored(field().unwrap_or("a")).ok()?,
            context: field(),
            state: field().and_then(|word| word.parse().ok()),
            since: field().and_then(|number| number.parse().ok()),
        })
    }

    fn binding(&self) -> Binding {
        let filter = Filter {
            context_id: self.context,
            state: self.state,
            status_since: self.since.map(Timestamp::from_micros),
        };
        Binding::new(&self.scope, &self.agent, &filter)
    }
}

/// A place that there can be.
fn cursor(line: &str) -> Cursor {
    let mut numbers = line.split(' ').map(|number| number.parse::<u64>().unwrap_or_default());
    let mut number = || numbers.next().unwrap_or_default();
    let as_of = number() % (LAST + 1);
    let at = number() % (as_of + 1);
    let time = |micros: u64| Timestamp::from_micros(i64::try_from(micros).unwrap());
    let task = TaskId::from_uuid(Uuid::from_u64_pair(number(), number()));
    // The rest is a snapshot, if it is one: the oldest transaction, the next one, those that run.
    let mut number = || i64::try_from(numbers.next()?).ok();
    let seen = match (number(), number()) {
        (Some(oldest), Some(next)) => {
            Snapshot::new(oldest, next, std::iter::from_fn(number).collect())
        }
        _ => None,
    };
    Cursor { as_of: time(as_of), seen, at: time(at), task }
}
