//! What one token of a request says in numbers.
//!
//! **A token is used whole, or named whole.** Either every digit in it goes into the numbers, or it
//! is [`Token::Unread`] and the user is told. Only what is plainly something else is passed over in
//! silence: words and file names (`report2`, `a-1.csv`), ordinals, dates, times, and `#1`.
//!
//! Commas without spaces say two things. The rule:
//!
//! - groups of three digits after one to three (`1,200`, `1,234,567`) are one number,
//! - but three or more groups of exactly three digits (`100,200,300`) are a list, unless a currency,
//!   a per cent sign or a decimal point says that it is one amount,
//! - anything else (`10,20,30`) is a list, if each piece is an amount by itself.
//!
//! Where another reading was as near (`100,200`, `3,5`), the reading is told.

use super::numbers::Number;

#[derive(Debug, Clone, PartialEq)]
pub(super) enum Token {
    /// No number, and nothing that looks like one.
    Other,
    Numbers(Vec<Number>),
    /// Read in one of two ways, neither of them sure.
    Guessed(Vec<Number>),
    /// Looks like a number, and was not used.
    Unread,
}

const NARROW_SPACES: [char; 3] = ['\u{a0}', '\u{202f}', '\u{2009}'];
const MINUS: [char; 2] = ['-', '\u{2212}'];
const SIGNS: [char; 5] = ['$', '€', '£', '¥', '₹'];
const CODES: [&str; 6] = ["USD", "EUR", "GBP", "JPY", "INR", "CHF"];

/// Ends a token. The narrow spaces are not among these: they group digits.
pub(super) fn separates(c: char) -> bool {
    (c.is_whitespace() && !NARROW_SPACES.contains(&c)) || "();|[]{}<>\"“”„«»=*~".contains(c)
}

/// The token without the punctuation and the label around it: `sales:10` is 10, `10:30` a time.
pub(super) fn bare(token: &str) -> &str {
    let trimmed = token.trim_matches(|c: char| "!?'’`…&".contains(c));
    let trimmed = trimmed.trim_end_matches([',', '.', ':', '\'', '’']).trim_start_matches(',');
    match trimmed.rsplit_once(':') {
        Some((label, value))
            if !label.ends_with(|c: char| c.is_ascii_digit())
                || label.starts_with(char::is_alphabetic) =>
        {
            value
        }
        _ => trimmed,
    }
}

/// Reads what [`bare`] left.
pub(super) fn read(token: &str) -> Token {
    if !token.contains(char::is_numeric) {
        return Token::Other;
    }
    if let Some(number) = amount(token) {
        return grouped_by_commas(token, number);
    }
    if let Some(numbers) = slashes(token) {
        return Token::Numbers(numbers);
    }
    list(token)
}

/// One amount, unless its commas may as well stand between several.
fn grouped_by_commas(token: &str, one: Number) -> Token {
    let groups: Vec<&str> = token.split(',').collect();
    let hint = !token.bytes().all(|b| b.is_ascii_digit() || b == b',');
    let apart: Option<Vec<Number>> = groups.iter().copied().map(amount).collect();
    match apart {
        Some(several) if !hint && groups.len() > 1 => {
            let alike = groups.iter().all(|group| group.len() == 3);
            match (alike, groups.len()) {
                (true, 3..) => Token::Guessed(several),
                (true, _) | (false, 3..) => Token::Guessed(vec![one]),
                (false, _) => Token::Numbers(vec![one]),
            }
        }
        _ => Token::Numbers(vec![one]),
    }
}

/// `10/20/30`. Two are a fraction or a ratio, and dates are dates.
fn slashes(token: &str) -> Option<Vec<Number>> {
    let pieces: Vec<&str> = token.split('/').collect();
    if pieces.len() < 3 || is_date(token) {
        return None;
    }
    pieces.into_iter().map(amount).collect()
}

/// `10,20,30` is a list; of `a1,b2` nothing is an amount.
fn list(token: &str) -> Token {
    let pieces: Vec<&str> = token.split(',').flat_map(|p| p.split(NARROW_SPACES)).collect();
    let mut numbers = Vec::new();
    for piece in &pieces {
        match amount(piece) {
            Some(number) => numbers.push(number),
            None if looks_like_a_number(piece) => return Token::Unread,
            None => {}
        }
    }
    if numbers.is_empty() {
        return if looks_like_a_number(token) { Token::Unread } else { Token::Other };
    }
    if let [first, second] = pieces[..]
        && token.contains(',')
    {
        // `€3,50` and `1.234,56` are decimals as some write them; `3,5` may be.
        let plain = |piece: &str| piece.bytes().all(|b| b.is_ascii_digit());
        let digits = |piece: &str| piece.contains(|c: char| c.is_ascii_digit());
        return match (plain(first), plain(second)) {
            (true, true) => Token::Guessed(numbers),
            (true, false) | (false, true) if digits(first) && digits(second) => Token::Unread,
            _ => Token::Numbers(numbers),
        };
    }
    Token::Numbers(numbers)
}

/// Digits that stand for themselves: nothing of a word, a file name, a date or a time.
fn looks_like_a_number(token: &str) -> bool {
    if !token.contains(char::is_numeric) || is_date(token) || is_time(token) {
        return false;
    }
    if token.contains(SIGNS) {
        return true;
    }
    let lead = |c: char| !c.is_alphanumeric();
    let start = without_currency(token.trim_start_matches(lead));
    if token.starts_with(['#', '@', '/', '\\', '_']) || !start.starts_with(char::is_numeric) {
        return false;
    }
    let Some(letters) = start.find(char::is_alphabetic) else { return true };
    let unit = start.get(letters..).unwrap_or_default();
    // `1e400` is a number; `5kg` is one with its unit; `3rd` and `2pm` are not.
    let exponent = unit.strip_prefix(['e', 'E']).map(|rest| rest.trim_start_matches(['+', '-']));
    let exponent = exponent.is_some_and(|e| !e.is_empty() && e.bytes().all(|b| b.is_ascii_digit()));
    let word = ["st", "nd", "rd", "th", "am", "pm"];
    let lower = unit.to_lowercase();
    exponent || (unit.chars().all(char::is_alphabetic) && !word.contains(&lower.as_str()))
}

/// A year, a month and a day in some order, or three pairs of which one is led by a zero.
fn is_date(token: &str) -> bool {
    ['-', '/', '.'].into_iter().any(|separator| {
        let groups: Vec<&str> = token.split(separator).collect();
        let [first, second, third] = groups[..] else { return false };
        let day = |group: &str| {
            (1..=2).contains(&group.len())
                && group.parse().is_ok_and(|day| (1..=31_u8).contains(&day))
        };
        let year = |group: &str| {
            group.len() == 4 && group.parse().is_ok_and(|year| (1000..3000_u16).contains(&year))
        };
        let pair = |group: &&str| group.len() == 2 && group.bytes().all(|b| b.is_ascii_digit());
        (year(first) && day(second) && day(third))
            || (day(first) && day(second) && (year(third) || pair(&third)) && {
                year(third) || groups.iter().any(|group| group.starts_with('0'))
            })
    })
}

fn is_time(token: &str) -> bool {
    let groups: Vec<&str> = token.split(':').collect();
    let digits = |group: &&str| group.bytes().all(|b| b.is_ascii_digit());
    let [hours, rest @ ..] = &groups[..] else { return false };
    (1..=2).contains(&rest.len())
        && (1..=2).contains(&hours.len())
        && rest.iter().all(|group| group.len() == 2)
        && groups.iter().all(digits)
}

/// Reads what is an amount and nothing else.
pub(super) fn amount(token: &str) -> Option<Number> {
    let (outer, token) = match token.strip_prefix(MINUS) {
        Some(rest) => (true, rest),
        None => (false, token),
    };
    let token = token.strip_suffix('%').unwrap_or(token).trim_end_matches(NARROW_SPACES);
    let bare = without_currency(token);
    // `-$5` and `$-5` are both written; `--5` is not.
    if outer && bare.starts_with(['-', '\u{2212}', '+']) {
        return None;
    }
    let (inner, bare) = match bare.strip_prefix(MINUS) {
        Some(rest) => (true, rest),
        None => (false, bare.strip_prefix('+').unwrap_or(bare)),
    };
    let (digits, power) = power_of_ten(bare)?;
    let grouped = ungrouped(digits);
    let digits = grouped.as_deref().unwrap_or(digits);
    if !digits.starts_with(|c: char| c.is_ascii_digit() || c == '.') {
        return None;
    }
    let number = Number::plain(digits)?.shifted(power)?;
    Some(if outer || inner { number.negated() } else { number })
}

/// Takes off `k`, `M` or an exponent. A small `m` may be metres, minutes or a million.
fn power_of_ten(text: &str) -> Option<(&str, i32)> {
    if let Some(rest) = text.strip_suffix(['k', 'K']) {
        return Some((rest, 3));
    }
    if let Some(rest) = text.strip_suffix('M') {
        return Some((rest, 6));
    }
    match text.split_once(['e', 'E']) {
        Some((rest, exponent)) => Some((rest, exponent.parse().ok()?)),
        None => Some((text, 0)),
    }
}

/// Takes one currency sign or code off either side.
fn without_currency(token: &str) -> &str {
    if let Some(rest) = token.strip_prefix(SIGNS).or_else(|| token.strip_suffix(SIGNS)) {
        return rest.trim_matches(NARROW_SPACES);
    }
    for code in CODES {
        let (head, tail) = (token.get(..3), token.get(token.len().saturating_sub(3)..));
        if head.is_some_and(|head| head.eq_ignore_ascii_case(code)) {
            return token.get(3..).unwrap_or_default().trim_matches(NARROW_SPACES);
        }
        if tail.is_some_and(|tail| tail.eq_ignore_ascii_case(code)) {
            let rest = token.get(..token.len() - 3).unwrap_or_default();
            return rest.trim_matches(NARROW_SPACES);
        }
    }
    token
}

/// Takes thousands separators out, if the digits are grouped by threes with one kind of them.
fn ungrouped(text: &str) -> Option<String> {
    let (whole, part) = text.split_once('.').map_or((text, None), |(w, p)| (w, Some(p)));
    let separator = whole.chars().find(|c| !c.is_ascii_digit())?;
    if !NARROW_SPACES.contains(&separator) && ![',', '\'', '’', '_'].contains(&separator) {
        return None;
    }
    let mut groups = whole.split(separator);
    let first = groups.next()?;
    let digits = |group: &str| group.bytes().all(|b| b.is_ascii_digit());
    let leads = (1..=3).contains(&first.len()) && digits(first) && !first.starts_with('0');
    if !leads || !groups.all(|group| group.len() == 3 && digits(group)) {
        return None;
    }
    let joined: String = whole.chars().filter(char::is_ascii_digit).collect();
    Some(part.map_or(joined.clone(), |part| format!("{joined}.{part}")))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn told(text: &str) -> String {
        let list = |numbers: Vec<Number>| {
            numbers.iter().map(ToString::to_string).collect::<Vec<_>>().join(" ")
        };
        match read(bare(text)) {
            Token::Other => "other".into(),
            Token::Unread => "unread".into(),
            Token::Numbers(numbers) => list(numbers),
            Token::Guessed(numbers) => format!("{}?", list(numbers)),
        }
    }

    #[test]
    fn what_a_token_says() {
        let table = [
            // Thousands, or a list.
            ("1,200", "1200"),
            ("250,000", "250000"),
            ("100,200", "100200?"),
            ("1,234,567", "1234567?"),
            ("100,200,300", "100 200 300?"),
            ("100,020,300", "100020300"),
            ("$100,200,300", "100200300"),
            ("100,200,300.5", "100200300.5"),
            ("1,000,2,000", "unread"),
            ("10,20,30", "10 20 30"),
            ("3,5", "3 5?"),
            ("$10,$20", "10 20"),
            ("1.5,2.5", "1.5 2.5"),
            // Decimal commas.
            ("€3,50", "unread"),
            ("3,50€", "unread"),
            ("1.234,56", "unread"),
            ("1.234.567,89", "unread"),
            ("10,07", "unread"),
            // Other separators.
            ("1_000", "1000"),
            ("1_00", "unread"),
            ("10\u{a0}000\u{a0}€", "10000"),
            ("10/20/30", "10 20 30"),
            ("1/2", "unread"),
            ("1/2/x3", "other"),
            // Powers of ten.
            ("1E5", "100000"),
            ("2.5e-3", "0.0025"),
            ("1.50e1", "15.0"),
            ("-1e+3", "-1000"),
            ("10k", "10000"),
            ("$1.5M", "1500000"),
            ("1,200k", "1200000"),
            // Too large, or too fine.
            ("1e308", "unread"),
            ("1e-40", "unread"),
            ("1e99999999999999", "unread"),
            ("999999999k", "999999999000"),
            ("9999999999M", "unread"),
            ("9999999999999999", "unread"),
            ("100000000000000.5", "unread"),
            // Numbers that are not understood.
            ("007", "unread"),
            ("10-20", "unread"),
            ("10–20", "unread"),
            ("1.2.3", "unread"),
            ("100:200", "unread"),
            ("5kg", "unread"),
            ("5m", "unread"),
            ("20dollars", "unread"),
            ("US$5", "unread"),
            ("≈5", "unread"),
            ("2^10", "unread"),
            ("½", "unread"),
            ("--5", "unread"),
            // Labels.
            ("sales:10", "10"),
            ("Q1:10", "10"),
            // Something else.
            ("report2", "other"),
            ("Q3", "other"),
            ("3rd", "other"),
            ("2PM", "other"),
            ("2024-01-05", "other"),
            ("05.01.2024", "other"),
            ("1/2/2024", "other"),
            ("01/02/24", "other"),
            ("10:30", "other"),
            ("10:30:59", "other"),
            ("#1", "other"),
            ("7z.exe", "other"),
            ("https://example.com/7", "other"),
            ("m²", "other"),
        ];
        for (text, expected) in table {
            assert_eq!(told(text), expected, "{text:?}");
        }
    }

    proptest! {
        #[test]
        fn every_digit_is_used_or_the_token_is_named(
            text in "[1-9][0-9]{0,3}([.,/_'-][0-9]{1,4}){0,4}",
        ) {
            match read(bare(&text)) {
                Token::Unread => {}
                Token::Other => prop_assert!(is_date(&text), "{}", text),
                Token::Numbers(numbers) | Token::Guessed(numbers) => {
                    let used: String = numbers.iter().map(ToString::to_string).collect();
                    let digits = |text: &str| text.replace(|c: char| !c.is_ascii_digit(), "");
                    prop_assert_eq!(digits(&used), digits(&text));
                }
            }
        }

        #[test]
        fn a_power_of_ten_moves_the_point(units in 1..99_999_i64, power in -8..9_i32) {
            let Token::Numbers(numbers) = read(&format!("{units}e{power}")) else {
                return Err(TestCaseError::fail("no number"));
            };
            let expected: f64 = format!("{units}e{power}").parse().unwrap();
            prop_assert_eq!(numbers[0].value().to_bits(), expected.to_bits());
        }
    }
}
