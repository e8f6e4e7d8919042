//! One page of a listing.

use std::collections::BTreeSet;

use super::record::Record;

/// What a listing asks for.
#[derive(Debug, Clone, Copy)]
pub(super) struct Wanted<'a> {
    pub(super) prefix: &'a str,
    /// Keys after this prefix up to the delimiter count as one.
    pub(super) delimiter: Option<&'a str>,
    /// Names up to and with this one were listed before.
    pub(super) after: &'a str,
    pub(super) most: usize,
}

/// What it gets: keys, and what several keys begin with, each in order.
#[derive(Debug, Default)]
pub(super) struct Page<'a> {
    pub(super) records: Vec<&'a Record>,
    pub(super) common: BTreeSet<&'a str>,
    /// The last name on this page, when there are more.
    pub(super) more_after: Option<&'a str>,
}

/// Takes the page from records in the order of their keys.
pub(super) fn page<'a>(records: &'a [Record], wanted: Wanted<'_>) -> Page<'a> {
    let mut page = Page::default();
    let mut last = None;
    for record in records {
        let Some(rest) = record.key.strip_prefix(wanted.prefix) else { continue };
        let common = wanted.delimiter.and_then(|delimiter| {
            let end = rest.find(delimiter)? + delimiter.len();
            record.key.get(..wanted.prefix.len() + end)
        });
        let name = common.unwrap_or(&record.key);
        if name <= wanted.after || page.common.contains(name) {
            continue;
        }
        if page.records.len() + page.common.len() >= wanted.most {
            page.more_after = last;
            break;
        }
        match common {
            Some(common) => {
                page.common.insert(common);
            }
            None => page.records.push(record),
        }
        last = Some(name);
    }
    page
}

#[cfg(test)]
mod tests {
    use domain::Timestamp;

    use super::*;
    use crate::s3::record::About;

    fn records(keys: &[&str]) -> Vec<Record> {
        let record = |key: &&str| Record {
            key: (*key).to_owned(),
            body: String::new(),
            size: 0,
            md5: String::new(),
            sha256: String::new(),
            stored_at: Timestamp(0),
            about: About::default(),
        };
        keys.iter().map(record).collect()
    }

    /// Names of the pages of two, `|` between them.
    fn pages(keys: &[&str], prefix: &str, delimiter: Option<&str>) -> String {
        let records = records(keys);
        let mut after = String::new();
        let mut pages = Vec::new();
        loop {
            let wanted = Wanted { prefix, delimiter, after: &after, most: 2 };
            let page = page(&records, wanted);
            let mut names: Vec<&str> = page.records.iter().map(|r| r.key.as_str()).collect();
            names.extend(&page.common);
            names.sort_unstable();
            pages.push(names.join(" "));
            match page.more_after {
                Some(more) => after = more.to_owned(),
                None => return pages.join(" | "),
            }
        }
    }

    #[test]
    fn pages_hold_every_key_once_and_in_order() {
        assert_eq!(pages(&["a", "b", "c", "d", "e"], "", None), "a b | c d | e");
        assert_eq!(pages(&["a", "p/b", "p/c", "p/d", "q"], "p/", None), "p/b p/c | p/d");
        assert_eq!(pages(&[], "", None), "");
    }

    #[test]
    fn keys_with_a_common_beginning_count_as_one() {
        let keys = ["a/1", "a/2", "a/3", "b", "c/1", "d/1/x", "d/2"];
        assert_eq!(pages(&keys, "", Some("/")), "a/ b | c/ d/");
        assert_eq!(pages(&keys, "d/", Some("/")), "d/1/ d/2");
    }
}
