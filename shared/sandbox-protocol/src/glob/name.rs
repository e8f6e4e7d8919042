//! One segment of a pattern against one name.

/// A segment without `/` and without groups.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Name(Vec<Token>);

#[derive(Debug, Clone, PartialEq, Eq)]
enum Token {
    Exactly(char),
    AnyOne,
    Any,
    OneOf { except: bool, ranges: Vec<(char, char)> },
}

impl Name {
    pub(super) fn parse(text: &str) -> Self {
        let chars: Vec<char> = text.chars().collect();
        let mut tokens = Vec::new();
        let mut rest = chars.as_slice();
        while let [first, others @ ..] = rest {
            rest = others;
            tokens.push(match (first, others) {
                ('*', _) if tokens.last() == Some(&Token::Any) => continue,
                ('*', _) => Token::Any,
                ('?', _) => Token::AnyOne,
                ('\\', [escaped, after @ ..]) => {
                    rest = after;
                    Token::Exactly(*escaped)
                }
                ('[', _) => match class(others) {
                    Some((token, after)) => {
                        rest = after;
                        token
                    }
                    None => Token::Exactly('['),
                },
                (other, _) => Token::Exactly(*other),
            });
        }
        Self(tokens)
    }

    pub(super) fn matches(&self, name: &str) -> bool {
        if name.starts_with('.') && self.0.first() != Some(&Token::Exactly('.')) {
            return false;
        }
        let name: Vec<char> = name.chars().collect();
        // The usual two pointers: on a mismatch, the last `*` takes one character more.
        let (mut token, mut at) = (0, 0);
        let mut retry: Option<(usize, usize)> = None;
        while let Some(c) = name.get(at) {
            match self.0.get(token) {
                Some(Token::Any) => {
                    retry = Some((token + 1, at));
                    token += 1;
                }
                Some(one) if one.takes(*c) => {
                    token += 1;
                    at += 1;
                }
                _ => match &mut retry {
                    Some((after, from)) => {
                        *from += 1;
                        token = *after;
                        at = *from;
                    }
                    None => return false,
                },
            }
        }
        self.0.iter().skip(token).all(|rest| *rest == Token::Any)
    }
}

impl Token {
    fn takes(&self, c: char) -> bool {
        match self {
            Self::Exactly(wanted) => *wanted == c,
            Self::AnyOne | Self::Any => true,
            Self::OneOf { except, ranges } => {
                ranges.iter().any(|(low, high)| (*low..=*high).contains(&c)) != *except
            }
        }
    }
}

/// Reads a class after its `[`, up to and with its `]`. A `]` that comes first is a member.
fn class(chars: &[char]) -> Option<(Token, &[char])> {
    let (except, mut rest) = match chars {
        ['!' | '^', after @ ..] => (true, after),
        _ => (false, chars),
    };
    let mut ranges = Vec::new();
    loop {
        match rest {
            [']', after @ ..] if !ranges.is_empty() => {
                return Some((Token::OneOf { except, ranges }, after));
            }
            [low, '-', high, after @ ..] if *high != ']' => {
                ranges.push((*low, *high));
                rest = after;
            }
            [one, after @ ..] => {
                ranges.push((*one, *one));
                rest = after;
            }
            [] => return None,
        }
    }
}
