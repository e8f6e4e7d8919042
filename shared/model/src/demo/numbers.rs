//! The numbers in what a person wrote.
//!
//! Takes integers, decimals, negatives, thousands separators (`1,200`, `1'200`, `1_200` and a narrow
//! space), exponents, `k` and `M`, currency signs and codes on either side, per cent signs, and lists
//! with commas or slashes. **Nothing that looks like a number is dropped in silence**: what cannot be
//! read, or would not be exact, is kept by name in [`Found::unread`]. Digits that plainly belong to
//! something else are not: see [`tokens`]; nor are item numbers at the start of lines.

use std::fmt;

use super::tokens::{self, Token, separates};

/// Most numbers that are read; the rest is left out, and [`Found::left_out`] says how many.
pub(super) const MAX_NUMBERS: usize = 2000;
/// More digits than a double holds exactly are an account or a card, not an amount.
const MAX_DIGITS: usize = 15;

/// A decimal number, exact.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Number {
    units: i128,
    /// How many of the digits stand behind the point.
    scale: u32,
}

impl Number {
    /// Reads `[-+]digits[.digits]`, with nothing around it.
    pub(super) fn plain(text: &str) -> Option<Self> {
        let (negative, digits) = match text.strip_prefix(['-', '\u{2212}']) {
            Some(digits) => (true, digits),
            None => (false, text.strip_prefix('+').unwrap_or(text)),
        };
        let (whole, part) = digits.split_once('.').unwrap_or((digits, ""));
        let all_digits = |text: &str| text.bytes().all(|b| b.is_ascii_digit());
        let zero_led = whole.len() > 1 && whole.starts_with('0');
        let point_without_digits = digits.contains('.') && part.is_empty();
        if digits.is_empty() || !all_digits(whole) || !all_digits(part) {
            return None;
        }
        if zero_led || point_without_digits || whole.len() + part.len() > MAX_DIGITS {
            return None;
        }
        let units: i128 = format!("{whole}{part}").parse().ok()?;
        let scale = u32::try_from(part.len()).ok()?;
        Some(Self { units: if negative { -units } else { units }, scale })
    }

    pub(super) const fn negated(self) -> Self {
        Self { units: -self.units, ..self }
    }

    /// Times a power of ten. `None` where the result has too many digits.
    pub(super) fn shifted(self, power: i32) -> Option<Self> {
        let digits = i32::try_from(MAX_DIGITS).ok()?;
        let scale = i32::try_from(self.scale).ok()?;
        // Nothing with an exponent beyond these fits; zero needs none.
        if !(-digits..=2 * digits).contains(&power) {
            return None;
        }
        let shifted = if let Ok(scale) = u32::try_from(scale - power) {
            Self { scale, ..self }
        } else {
            let zeros = 10_i128.checked_pow(u32::try_from(power - scale).ok()?)?;
            Self { units: self.units.checked_mul(zeros)?, scale: 0 }
        };
        Self::plain(&shifted.to_string())
    }

    /// The nearest double.
    pub(super) fn value(self) -> f64 {
        // Printing and reading is how a decimal becomes the double that awk makes of it, too.
        self.to_string().parse().unwrap_or(f64::NAN)
    }

    /// The exact sum. None of at most [`MAX_NUMBERS`] numbers of 15 digits can overflow it.
    pub(super) fn sum(numbers: &[Self]) -> Self {
        let scale = numbers.iter().map(|n| n.scale).max().unwrap_or(0);
        let lifted = |n: &Self| n.units.saturating_mul(10_i128.saturating_pow(scale - n.scale));
        let units = numbers.iter().map(lifted).fold(0, i128::saturating_add);
        Self { units, scale }
    }
}

impl fmt::Display for Number {
    /// As it was written, without separators: `1,200.50` prints as `1200.50`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sign = if self.units < 0 { "-" } else { "" };
        let scale = self.scale as usize;
        let digits = format!("{:0>width$}", self.units.unsigned_abs(), width = scale + 1);
        let (whole, part) = digits.split_at(digits.len() - scale);
        if part.is_empty() { write!(f, "{sign}{whole}") } else { write!(f, "{sign}{whole}.{part}") }
    }
}

/// What a request says in numbers.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Found {
    pub(super) numbers: Vec<Number>,
    /// Numbers beyond [`MAX_NUMBERS`].
    pub(super) left_out: usize,
    /// What looks like a number and was not used.
    pub(super) unread: Named,
    /// What could have been read in another way.
    pub(super) guessed: Named,
}

/// Pieces of the request: the first few as they were written, and how many there are.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Named {
    first: Vec<String>,
    count: usize,
}

impl Named {
    const FIRST: usize = 5;
    const CHARACTERS: usize = 30;

    pub(super) fn add(&mut self, written: &str) {
        self.count += 1;
        if self.first.len() < Self::FIRST {
            let mut short: String = written.chars().take(Self::CHARACTERS).collect();
            if short.len() < written.len() {
                short.push('…');
            }
            self.first.push(short);
        }
    }

    pub(super) const fn is_empty(&self) -> bool {
        self.count == 0
    }
}

impl fmt::Display for Named {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.first.join("; "))?;
        match self.count - self.first.len() {
            0 => Ok(()),
            more => write!(f, "; and {more} more"),
        }
    }
}

impl Found {
    pub(super) fn add(&mut self, number: Number) {
        if self.numbers.len() < MAX_NUMBERS {
            self.numbers.push(number);
        } else {
            self.left_out += 1;
        }
    }

    fn add_all(&mut self, numbers: Vec<Number>) {
        for number in numbers {
            self.add(number);
        }
    }

    /// Reads the numbers of a text, in order.
    pub(super) fn read(&mut self, text: &str) {
        let mut item = 1_u32;
        for line in text.lines() {
            for token in without_item_number(line, &mut item).split(separates) {
                self.token(token);
            }
        }
    }

    fn token(&mut self, token: &str) {
        let token = tokens::bare(token);
        match tokens::read(token) {
            Token::Other => {}
            Token::Numbers(numbers) => self.add_all(numbers),
            Token::Guessed(numbers) => {
                self.guessed.add(token);
                self.add_all(numbers);
            }
            Token::Unread => self.unread.add(token),
        }
    }
}

/// Drops the number of a list item (`1.`, `2)` …), if the lines are numbered in order.
fn without_item_number<'a>(line: &'a str, expected: &mut u32) -> &'a str {
    let start = line.trim_start();
    let digits = start.bytes().take_while(u8::is_ascii_digit).count();
    let (number, rest) = start.split_at(digits);
    let marker = rest.strip_prefix(['.', ')']).filter(|rest| rest.starts_with([' ', '\t']));
    match marker {
        Some(rest) if !rest.trim().is_empty() && number.parse() == Ok(*expected) => {
            *expected += 1;
            rest
        }
        _ => line,
    }
}

/// The currency that a text speaks of, if it speaks of exactly one.
pub(super) fn currency(text: &str) -> Option<&'static str> {
    const NAMES: [(&str, char, &[&str]); 5] = [
        ("USD", '$', &["dollar", "dollars", "usd"]),
        ("EUR", '€', &["euro", "euros", "eur"]),
        ("GBP", '£', &["pound", "pounds", "gbp"]),
        ("JPY", '¥', &["yen", "jpy"]),
        ("INR", '₹', &["rupee", "rupees", "inr"]),
    ];
    let lower = text.to_lowercase();
    let words: Vec<&str> = lower.split(|c: char| !c.is_ascii_alphabetic()).collect();
    let mut spoken = NAMES.iter().filter(|(_, sign, names)| {
        text.contains(*sign) || names.iter().any(|name| words.contains(name))
    });
    let first = spoken.next()?;
    if spoken.next().is_none() { Some(first.0) } else { None }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn read(text: &str) -> Vec<String> {
        let mut found = Found::default();
        found.read(text);
        found.numbers.iter().map(ToString::to_string).collect()
    }

    fn check(text: &str, expected: &[&str]) {
        assert_eq!(read(text), expected, "{text:?}");
    }

    #[test]
    fn the_sentence_of_the_demonstration_holds_three_numbers() {
        let said = "Analyze sales of 10, 20 and 30 dollars. Give me a CSV and a useful downloadable report.";
        check(said, &["10", "20", "30"]);
        assert_eq!(currency(said), Some("USD"));
    }

    #[test]
    fn numbers_are_read_however_they_are_written() {
        check(
            "1 2.50 -3 \u{2212}4 +5 .5 0 0.0",
            &["1", "2.50", "-3", "-4", "5", "0.5", "0", "0.0"],
        );
        check(
            "1,200 1,234,567.89 1'200 1\u{202f}200 1\u{a0}200",
            &["1200", "1234567.89", "1200", "1200", "1200"],
        );
        check(
            "$10 €1,200.50 30£ 5USD eur7 -$5 $-5 -5$",
            &["10", "1200.50", "30", "5", "7", "-5", "-5", "-5"],
        );
        check("10% (20) [30] \"40\" '50' **60** <70>", &["10", "20", "30", "40", "50", "60", "70"]);
        check("10,20,30", &["10", "20", "30"]);
        check("10;20|30\t40\n50", &["10", "20", "30", "40", "50"]);
        check("sales:10,20 a=5 b: 6", &["10", "20", "5", "6"]);
        check("It was 10. Then 20! Now 30? 40...", &["10", "20", "30", "40"]);
        check("| Mon | 1,000 |", &["1000"]);
        check("- 10\n- 20", &["10", "20"]);
    }

    #[test]
    fn digits_that_belong_to_something_else_are_left_alone() {
        check("report2 Q3 a1b2 x10 10x v1.2 1.2.3 3rd 10q sales-2024.csv file_7.txt", &[]);
        check("2024-01-05 01/02/2024 10:30 10-20 #1 192.168.0.1 1-2-3", &[]);
        check("https://example.com/7 a@b7.com 12345678901234567890 007", &[]);
        check("--5 +-5 $ . , 10.", &["10"]);
        check("one two three", &[]);
        check("", &[]);
    }

    #[test]
    fn the_numbers_of_list_items_are_not_amounts() {
        check("1. 10 apples\n2. 20 pears\n3) 30 plums", &["10", "20", "30"]);
        check("Sales were 10, 20 and\n30. Give me a CSV.", &["10", "20", "30"]);
        check("1. 2. 3.", &["2", "3"]);
        check("1\n2\n3", &["1", "2", "3"]);
    }

    #[test]
    fn what_looks_like_a_number_is_used_or_named() {
        let table: [(&str, &[&str], &str, &str); 9] = [
            ("1,000,2,000", &[], "1,000,2,000", ""),
            ("9999999999999999 and 1", &["1"], "9999999999999999", ""),
            ("1e308 and 2", &["2"], "1e308", ""),
            ("100000000000000.5 7", &["7"], "100000000000000.5", ""),
            ("1_000 and 2", &["1000", "2"], "", ""),
            ("1,200 and 3,400.50 and 1.234,56", &["1200", "3400.50"], "1.234,56", ""),
            ("1 200 and 3 400", &["1", "200", "3", "400"], "", ""),
            ("100,200,300", &["100", "200", "300"], "", "100,200,300"),
            ("10k, 1.5M; 1E5. 10/20/30", &["10000", "1500000", "100000", "10", "20", "30"], "", ""),
        ];
        for (text, numbers, unread, guessed) in table {
            let mut found = Found::default();
            found.read(text);
            let read: Vec<_> = found.numbers.iter().map(ToString::to_string).collect();
            assert_eq!(read, numbers, "{text}");
            assert_eq!(found.unread.to_string(), unread, "{text}");
            assert_eq!(found.guessed.to_string(), guessed, "{text}");
        }
    }

    #[test]
    fn of_many_unread_the_first_are_named_and_all_are_counted() {
        let mut found = Found::default();
        found.read(&format!("{} 001 002 003 004 005 006", "0".repeat(99)));
        let named = format!("{}…; 001; 002; 003; 004; and 2 more", "0".repeat(30));
        assert_eq!(found.unread.to_string(), named);
    }

    #[test]
    fn a_currency_counts_only_if_it_is_the_only_one() {
        assert_eq!(currency("10 and 20"), None);
        assert_eq!(currency("€10"), Some("EUR"));
        assert_eq!(currency("10 Pounds"), Some("GBP"));
        assert_eq!(currency("$10 and 20 euros"), None);
        assert_eq!(currency("a compound of 10"), None);
    }

    #[test]
    fn too_many_numbers_are_counted_and_not_kept() {
        let mut found = Found::default();
        found.read(&"1 ".repeat(MAX_NUMBERS + 7));
        assert_eq!((found.numbers.len(), found.left_out), (MAX_NUMBERS, 7));
    }

    #[test]
    fn decimals_add_up_exactly() {
        let sum = |texts: &[&str]| {
            let numbers: Vec<_> = texts.iter().map(|t| Number::plain(t).unwrap()).collect();
            Number::sum(&numbers).to_string()
        };
        assert_eq!(sum(&["0.1", "0.2"]), "0.3");
        assert_eq!(sum(&["1", "2.50", "-3.505"]), "-0.005");
        assert_eq!(sum(&["999999999999999", "0.00000000000001"]), "999999999999999.00000000000001");
        assert_eq!(sum(&[]), "0");
    }

    fn any_number() -> impl Strategy<Value = (i64, u32)> {
        (-9_999_999_999_i64..9_999_999_999, 0u32..5)
    }

    fn grouped(digits: &str) -> String {
        let (whole, part) = digits.split_once('.').map_or((digits, None), |(w, p)| (w, Some(p)));
        let (sign, whole) = whole.strip_prefix('-').map_or(("", whole), |w| ("-", w));
        let mut out = String::new();
        for (position, c) in whole.chars().enumerate() {
            if position > 0 && (whole.len() - position).is_multiple_of(3) {
                out.push(',');
            }
            out.push(c);
        }
        part.map_or(format!("{sign}{out}"), |part| format!("{sign}{out}.{part}"))
    }

    proptest! {
        #[test]
        fn a_list_is_read_back_in_any_dress(
            numbers in proptest::collection::vec((any_number(), 0..5, 0usize..6), 0..40),
        ) {
            let mut text = String::from("Report2 of Q3: ");
            let mut expected = vec![];
            for ((units, scale), dress, after) in numbers {
                let number = Number { units: units.into(), scale };
                let plain = number.to_string();
                let dressed = match dress {
                    0 => plain.clone(),
                    // Groups of three digits only are a list, if nothing says otherwise.
                    1 if scale > 0 || units.abs() < 100_000_000 => grouped(&plain),
                    2 => format!("${plain}"),
                    3 => format!("{}€", grouped(&plain)),
                    _ => format!("({plain})"),
                };
                text.push_str(&dressed);
                text.push_str([", ", " and ", "; ", "\nthen file7.csv ", ". ", " | "][after]);
                expected.push(plain);
            }
            prop_assert_eq!(read(&text), expected, "{}", text);
        }

        #[test]
        fn no_text_makes_the_reader_fail(text in ".{0,200}") {
            let mut found = Found::default();
            found.read(&text);
            let _ = currency(&text);
            for number in found.numbers {
                prop_assert_eq!(Number::plain(&number.to_string()), Some(number));
            }
        }
    }
}
