//! What a client takes as an answer (`acceptedOutputModes`, O6).
//!
//! **Nothing is refused and nothing rewritten for it**: an answer in a type that the client did not
//! name is still its answer. The model is told, and tailors what it says.

use domain::agent_definition::A2aSettings;

/// More than any client has use for; the rest is left out.
const MOST: usize = 32;
/// The longest name of a media type (RFC 6838), twice and a slash.
const LONGEST: usize = 255;

/// The modes that a client accepts, if one that the agent answers in is not among them; else there
/// is nothing to tell. What is no media type counts for nothing.
pub(super) fn narrowed(settings: &A2aSettings, accepted: &[String]) -> Vec<String> {
    let accepted: Vec<String> =
        accepted.iter().filter_map(|mode| essence(mode)).take(MOST).collect();
    let takes = |mode: &String| {
        essence(mode).is_none_or(|mode| accepted.iter().any(|taken| covers(taken, &mode)))
    };
    let tells = !accepted.is_empty() && !settings.default_output_modes.iter().all(takes);
    if tells { accepted } else { Vec::new() }
}

/// Type and subtype, in lower case.
fn essence(mode: &str) -> Option<String> {
    let essence = mode.split(';').next()?.trim().to_ascii_lowercase();
    let (kind, sub) = essence.split_once('/')?;
    let is_token = |text: &str| {
        !text.is_empty()
            && text.bytes().all(|b| b.is_ascii_alphanumeric() || b"!#$&-^_.+*".contains(&b))
    };
    (essence.len() <= LONGEST && is_token(kind) && is_token(sub)).then_some(essence)
}

/// Whether an accepted mode, which may have wildcards, takes `mode`.
fn covers(accepted: &str, mode: &str) -> bool {
    let (Some((kind, sub)), Some((of, named))) = (accepted.split_once('/'), mode.split_once('/'))
    else {
        return false;
    };
    (kind == "*" || kind == of) && (sub == "*" || sub == named)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(accepted: &[&str], told: &[&str]) {
        let modes = ["text/plain", "application/json"].map(str::to_owned).to_vec();
        let settings = A2aSettings { default_output_modes: modes, ..A2aSettings::default() };
        let accepted: Vec<String> = accepted.iter().map(|mode| (*mode).to_owned()).collect();
        assert_eq!(narrowed(&settings, &accepted), told, "{accepted:?}");
    }

    #[test]
    fn o6_a_client_that_takes_all_that_the_agent_answers_in_narrows_nothing() {
        check(&[], &[]);
        check(&["*/*"], &[]);
        check(&["text/*", "Application/JSON; charset=utf-8"], &[]);
    }

    #[test]
    fn o6_a_client_that_leaves_something_out_is_heard() {
        check(&["Text/Plain;charset=utf-8"], &["text/plain"]);
        check(&["image/png", "text/*"], &["image/png", "text/*"]);
    }

    #[test]
    fn o6_what_is_no_media_type_counts_for_nothing() {
        let long = "a/".to_owned() + &"b".repeat(300);
        check(&["text", "", "/", "a b/c", "x/\u{0}", "[a2a/end]", &long], &[]);
        check(&["text", "text/plain"], &["text/plain"]);
        let many: Vec<String> = (0..99).map(|number| format!("a/{number}")).collect();
        assert_eq!(narrowed(&A2aSettings::default(), &many).len(), MOST);
    }
}
