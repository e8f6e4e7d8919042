//! `{a,b}` groups, written out.

use super::MAX_EXPANSIONS;

/// All the patterns that a pattern with groups stands for, in order. `None`: too many.
pub(super) fn expand(text: &str) -> Option<Vec<String>> {
    let bytes = text.as_bytes();
    let mut at = 0;
    while let Some(byte) = bytes.get(at) {
        match byte {
            b'\\' => at += 2,
            b'{' => match group(text, at) {
                Some((elements, end)) => {
                    return combine(text.get(..at)?, &elements, text.get(end..)?);
                }
                // One element, or no end: the brace is a character like others.
                None => at += 1,
            },
            _ => at += 1,
        }
    }
    Some(vec![text.to_owned()])
}

/// The elements of the group that opens at `open`, and where the text goes on after it.
fn group(text: &str, open: usize) -> Option<(Vec<&str>, usize)> {
    let mut elements = Vec::new();
    let (mut depth, mut start, mut at) = (0_usize, open + 1, open);
    loop {
        match text.as_bytes().get(at)? {
            b'\\' => at += 1,
            b'{' => depth += 1,
            b',' if depth == 1 => {
                elements.push(text.get(start..at)?);
                start = at + 1;
            }
            b'}' if depth == 1 => {
                elements.push(text.get(start..at)?);
                return (elements.len() > 1).then_some((elements, at + 1));
            }
            b'}' => depth -= 1,
            _ => {}
        }
        at += 1;
    }
}

fn combine(before: &str, elements: &[&str], after: &str) -> Option<Vec<String>> {
    let after = expand(after)?;
    let mut all = Vec::new();
    for element in elements {
        for middle in expand(element)? {
            if all.len() + after.len() > MAX_EXPANSIONS {
                return None;
            }
            all.extend(after.iter().map(|rest| format!("{before}{middle}{rest}")));
        }
    }
    Some(all)
}
