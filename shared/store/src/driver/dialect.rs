//! The text of SQL, as far as the driver must understand it: where literals and comments are, where
//! a statement ends, and what SQLite spells in another way.

/// One piece of a text. Put together again, the pieces are the text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Piece<'a> {
    /// White space and comments.
    Blank(&'a str),
    /// A key word or a bare name.
    Word(&'a str),
    /// `$3`, without the dollar sign.
    Param(&'a str),
    Semicolon,
    /// Anything else, among it whole literals and quoted names.
    Other(&'a str),
}

/// Cuts a text into pieces. A literal or comment that is not closed reaches to the end.
struct Pieces<'a>(&'a str);

impl<'a> Iterator for Pieces<'a> {
    type Item = Piece<'a>;

    fn next(&mut self) -> Option<Piece<'a>> {
        let text = self.0;
        let first = text.chars().next()?;
        let (length, kind): (usize, fn(&'a str) -> Piece<'a>) = if first.is_whitespace() {
            (span(text, char::is_whitespace), Piece::Blank)
        } else if text.starts_with("--") {
            (text.find('\n').unwrap_or(text.len()), Piece::Blank)
        } else if text.starts_with("/*") {
            (block_comment(text), Piece::Blank)
        } else if first == '\'' || first == '"' {
            (quoted(text, first), Piece::Other)
        } else if first == '$' {
            let digits = span(rest(text, 1), |c| c.is_ascii_digit());
            if digits > 0 {
                (1 + digits, |param| Piece::Param(rest(param, 1)))
            } else {
                (dollar_quoted(text), Piece::Other)
            }
        } else if first.is_alphabetic() || first == '_' {
            (span(text, |c| c.is_alphanumeric() || c == '_' || c == '$'), Piece::Word)
        } else if first == ';' {
            (1, |_| Piece::Semicolon)
        } else if first.is_ascii_digit() {
            // So that the letters of `1e5` are no word.
            (span(text, |c| c.is_alphanumeric() || c == '_' || c == '.'), Piece::Other)
        } else {
            (first.len_utf8(), Piece::Other)
        };
        let (piece, remaining) = text.split_at_checked(length).unwrap_or((text, ""));
        self.0 = remaining;
        Some(kind(piece))
    }
}

/// The text from byte `start` on.
fn rest(text: &str, start: usize) -> &str {
    text.get(start..).unwrap_or("")
}

fn span(text: &str, belongs: impl Fn(char) -> bool) -> usize {
    text.find(|c| !belongs(c)).unwrap_or(text.len())
}

/// The length of a literal or name up to its closing quote; a doubled quote belongs to it (and is
/// the seam of two pieces, which no one minds).
fn quoted(text: &str, quote: char) -> usize {
    rest(text, 1).find(quote).map_or(text.len(), |end| end + 2)
}

/// The length of a block comment; PostgreSQL lets them nest.
fn block_comment(text: &str) -> usize {
    let mut depth = 0_usize;
    let mut at = 0;
    loop {
        let left = rest(text, at);
        if left.starts_with("/*") {
            depth += 1;
            at += 2;
        } else if left.starts_with("*/") {
            depth -= 1;
            at += 2;
            if depth == 0 {
                return at;
            }
        } else if let Some(c) = left.chars().next() {
            at += c.len_utf8();
        } else {
            return at;
        }
    }
}

/// The length of `$tag$ … $tag$`; 1 when the dollar sign begins no such literal.
fn dollar_quoted(text: &str) -> usize {
    let name = span(rest(text, 1), |c| c.is_alphanumeric() || c == '_');
    let Some(tag) = text.get(..name + 2).filter(|tag| tag.ends_with('$')) else { return 1 };
    rest(text, tag.len()).find(tag).map_or(text.len(), |end| tag.len() + end + tag.len())
}

/// The statements of a text, without their semicolons. What holds only comments is none.
pub(crate) fn statements(text: &str) -> Vec<String> {
    let mut all = Vec::new();
    let mut current = String::new();
    let mut empty = true;
    for piece in Pieces(text) {
        match piece {
            Piece::Semicolon => {
                if !std::mem::replace(&mut empty, true) {
                    all.push(current.trim().to_owned());
                }
                current.clear();
            }
            Piece::Blank(blank) => current.push_str(blank),
            Piece::Param(number) => {
                empty = false;
                current.push('$');
                current.push_str(number);
            }
            Piece::Word(other) | Piece::Other(other) => {
                empty = false;
                current.push_str(other);
            }
        }
    }
    if !empty {
        all.push(current.trim().to_owned());
    }
    all
}

/// The word that a statement begins with, in lower case.
#[cfg_attr(not(feature = "sqlite"), expect(dead_code, reason = "only SQLite needs it"))]
pub(super) fn first_word(sql: &str) -> String {
    let first = Pieces(sql).find(|piece| !matches!(piece, Piece::Blank(_)));
    if let Some(Piece::Word(word)) = first { word.to_ascii_lowercase() } else { String::new() }
}

/// A statement as SQLite wants it: parameters are numbered (`$2` would be a name there, bound by
/// first appearance), row locks and `concurrently` are left out.
#[cfg_attr(not(feature = "sqlite"), expect(dead_code, reason = "only SQLite needs it"))]
pub(crate) fn for_sqlite(sql: &str) -> String {
    let pieces: Vec<_> = Pieces(sql).collect();
    let mut out = String::with_capacity(sql.len());
    let mut left = pieces.as_slice();
    while let Some((piece, after)) = left.split_first() {
        let skipped = row_lock(left).or_else(|| {
            out.trim_end().ends_with_word("index").then(|| words(left, &["concurrently"]))?
        });
        if let Some(length) = skipped {
            left = left.get(length..).unwrap_or_default();
            continue;
        }
        match piece {
            Piece::Param(number) => {
                out.push('?');
                out.push_str(number);
            }
            Piece::Semicolon => out.push(';'),
            Piece::Blank(text) | Piece::Word(text) | Piece::Other(text) => out.push_str(text),
        }
        left = after;
    }
    out
}

trait EndsWithWord {
    fn ends_with_word(&self, word: &str) -> bool;
}

impl EndsWithWord for str {
    fn ends_with_word(&self, word: &str) -> bool {
        self.len()
            .checked_sub(word.len())
            .and_then(|start| self.get(start..))
            .is_some_and(|end| end.eq_ignore_ascii_case(word))
    }
}

/// How many pieces a row lock takes that begins here.
fn row_lock(pieces: &[Piece<'_>]) -> Option<usize> {
    let lock = [
        ["for", "update"].as_slice(),
        &["for", "no", "key", "update"],
        &["for", "share"],
        &["for", "key", "share"],
    ]
    .into_iter()
    .find_map(|lock| words(pieces, lock))?;
    let after = pieces.get(lock..).unwrap_or_default();
    let skip = words_after_blank(after, &["skip", "locked"])
        .or_else(|| words_after_blank(after, &["nowait"]));
    Some(lock + skip.unwrap_or(0))
}

fn words_after_blank(pieces: &[Piece<'_>], wanted: &[&str]) -> Option<usize> {
    let blanks = pieces.iter().take_while(|piece| matches!(piece, Piece::Blank(_))).count();
    words(pieces.get(blanks..).unwrap_or_default(), wanted).map(|length| blanks + length)
}

/// How many pieces the words `wanted` take, if these are what comes.
fn words(pieces: &[Piece<'_>], wanted: &[&str]) -> Option<usize> {
    let mut length = 0;
    for (index, word) in wanted.iter().enumerate() {
        if index > 0 {
            let after = pieces.get(length..).unwrap_or_default();
            length += after.iter().take_while(|piece| matches!(piece, Piece::Blank(_))).count();
        }
        match pieces.get(length) {
            Some(Piece::Word(found)) if found.eq_ignore_ascii_case(word) => length += 1,
            _ => return None,
        }
    }
    Some(length)
}

#[cfg(test)]
mod tests;
