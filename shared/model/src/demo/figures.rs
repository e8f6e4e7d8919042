//! What the numbers amount to: reckoned here, and by the command that runs in the sandbox.

use super::numbers::Number;

/// The figures of a list that is not empty.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Figures {
    pub(super) count: usize,
    pub(super) sum: f64,
    pub(super) mean: f64,
    pub(super) median: f64,
    pub(super) min: f64,
    pub(super) max: f64,
    /// Of the sample (divided by n − 1); a single number has none.
    pub(super) deviation: Option<f64>,
}

impl Figures {
    /// Reckons them here. `None` for an empty list.
    pub(super) fn of(numbers: &[Number]) -> Option<Self> {
        let mut values: Vec<f64> = numbers.iter().map(|n| n.value()).collect();
        values.sort_by(f64::total_cmp);
        let (min, max) = (*values.first()?, *values.last()?);
        let count = values.len();
        let sum = Number::sum(numbers).value();
        let mean = sum / real(count);
        let middle = |at: usize| values.get(at).copied().unwrap_or(f64::NAN);
        let median = if count.is_multiple_of(2) {
            f64::midpoint(middle(count / 2 - 1), middle(count / 2))
        } else {
            middle(count / 2)
        };
        let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
        let deviation = (count > 1).then(|| (squares / real(count - 1)).sqrt());
        Some(Self { count, sum, mean, median, min, max, deviation })
    }

    /// Reads what [`command`] printed, wherever in the output it stands.
    pub(super) fn parse(output: &str) -> Option<Self> {
        let field = |name: &str| {
            let mut lines = output.lines();
            lines.find_map(|line| line.strip_prefix(name)?.strip_prefix('='))
        };
        let value = |name: &str| field(name)?.parse::<f64>().ok().filter(|v| v.is_finite());
        let figures = Self {
            count: field("count")?.parse().ok()?,
            sum: value("sum")?,
            mean: value("mean")?,
            median: value("median")?,
            min: value("min")?,
            max: value("max")?,
            deviation: value("stddev"),
        };
        Some(figures)
    }

    /// Whether two reckonings of the same list say the same, but for the last digits.
    pub(super) fn agrees(&self, other: &Self) -> bool {
        // Sums are compared on the scale of what was added up, which may cancel out.
        let scale = self.max.abs().max(self.min.abs()).max(1e-12);
        let total = scale * real(self.count);
        let near = |a: f64, b: f64, scale: f64| (a - b).abs() <= 1e-9 * scale;
        self.count == other.count
            && near(self.sum, other.sum, total)
            && near(self.mean, other.mean, scale)
            && near(self.median, other.median, scale)
            && near(self.min, other.min, scale)
            && near(self.max, other.max, scale)
            && match (self.deviation, other.deviation) {
                (Some(a), Some(b)) => near(a, b, scale),
                (None, None) => true,
                _ => false,
            }
    }
}

#[expect(clippy::cast_precision_loss, reason = "a count of at most 2 000")]
const fn real(count: usize) -> f64 {
    count as f64
}

/// Prints a figure for a reader: six digits of a small one, four decimals of a large one.
pub(super) fn show(value: f64) -> String {
    let magnitude = value.abs();
    let decimals = if magnitude == 0.0 || magnitude >= 1.0 { 4 } else { 6 };
    let text = if magnitude > 0.0 && magnitude < 1e-6 {
        format!("{value:e}")
    } else {
        let fixed = format!("{value:.decimals$}");
        fixed.trim_end_matches('0').trim_end_matches('.').to_owned()
    };
    if text == "-0" { "0".to_owned() } else { text }
}

/// The program that the sandbox runs over the CSV. POSIX awk, no extensions: it sorts by itself.
const PROGRAM: &str = r#"
NR > 1 { v[++n] = $2 + 0; sum += $2 }
END {
  if (n == 0) exit 1
  for (gap = int(n / 2); gap > 0; gap = int(gap / 2))
    for (i = gap + 1; i <= n; i++) {
      x = v[i]
      for (j = i; j > gap && v[j - gap] > x; j -= gap) v[j] = v[j - gap]
      v[j] = x
    }
  mean = sum / n
  for (i = 1; i <= n; i++) squares += (v[i] - mean) * (v[i] - mean)
  half = int(n / 2)
  median = n % 2 ? v[half + 1] : (v[half] + v[half + 1]) / 2
  printf "count=%d\nsum=%.15g\nmean=%.15g\n", n, sum, mean
  printf "median=%.15g\nmin=%.15g\nmax=%.15g\n", median, v[1], v[n]
  if (n > 1) printf "stddev=%.15g\n", sqrt(squares / (n - 1))
}"#;

/// The command that reckons the figures of a CSV in the working folder.
pub(super) fn command(csv: &str) -> String {
    format!("LC_ALL=C awk -F, '{PROGRAM}\n' {csv}")
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use proptest::prelude::*;

    use super::*;

    fn numbers(texts: &[&str]) -> Vec<Number> {
        texts.iter().map(|text| Number::plain(text).unwrap()).collect()
    }

    /// Runs the command as a sandbox does.
    fn awk(numbers: &[Number]) -> Figures {
        let folder = tempfile::tempdir().unwrap();
        let rows: Vec<_> = (1..).zip(numbers).map(|(n, v)| format!("{n},{v}\n")).collect();
        std::fs::write(folder.path().join("a.csv"), format!("n,v\n{}", rows.concat())).unwrap();
        let output = Command::new("sh")
            .args(["-c", &command("a.csv")])
            .current_dir(folder.path())
            .output()
            .unwrap();
        assert!(output.status.success(), "{output:?}");
        Figures::parse(&String::from_utf8(output.stdout).unwrap()).unwrap()
    }

    #[test]
    fn the_figures_of_the_demonstration() {
        let figures = Figures::of(&numbers(&["10", "20", "30"])).unwrap();
        let expected = Figures {
            count: 3,
            sum: 60.0,
            mean: 20.0,
            median: 20.0,
            min: 10.0,
            max: 30.0,
            deviation: Some(10.0),
        };
        assert_eq!(figures, expected);
        assert_eq!(awk(&numbers(&["10", "20", "30"])), expected);
    }

    #[test]
    fn one_number_has_no_deviation_and_none_has_no_figures() {
        let one = Figures::of(&numbers(&["5"])).unwrap();
        assert_eq!((one.median, one.deviation), (5.0, None));
        assert_eq!(awk(&numbers(&["5"])), one);
        assert_eq!(Figures::of(&[]), None);
    }

    #[test]
    fn an_output_that_lacks_a_figure_is_no_result() {
        assert_eq!(Figures::parse("count=3\nsum=60"), None);
        assert_eq!(Figures::parse(""), None);
        assert_eq!(Figures::parse("count=1\nsum=nan\nmean=1\nmedian=1\nmin=1\nmax=1"), None);
    }

    #[test]
    fn another_result_is_noticed() {
        let ours = Figures::of(&numbers(&["10", "20", "30"])).unwrap();
        assert!(ours.agrees(&ours));
        let others = [
            Figures { count: 4, ..ours.clone() },
            Figures { sum: 60.1, ..ours.clone() },
            Figures { mean: 20.1, ..ours.clone() },
            Figures { median: 20.1, ..ours.clone() },
            Figures { min: 10.1, ..ours.clone() },
            Figures { max: 30.1, ..ours.clone() },
            Figures { deviation: Some(10.1), ..ours.clone() },
            Figures { deviation: None, ..ours.clone() },
        ];
        for other in others {
            assert!(!ours.agrees(&other), "{other:?}");
        }
    }

    #[test]
    fn figures_are_shown_without_needless_digits() {
        let shown: Vec<_> =
            [60.0, 0.3, 100.0 / 3.0, -0.0, 0.000_01, 1e-9, 1e15, -2.5].map(show).into();
        assert_eq!(
            shown,
            ["60", "0.3", "33.3333", "0", "0.00001", "1e-9", "1000000000000000", "-2.5"]
        );
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(24))]

        #[test]
        fn the_sandbox_and_the_model_reckon_alike(
            values in proptest::collection::vec((-99_999_999_i64..99_999_999, 0u32..5), 1..60),
        ) {
            let texts: Vec<_> = values
                .iter()
                .map(|(units, scale)| {
                    #[expect(clippy::cast_precision_loss, reason = "below 2^53")]
                    let value = *units as f64 / 10_f64.powi(i32::try_from(*scale).unwrap());
                    format!("{value:.*}", *scale as usize)
                })
                .collect();
            let numbers: Vec<_> = texts.iter().filter_map(|text| Number::plain(text)).collect();
            let ours = Figures::of(&numbers).unwrap();
            prop_assert!(ours.agrees(&awk(&numbers)), "{:?} {:?}", ours, awk(&numbers));
        }
    }
}
