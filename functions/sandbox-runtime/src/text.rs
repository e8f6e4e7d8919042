//! Bytes shown as text.

/// What is no character is replaced, and so is NUL, which many stores refuse.
pub(crate) fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).replace('\0', "\u{fffd}")
}

/// Without the first bytes of a character whose last ones are missing.
pub(crate) fn without_cut_end(bytes: &[u8]) -> &[u8] {
    let from = bytes.len().saturating_sub(3);
    let last = bytes.get(from..).unwrap_or_default();
    let start = last.iter().rposition(|byte| !is_continuation(*byte));
    let cut = start.and_then(|start| {
        let needs = match last.get(start)? {
            0xc2..=0xdf => 2,
            0xe0..=0xef => 3,
            0xf0..=0xf4 => 4,
            _ => 1,
        };
        (last.len() - start < needs).then_some(from + start)
    });
    bytes.get(..cut.unwrap_or(bytes.len())).unwrap_or_default()
}

/// Without the last bytes of a character whose first ones are missing.
pub(crate) fn without_cut_start(bytes: &[u8]) -> &[u8] {
    let cut = bytes.iter().take(3).take_while(|byte| is_continuation(**byte)).count();
    bytes.get(cut..).unwrap_or_default()
}

fn is_continuation(byte: u8) -> bool {
    (0x80..0xc0).contains(&byte)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_text_cut_anywhere_stays_text(text in "[aé€🦀]{0,8}", at in 0_usize..40) {
            let at = at.min(text.len());
            let (before, after) = text.as_bytes().split_at(at);
            let (before, after) = (without_cut_end(before), without_cut_start(after));
            prop_assert!(std::str::from_utf8(before).is_ok() && std::str::from_utf8(after).is_ok());
            prop_assert!(text.len() - before.len() - after.len() <= 4);
        }

        #[test]
        fn bytes_that_are_no_text_are_shown_all_the_same(
            bytes in prop::collection::vec(any::<u8>(), 0..20),
        ) {
            prop_assert!(!text(&bytes).contains('\0'));
            prop_assert!(bytes.len() - without_cut_end(&bytes).len() <= 3);
            prop_assert!(bytes.len() - without_cut_start(&bytes).len() <= 3);
        }
    }
}
