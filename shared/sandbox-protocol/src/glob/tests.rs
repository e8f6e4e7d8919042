use proptest::prelude::*;

use super::*;

fn check(pattern: &str, matched: &[&str], others: &[&str]) {
    let parsed = Pattern::parse(pattern).unwrap();
    for path in matched {
        assert!(parsed.matches(path), "{pattern} should match {path}");
    }
    for path in others {
        assert!(!parsed.matches(path), "{pattern} should not match {path}");
    }
}

#[test]
fn without_a_slash_the_base_name_is_matched_at_any_depth() {
    check("*.py", &["a.py", "x/y/a.py", ".venv/a.py"], &["a.pyc", "a.py/b", ".py", "x/.a.py"]);
    check("**", &["a", "x/y"], &[".a", "x/.a"]);
}

#[test]
fn a_leading_slash_narrows_to_where_the_search_starts() {
    check("/*.py", &["a.py"], &["x/a.py"]);
    check("/x/*.py", &["x/a.py"], &["y/x/a.py"]);
}

#[test]
fn with_a_slash_the_whole_path_is_matched() {
    check("src/*.py", &["src/a.py"], &["src/x/a.py", "y/src/a.py"]);
    check("./src//a", &["src/a"], &["a"]);
    check("src/", &[], &["src", "src/a"]);
}

#[test]
fn two_stars_cross_directories() {
    check("src/**/*.py", &["src/a.py", "src/x/a.py", "src/x/y/a.py"], &["a.py", "x/src/a.py"]);
    check("src/**", &["src/a", "src/x/y"], &["src", "a/src/b", "src/.a"]);
    check("**/a", &["a", "x/a", "x/y/a"], &["xa"]);
    check("**/**/a/**/**", &["a/b", "x/a/b/c"], &["a", "x/a"]);
    check("a**b/c", &["ab/c", "axb/c"], &["a/b/c"]);
}

#[test]
fn a_leading_dot_must_be_spelled() {
    check("**/*.yml", &["x.yml", "a/x.yml"], &[".github/x.yml", "a/.b/x.yml"]);
    check("*.yml", &[".github/x.yml"], &[]);
    check(".github/*", &[".github/x"], &[".github/.x"]);
    check("?a", &["ba"], &[".a"]);
    check("[.]a", &[], &[".a"]);
    check("**/.env", &[".env", "a/.env"], &[".a/.env"]);
}

#[test]
fn classes_and_escapes() {
    check("[!a]*", &["b", "bc"], &["a", "ab"]);
    check("[^a-c]", &["d"], &["a", "b", "c"]);
    check("[a-c]", &["b"], &["d", "-"]);
    check("[]]", &["]"], &["a"]);
    check("[a-]", &["a", "-"], &["b"]);
    check("[ab", &["[ab"], &["a"]);
    check(r"\*", &["*"], &["a"]);
    check(r"\{a,b\}", &["{a,b}"], &["a"]);
    check("!a", &["!a"], &["b"]);
    check("A", &["A"], &["a"]);
}

#[test]
fn groups_are_alternatives() {
    check("{a,b}.txt", &["a.txt", "b.txt", "x/a.txt"], &["c.txt", "{a,b}.txt"]);
    check("{a,b{c,d}}", &["a", "bc", "bd"], &["b"]);
    check("{a}", &["{a}"], &["a"]);
    check("{{a,b}}", &["{a}", "{b}"], &["a"]);
    check("{a", &["{a"], &["a"]);
    check("a{,b}", &["a", "ab"], &["b"]);
    check("{src/,}*.py", &["src/a.py", "x/a.py"], &["src/a.rs"]);
}

#[test]
fn what_is_too_much_or_leads_upwards_is_refused() {
    let many = "{a,b}".repeat(12);
    assert_eq!(Pattern::parse(&many), Err(InvalidPattern::TooManyExpansions));
    let thousand = "{a,b,c,d,e,f,g,h,i,j}".repeat(3);
    assert_eq!(Pattern::parse(&thousand).unwrap().alternatives.len(), 1_000);
    for bad in ["..", "../a", "a/../b", "{a,..}/b", "/.."] {
        assert_eq!(Pattern::parse(bad), Err(InvalidPattern::Parent), "{bad}");
    }
    assert_eq!(Pattern::parse(""), Err(InvalidPattern::Empty));
    assert_eq!(Pattern::parse(&"a".repeat(1_025)), Err(InvalidPattern::TooLong));
    assert!(Pattern::parse("a..b").is_ok());
}

/// The rules again, as a slow search without state.
fn slowly(segments: &[&str], names: &[&str]) -> bool {
    match (segments, names) {
        ([], []) => true,
        (["**"], names) => !names.is_empty() && names.iter().all(|n| !n.starts_with('.')),
        (["**", rest @ ..], names) => {
            slowly(rest, names)
                || matches!(names, [n, more @ ..] if !n.starts_with('.') && slowly(segments, more))
        }
        ([one, rest @ ..], [name, more @ ..]) => {
            Name::parse(one).matches(name) && slowly(rest, more)
        }
        ([], _) | (_, []) => false,
    }
}

proptest! {
    #[test]
    fn matching_paths_agrees_with_a_slow_search(
        segments in prop::collection::vec("\\*\\*|[ab.*?]{1,3}", 2..5),
        names in prop::collection::vec("[ab.]{1,3}", 1..5),
    ) {
        prop_assume!(segments.iter().all(|s| s != "." && s != ".."));
        let pattern = Pattern::parse(&segments.join("/")).unwrap();
        let segments: Vec<_> = segments.iter().map(String::as_str).collect();
        let names: Vec<_> = names.iter().map(String::as_str).collect();
        prop_assert_eq!(pattern.matches(&names.join("/")), slowly(&segments, &names));
    }

    #[test]
    fn no_pattern_is_too_much(pattern in "[a{},*?\\[\\]!/.\\\\é-]{0,60}", path in "[ab/.é]{0,40}") {
        if let Ok(pattern) = Pattern::parse(&pattern) {
            pattern.matches(&path);
        }
    }
}
