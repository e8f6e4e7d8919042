//! D1 to D8 behind one port: **whichever ingress answers, it is the same card.** What a card says of
//! its agent in particular is held at the function itself.

use reqwest::Method;
use serde_json::{Value, json};

use crate::support::cast::MORE;
use crate::support::client::{Binding, Client, Raw, guarded, list, over};

/// Clients of each ingress alone, which call the deployment by one name.
fn each(client: &Client) -> [Client; 2] {
    [0, 1].map(|ingress| client.at(ingress).with("host", "agents.example.com"))
}

fn path(agent: &Client) -> String {
    format!("{}/.well-known/agent-card.json", agent.endpoint())
}

fn origin(client: &Client) -> String {
    let end = client.endpoint();
    end[..end.find("/a2a/").unwrap()].to_owned()
}

#[tokio::test]
async fn d1_a_card_is_found_at_every_address_that_clients_try() {
    over(Binding::JsonRpc, async |client| {
        let echo = client.of("echo").without("a2a-version").without("x-cognition-scope-user");
        let card = echo.get(&path(&echo)).await;
        assert_eq!((card.status, card.header("content-type")), (200, "application/json"));
        let origin = origin(&echo);
        for url in [
            format!("{}/", path(&echo)),
            format!("{}/.well-known/agent.json", echo.endpoint()),
            format!("{origin}/.well-known/agent-card.json?assistant_id=echo"),
            format!("{origin}/.well-known/agent-card.json/?assistant_id=echo"),
            format!("{origin}/.well-known/agent.json?assistant_id=echo"),
        ] {
            let same = echo.get(&url).await;
            assert_eq!((same.status, &same.text), (200, &card.text), "{url}");
        }
        for unknown in ["nobody", "hidden"] {
            assert_eq!(echo.get(&path(&echo.of(unknown))).await.status, 404, "{unknown}");
            let url = format!("{origin}/.well-known/agent-card.json?assistant_id={unknown}");
            assert_eq!(echo.get(&url).await.status, 404, "{unknown}");
        }
    })
    .await;
}

/// D2, D3, and D8: the same card serves clients of 0.3.
#[tokio::test]
async fn d2_d3_d8_a_card_has_what_clients_of_either_version_need() {
    over(Binding::JsonRpc, async |client| {
        let echo = client.of("echo");
        let card = echo.get(&path(&echo)).await.json();
        for member in ["name", "description", "version", "url", "preferredTransport"] {
            assert!(card[member].as_str().is_some_and(|text| !text.is_empty()), "{member}");
        }
        for member in ["supportedInterfaces", "defaultInputModes", "defaultOutputModes", "skills"] {
            assert!(!list(&card[member]).is_empty(), "{member}");
        }
        assert!(card["capabilities"].is_object());
        let interfaces = list(&card["supportedInterfaces"]);
        for (interface, binding) in interfaces.iter().zip(["JSONRPC", "HTTP+JSON"]) {
            assert_eq!(interface["protocolBinding"], binding);
            assert_eq!(interface["protocolVersion"], "1.0");
            assert_eq!(interface["url"], echo.endpoint());
        }
        assert_eq!(card["url"], echo.endpoint());
        assert!(card["protocolVersion"].as_str().is_some_and(|version| version.starts_with("0.3")));
    })
    .await;
}

/// What one ingress has served, the other knows.
#[tokio::test]
async fn d4_the_one_ingress_knows_the_card_that_the_other_has_served() {
    over(Binding::JsonRpc, async |client| {
        let [one, two] = each(&client.of("echo"));
        let (first, second) = (one.get(&path(&one)).await, two.get(&path(&two)).await);
        assert_eq!(first.text, second.text);
        assert_eq!(first.header("etag"), second.header("etag"));
        assert!(first.header("cache-control").contains("max-age="));
        assert!(first.header("last-modified").ends_with(" GMT"));
        let known = two.with("if-none-match", first.header("etag")).get(&path(&two)).await;
        assert_eq!((known.status, &*known.text), (304, ""));
        let stale = two.with("if-none-match", "\"another\"").get(&path(&two)).await;
        assert_eq!(stale.status, 200);
        let head = Raw::of(one.plain(Method::HEAD, &path(&one))).await;
        assert_eq!((head.status, &*head.text), (200, ""));
        assert_eq!(head.header("etag"), first.header("etag"));
        assert_eq!(Raw::of(one.plain(Method::POST, &path(&one))).await.status, 405);
    })
    .await;
}

/// D5 and D6: of a deployment that declares security and signs, too, both ingresses serve the same
/// bytes, for the signature's nonce is derived.
#[tokio::test]
async fn d5_d6_a_signed_card_is_the_same_from_both() {
    guarded(async |client| {
        let [one, two] = each(&client.of("echo"));
        let (first, second) = (one.get(&path(&one)).await, two.get(&path(&two)).await);
        assert_eq!(first.text, second.text);
        let card = first.json();
        let scheme = &card["securitySchemes"]["bearer"]["httpAuthSecurityScheme"]["scheme"];
        assert_eq!(scheme, "Bearer");
        assert_eq!(card["url"], Value::Null, "D8: what is signed has no members of 0.3");
    })
    .await;
}

/// D7: whoever is known learns more than the public card says, from either ingress and over either
/// binding, and keeps it to itself. That nobody else gets it is AUTH-SERVER-002's.
#[tokio::test]
async fn d7_the_extended_card_says_more_to_callers_who_are_known() {
    guarded(async |client| {
        let open = client.of("open");
        let public = open.get(&path(&open)).await.json();
        for ingress in each(&open) {
            let more = ingress.ask("GetExtendedAgentCard", &json!({})).await.unwrap();
            assert_eq!((&more["description"], &more["name"]), (&json!(MORE), &public["name"]));
            let skills: Vec<&Value> = list(&more["skills"]).iter().map(|s| &s["id"]).collect();
            assert!(skills.contains(&&json!("more")), "{skills:?}");
            assert!(list(&public["skills"]).iter().all(|skill| skill["id"] != "more"));
        }
        if client.binding == Binding::HttpJson {
            let answer = open.rest("GET", "/extendedAgentCard", "").await;
            assert!(answer.header("cache-control").contains("private"), "{answer:?}");
        }
        let refused = async |agent: &str| {
            client.of(agent).refused("GetExtendedAgentCard", &json!({})).await.reason
        };
        assert_eq!(refused("plain").await, "UNSUPPORTED_OPERATION");
        assert_eq!(refused("hollow").await, "EXTENDED_AGENT_CARD_NOT_CONFIGURED");
    })
    .await;
}
