use super::*;

#[track_caller]
fn refused(extra: &str, problem: &str) {
    let error = check(&definition(extra)).unwrap_err();
    assert_eq!(error.problems(), [problem], "{extra}");
}

#[track_caller]
fn refused_setting(a2a: &str, problem: &str) {
    refused(&format!(r#","a2a":{{{a2a}}}"#), &format!("a2a.{problem}"));
}

#[track_caller]
fn refused_skill(replaced: &str, problem: &str) {
    let skill = r#"{"id":"a","name":"A","description":"d","tags":["t"]}"#;
    let mut skill: Value = serde_json::from_str(skill).unwrap();
    let replaced: serde_json::Map<String, Value> = serde_json::from_str(replaced).unwrap();
    skill.as_object_mut().unwrap().extend(replaced);
    refused_setting(&format!(r#""skills":[{skill}]"#), &format!("skills[0].{problem}"));
}

#[test]
fn whatever_the_card_needs_is_asked_for() {
    check(&definition("")).unwrap();
    check(&definition(FULL)).unwrap();
    refused(r#","display_name":" ""#, "display_name is blank");
    let long = "x".repeat(2001);
    refused(&format!(r#","description":"{long}""#), "description is longer than 2000 characters");
    refused_setting(r#""default_input_modes":[]"#, "default_input_modes is empty");
    refused_setting(r#""default_output_modes":[]"#, "default_output_modes is empty");
    refused_setting(
        r#""provider":{"organization":"","url":"https://example.com"}"#,
        "provider.organization is blank",
    );
    refused_setting(r#""extended_card":{"description":" "}"#, "extended_card.description is blank");
    refused_setting(r#""tenants":["a","a"]"#, "tenants[1] comes twice");
}

#[test]
fn media_types_are_of_two_parts() {
    for bad in ["text", "text/", "/plain", "text/ plain", "text/plain; charset=utf-8", "a/b/c"] {
        refused_setting(
            &format!(r#""default_output_modes":["{bad}"]"#),
            "default_output_modes[0] is not of the form type/subtype",
        );
        refused_skill(
            &format!(r#"{{"input_modes":["{bad}"]}}"#),
            "input_modes[0] is not of the form type/subtype",
        );
    }
}

#[test]
fn addresses_are_absolute_and_name_nobody() {
    for (bad, what) in [
        ("", "is not an absolute http or https address"),
        ("/a2a", "is not an absolute http or https address"),
        ("ftp://example.com", "is not an absolute http or https address"),
        ("https://exa mple.com", "has white space in it"),
        ("https://example.com/\\n", "has white space in it"),
        ("https://example.com/#top", "has a fragment"),
        ("https://user@example.com", "names a user"),
        ("https://user:pass@example.com/x", "names a user"),
        ("https://", "is not an address"),
        ("https:///path", "is not an address"),
        ("https://:443", "is not an address"),
    ] {
        for field in ["public_interface_url", "documentation_url", "icon_url"] {
            refused_setting(&format!(r#""{field}":"{bad}""#), &format!("{field} {what}"));
        }
    }
    for good in ["http://localhost:8700", "https://example.com/?u=a@b", "HTTPS://example.com"] {
        check(&definition(&format!(r#","a2a":{{"public_interface_url":"{good}"}}"#))).unwrap();
    }
}

#[test]
fn skills_are_told_apart_and_described() {
    let id = "id does not match [A-Za-z0-9][A-Za-z0-9._-]{0,99}";
    for bad in ["", "-a", "a b", "ä", &"x".repeat(101)] {
        refused_skill(&format!(r#"{{"id":"{bad}"}}"#), id);
    }
    let long = "x".repeat(201);
    refused_skill(&format!(r#"{{"name":"{long}"}}"#), "name is longer than 200 characters");
    refused_skill(r#"{"description":"\t"}"#, "description is blank");
    refused_skill(r#"{"tags":[]}"#, "tags has no tag that is not blank");
    refused_skill(r#"{"tags":[" "]}"#, "tags has no tag that is not blank");
    refused_skill(r#"{"security":[{}]}"#, "security[0] names no scheme");
    let skill = r#"{"id":"a","name":"A","description":"d","tags":["t"]}"#;
    refused_setting(
        &format!(r#""skills":[{skill}],"extended_card":{{"skills":[{skill}]}}"#),
        "extended_card.skills[0].id comes twice",
    );
}

#[test]
fn an_extension_can_stand_in_the_list_that_asks_for_it() {
    let what = "is not an absolute URI without commas and spaces";
    for bad in ["", "relative", "urn:", "urn:a,b", "urn:a b", "1a:b"] {
        refused_setting(
            &format!(r#""extensions":[{{"uri":"{bad}"}}]"#),
            &format!("extensions[0].uri {what}"),
        );
    }
    refused_setting(
        r#""extensions":[{"uri":"urn:a"},{"uri":"urn:a"}]"#,
        "extensions[1].uri comes twice",
    );
}

#[test]
fn all_that_is_wrong_is_told_at_once() {
    let wrong = r#","display_name":"","a2a":{"icon_url":"x","default_input_modes":["x"]}"#;
    assert_eq!(
        check(&definition(wrong)).unwrap_err().to_string(),
        "display_name is blank; a2a.default_input_modes[0] is not of the form type/subtype; \
         a2a.icon_url is not an absolute http or https address"
    );
}
