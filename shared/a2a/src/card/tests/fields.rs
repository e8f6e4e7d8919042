use serde_json::json;

use super::*;

/// D2, D3, publication scenario 1.
#[test]
fn d2_a_plain_agent_gets_a_whole_card() {
    insta::assert_snapshot!(text(&card("")));
}

/// D2, D5.
#[test]
fn d2_all_that_the_builder_says_of_the_agent_is_shown() {
    insta::assert_json_snapshot!(card_with(FULL, &secured()));
}

/// Publication scenario 5.
#[test]
fn scenario_5_a_card_shows_neither_prompt_nor_model_nor_what_only_known_callers_see() {
    let shown = text(&card(r#","limits":{"max_steps":77777}"#)) + &text(&card(FULL));
    for hidden in ["canary", "77777", "secret-sum", "all numbers", "t1"] {
        assert!(!shown.contains(hidden), "{hidden}");
    }
}

/// Publication scenario 4.
#[test]
fn scenario_4_an_address_of_the_agents_own_is_shown_byte_for_byte() {
    let own = "HTTPS://Agents.Example.com:443/x/../y?key=%7e&b";
    let card = card(&format!(r#","a2a":{{"public_interface_url":"{own}"}}"#));
    assert!(card.supported_interfaces.iter().all(|interface| interface.url == own));
    assert!(!text(&card.supported_interfaces).contains("analyst"));
}

/// D3, V2: whoever takes the first that it speaks speaks 1.0.
#[test]
fn d3_interfaces_of_0_3_come_behind_those_of_1_0() {
    let versions: Vec<_> = card("")
        .supported_interfaces
        .iter()
        .map(|interface| (interface.protocol_binding, interface.protocol_version))
        .collect();
    let both = |version| [(Binding::JsonRpc, version), (Binding::HttpJson, version)];
    assert_eq!(versions, [both("1.0"), both("0.3")].concat());
}

/// D7, T1.
#[test]
fn d7_the_extended_card_says_more_and_leads_a_tenant_back_to_itself() {
    let security = Security::default();
    let definition = definition(FULL);
    let subject =
        Subject { definition: &definition, url: URL, version: "1.2.3", security: &security };
    let card = extended(&subject, Some("t1")).unwrap();
    assert_eq!(card.description, "Reads all numbers.");
    let ids: Vec<_> = card.skills.iter().map(|skill| skill.id.as_str()).collect();
    assert_eq!(ids, ["sum", "secret-sum"]);
    assert_eq!(
        value(&card.supported_interfaces[0]),
        json!({"url": URL, "protocolBinding": "JSONRPC", "tenant": "t1", "protocolVersion": "1.0"})
    );
    let plain = super::definition("");
    assert_eq!(extended(&Subject { definition: &plain, ..subject }, None), None);
}

/// D6: what is empty means the same as what is not there, and is left out.
#[test]
fn d6_empty_parameters_of_an_extension_are_left_out() {
    let card = card(r#","a2a":{"extensions":[{"uri":"urn:plain","params":{}}]}"#);
    assert_eq!(value(&card.capabilities.extensions), json!([{"uri": "urn:plain"}]));
}
