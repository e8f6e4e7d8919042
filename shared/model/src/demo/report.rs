//! What the demo writes: the CSV, the report, and what it says.

use std::fmt::Write as _;

use super::figures::{Figures, show};
use super::numbers::{Found, Number};

/// Rows of the report's table; a longer list is in the CSV whole.
const MAX_ROWS: usize = 200;
/// Numbers that a sentence lists.
const MAX_SPOKEN: usize = 10;
/// Characters of the longest bar.
const BAR: f64 = 24.0;

/// What the numbers are of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Subject {
    pub(super) many: &'static str,
    pub(super) one: &'static str,
    pub(super) currency: Option<&'static str>,
}

impl Subject {
    /// Guesses it from the request.
    pub(super) fn of(text: &str, currency: Option<&'static str>) -> Self {
        const KNOWN: [(&str, &str, &str); 8] = [
            ("sale", "sales", "sale"),
            ("expense", "expenses", "expense"),
            ("cost", "costs", "cost"),
            ("price", "prices", "price"),
            ("order", "orders", "order"),
            ("score", "scores", "score"),
            ("temperature", "temperatures", "temperature"),
            ("measurement", "measurements", "measurement"),
        ];
        let lower = text.to_lowercase();
        let known = KNOWN.iter().find(|(word, ..)| lower.contains(word));
        let (many, one) = known.map_or(("numbers", "number"), |(_, many, one)| (many, one));
        Self { many, one, currency }
    }

    pub(super) fn csv_name(self) -> String {
        format!("{}.csv", self.many)
    }

    /// A figure with its currency.
    fn amount(self, value: f64) -> String {
        match self.currency {
            Some(currency) => format!("{} {currency}", show(value)),
            None => show(value),
        }
    }

    fn count(self, count: usize) -> String {
        let noun = if count == 1 { self.one } else { self.many };
        format!("{count} {noun}")
    }
}

pub(super) const REPORT: &str = "report.md";

/// One row per number, under a header.
pub(super) fn csv(subject: Subject, numbers: &[Number]) -> String {
    let currency = subject.currency.map_or(String::new(), |c| format!("_{}", c.to_lowercase()));
    let mut csv = format!("{},amount{currency}\n", subject.one);
    for (row, number) in (1..).zip(numbers) {
        // Writing to a string cannot fail, here and below.
        let _ = writeln!(csv, "{row},{number}");
    }
    csv
}

/// The report, from the figures that were reckoned.
pub(super) fn markdown(
    subject: Subject,
    found: &Found,
    figures: &Figures,
    in_sandbox: bool,
) -> String {
    let numbers = &found.numbers;
    let mut title = subject.many.to_owned();
    if let Some(first) = title.get_mut(..1) {
        first.make_ascii_uppercase();
    }
    let mut text = format!("# {title} report\n\n{}\n\n", summary(subject, figures));
    text.push_str("## Figures\n\n| Figure | Value |\n| --- | ---: |\n");
    let rows = [
        ("Count", figures.count.to_string()),
        ("Total", subject.amount(figures.sum)),
        ("Mean", subject.amount(figures.mean)),
        ("Median", subject.amount(figures.median)),
        ("Smallest", subject.amount(figures.min)),
        ("Largest", subject.amount(figures.max)),
        ("Range", subject.amount(figures.max - figures.min)),
        (
            "Standard deviation (sample)",
            figures.deviation.map_or("–".into(), |d| subject.amount(d)),
        ),
    ];
    for (name, value) in rows {
        let _ = writeln!(text, "| {name} | {value} |");
    }
    let _ = write!(
        text,
        "\n## Every {one}\n\n| {one} | Amount | Share of total | |\n| ---: | ---: | ---: | --- |\n",
        one = subject.one
    );
    for (row, number) in (1..).zip(numbers.iter().take(MAX_ROWS)) {
        let value = number.value();
        let _ = writeln!(
            text,
            "| {row} | {number} | {} | {} |",
            share(value, figures),
            bar(value, figures.max)
        );
    }
    if numbers.len() > MAX_ROWS {
        let left = numbers.len() - MAX_ROWS;
        let _ = writeln!(text, "\n{left} more are in {}.", subject.csv_name());
    }
    let _ = write!(text, "\n## What stands out\n\n{}\n", observations(subject, figures));
    let notes = notes(found);
    if !notes.is_empty() {
        let _ = write!(text, "\n## What was left out or guessed\n\n{}\n", notes.join("\n\n"));
    }
    let _ = write!(
        text,
        "\n## How this was made\n\n{}\n",
        if in_sandbox {
            format!(
                "The figures were computed in the sandbox from {}, and checked against a second \
                 computation by the model.",
                subject.csv_name()
            )
        } else {
            "The command in the sandbox gave no usable result, so the model computed the figures \
             itself."
                .to_owned()
        }
    );
    text
}

fn summary(subject: Subject, figures: &Figures) -> String {
    format!(
        "{} with a total of {}: {} on average, from {} to {}.",
        subject.count(figures.count),
        subject.amount(figures.sum),
        subject.amount(figures.mean),
        subject.amount(figures.min),
        subject.amount(figures.max)
    )
}

fn share(value: f64, figures: &Figures) -> String {
    // A share of a total that mixes signs would mislead.
    if figures.min < 0.0 || figures.sum <= 0.0 {
        return "–".to_owned();
    }
    format!("{:.1} %", value / figures.sum * 100.0)
}

fn bar(value: f64, max: f64) -> String {
    if value <= 0.0 || max <= 0.0 {
        return String::new();
    }
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "0 to 24")]
    let width = (value / max * BAR).round().clamp(1.0, BAR) as usize;
    "█".repeat(width)
}

fn observations(subject: Subject, figures: &Figures) -> String {
    let mut lines = Vec::new();
    let Figures { count, mean, median, min, max, deviation, .. } = figures;
    if *count == 1 {
        return format!("- There is only one {}, so there is nothing to compare.", subject.one);
    }
    if max - min <= 0.0 {
        lines.push(format!("- All {count} are equal."));
    } else {
        let spread = max - min;
        if (mean - median).abs() <= spread * 0.01 {
            lines.push(
                "- Mean and median are close: the values lie evenly around the middle.".into(),
            );
        } else {
            let (side, outlier) =
                if mean > median { ("above", "large") } else { ("below", "small") };
            lines.push(format!(
                "- The mean lies {side} the median by {}: a few {outlier} values pull it.",
                subject.amount((mean - median).abs())
            ));
        }
        if *min > 0.0 {
            lines.push(format!("- The largest is {} times the smallest.", show(max / min)));
        }
        if let Some(deviation) = deviation
            && *mean > 0.0
        {
            let relative = deviation / mean * 100.0;
            lines.push(format!("- The standard deviation is {relative:.0} % of the mean."));
        }
    }
    if *min < 0.0 {
        lines.push("- Some are negative, so shares of the total are not shown.".into());
    }
    lines.join("\n")
}

/// What is said before anything is done.
pub(super) fn opening(subject: Subject, found: &Found) -> String {
    let mut text = format!(
        "I found {} in your request: {}.",
        subject.count(found.numbers.len()),
        spoken(&found.numbers)
    );
    for note in notes(found) {
        let _ = write!(text, " {note}");
    }
    text.push_str(" I will put them into a CSV, compute the figures in the sandbox and publish both the CSV and a report.");
    text
}

/// What the reader must know of how the request was read: nothing is dropped in silence.
fn notes(found: &Found) -> Vec<String> {
    let mut notes = Vec::new();
    if found.left_out > 0 {
        let (taken, left) = (found.numbers.len(), found.left_out);
        notes.push(format!("I took the first {taken} numbers; {left} more are left out."));
    }
    if !found.unread.is_empty() {
        notes.push(format!(
            "I left out: {}. I could not read this as a number, or not compute with it exactly.",
            found.unread
        ));
    }
    if !found.guessed.is_empty() {
        notes.push(format!(
            "This could be read in more than one way: {}. I took three or more groups of exactly \
             three digits for a list, other groups of three for thousands, and the rest for a list; \
             a space after each comma makes it clear.",
            found.guessed
        ));
    }
    notes
}

fn spoken(numbers: &[Number]) -> String {
    let listed: Vec<_> = numbers.iter().take(MAX_SPOKEN).map(ToString::to_string).collect();
    match (listed.split_last(), numbers.len().saturating_sub(MAX_SPOKEN)) {
        (None, _) => String::new(),
        (Some((last, [])), 0) => last.clone(),
        (Some((last, before)), 0) => format!("{} and {last}", before.join(", ")),
        (Some(_), more) => format!("{} and {more} more", listed.join(", ")),
    }
}

/// What is said to a request without numbers.
pub(super) const NO_NUMBERS: &str = "\
I could not find any numbers in your message. I am the built-in demo model: I need no key, and I can \
do one thing. Send me a list of numbers, for example “Analyze sales of 10, 20 and 30 dollars”, and I \
will write them to a CSV, compute the figures in the sandbox, write a report and publish both files \
for you to download.";

/// [`NO_NUMBERS`], and what was found instead.
pub(super) fn no_numbers(found: &Found) -> String {
    let mut text = NO_NUMBERS.to_owned();
    for note in notes(found) {
        let _ = write!(text, "\n\n{note}");
    }
    text
}

/// How the files went.
#[derive(Debug, Default)]
pub(super) struct Delivery {
    /// Name and size.
    pub(super) published: Vec<(String, u64)>,
    /// Name and the code of what went wrong.
    pub(super) missing: Vec<(String, String)>,
    pub(super) in_sandbox: bool,
}

/// What is said when all is done that could be.
pub(super) fn closing(
    subject: Subject,
    found: &Found,
    figures: &Figures,
    delivery: &Delivery,
) -> String {
    let mut text = summary(subject, figures);
    let _ = write!(text, " The median is {}", subject.amount(figures.median));
    if let Some(deviation) = figures.deviation {
        let _ = write!(text, " and the sample standard deviation {}", subject.amount(deviation));
    }
    text.push('.');
    for note in notes(found) {
        let _ = write!(text, "\n\n{note}");
    }
    if !delivery.in_sandbox {
        text.push_str("\n\nThe sandbox gave no usable result, so I computed these figures myself.");
    }
    if !delivery.published.is_empty() {
        text.push_str("\n\nReady for you to download:");
        for (name, bytes) in &delivery.published {
            let _ = write!(text, "\n- {name} ({bytes} bytes)");
        }
    }
    if !delivery.missing.is_empty() {
        text.push_str("\n\nI could not deliver these, so you cannot download them:");
        for (name, code) in &delivery.missing {
            let _ = write!(text, "\n- {name} ({code})");
        }
    }
    text
}
