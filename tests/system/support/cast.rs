//! The agents that the tests of the protocol talk with.
//!
//! | agent | what it is for |
//! |---|---|
//! | `actor` | does what the first word that it knows says: ask, sign in, decline, reply, hand over |
//! | `echo` | repeats what it is told, and completes |
//! | `counter` | says twenty pieces of text, one after the other; a hundred when told to go on |
//! | `strict` | refuses media types that its card does not name |
//! | `plain` | neither streams, nor pushes, nor has an extended card |
//! | `hollow` | says that it has an extended card, and has none |
//! | `open` | has an extended card |
//! | `shared` | has two tenants, `acme` and `globex` |
//! | `extended` | knows one extension of the protocol |
//! | `demanding` | demands one |
//! | `hidden` | is not exposed |

use serde_json::{Value, json};

use super::home::Home;

pub(crate) const EXTENSION: &str = "https://example.com/extensions/timing/v1";
/// What the extended card of `open` says of it.
pub(crate) const MORE: &str = "Says more to those who are known.";
pub(crate) const REQUIRED: &str = "https://example.com/extensions/receipt/v1";

pub(crate) fn home() -> Home {
    let echo = json!([{"text": "You said: {{user.text}}"}]);
    let exposed = json!({"exposed": true});
    let tools = ["ask_client", "decline_task", "reply_directly", "conclude", "put_artifact"];
    let with_tools = json!({"exposed": true, "client_tools": tools});
    Home::new()
        .with_agent("actor", &with_tools, &actor())
        .with_agent("echo", &exposed, &echo)
        .with_agent("counter", &exposed, &counter())
        .with_agent(
            "strict",
            &json!({
                "exposed": true,
                "input_modes_policy": "enforce",
                "default_input_modes": ["text/plain", "application/json", "image/*"],
            }),
            &echo,
        )
        .with_agent(
            "plain",
            &json!({
                "exposed": true,
                "capabilities": {
                    "streaming": false,
                    "push_notifications": false,
                    "extended_agent_card": false,
                },
            }),
            &echo,
        )
        .with_agent(
            "hollow",
            &json!({"exposed": true, "capabilities": {"extended_agent_card": true}}),
            &echo,
        )
        .with_agent(
            "open",
            &json!({
                "exposed": true,
                "capabilities": {"extended_agent_card": true},
                "extended_card": {
                    "description": MORE,
                    "skills": [{"id": "more", "name": "More", "description": "Does more.",
                                "tags": ["more"]}],
                },
            }),
            &echo,
        )
        .with_agent("shared", &json!({"exposed": true, "tenants": ["acme", "globex"]}), &echo)
        .with_agent(
            "extended",
            &json!({"exposed": true, "extensions": [{"uri": EXTENSION, "required": false}]}),
            &echo,
        )
        .with_agent(
            "demanding",
            &json!({"exposed": true, "extensions": [{"uri": REQUIRED, "required": true}]}),
            &echo,
        )
        .with_agent("hidden", &json!({"exposed": false}), &echo)
}

fn counter() -> Value {
    let words =
        |count: usize| (1..=count).map(|n| format!("number {n:02}, ")).collect::<Vec<_>>().concat();
    json!([[
        {"when": {"last_user_contains": "go on"}, "text": words(100), "chunk": 11, "delay_ms": 100},
        {"text": words(20), "chunk": 11, "delay_ms": 20},
    ]])
}

fn actor() -> Value {
    let on = |word: &str, calls: Value| json!({"when": {"last_user_contains": word}, "tool_calls": calls});
    let put = |args: Value| json!({"name": "put_artifact", "args": args});
    json!([
        [
            on("ask", json!([{"name": "ask_client", "args": {"question": QUESTION}}])),
            on("sign in", json!([{
                "name": "ask_client",
                "args": {"question": SIGN_IN, "need": "authorization"},
            }])),
            on("decline", json!([{"name": "decline_task", "args": {"reason": "Not my business."}}])),
            on("reply", json!([{"name": "reply_directly", "args": {"text": "A plain answer."}}])),
            on("hand over", json!([
                put(json!({"artifact_id": "words", "name": "words", "text": "one ", "last_chunk": false})),
                put(json!({"artifact_id": "words", "text": "two", "append": true})),
                put(json!({"name": "table", "data": {"rows": [1, 2.50, null]}})),
                put(json!({"name": "page", "url": "https://example.com/page", "media_type": "text/html"})),
            ])),
            {"text": "Done."},
        ],
        {"text": "Handed over."},
    ])
}

/// What the actor asks its client.
pub(crate) const QUESTION: &str = "Which one shall it be?";
/// What it says when it needs an authorization.
pub(crate) const SIGN_IN: &str = "Sign in to the calendar, at the address that you know.";
