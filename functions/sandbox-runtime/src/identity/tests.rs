use super::*;

const AUTH: &str = "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA";

fn payload() -> Value {
    let id = Uuid::nil();
    serde_json::json!({ "v": 1, "instance_id": id, "generation": 5, "auth": AUTH })
}

fn hook(payload: &Value) -> Vec<u8> {
    serde_json::json!({ "runHookPayload": payload.to_string() }).to_string().into_bytes()
}

fn instance(body: &[u8]) -> Result<Instance, Refusal> {
    Instance::from_hook(body, &Settings::from_pairs([]).unwrap())
}

#[test]
fn scenario_15_the_envelope_may_be_spelled_in_several_ways() {
    let text = instance(&hook(&payload())).unwrap();
    for body in [
        serde_json::json!({ "runHookPayload": payload() }),
        serde_json::json!({ "microvmId": "mvm-1", "runHookPayload": payload(), "later": [1] }),
    ] {
        let other = instance(body.to_string().as_bytes()).unwrap();
        assert_eq!(other.payload, text.payload);
    }
    let mut unknown = payload();
    unknown["later"] = 1.into();
    assert!(instance(&hook(&unknown)).is_ok());
}

#[test]
fn a_payload_that_is_not_whole_is_refused() {
    for (key, value) in [
        ("v", 2.into()),
        ("generation", (-1).into()),
        ("auth", "short".into()),
        ("instance_id", "1".into()),
        ("env", serde_json::json!({ "LD_PRELOAD": "x" })),
        ("workspace", serde_json::json!({ "mode": "elsewhere" })),
    ] {
        let mut bad = payload();
        bad[key] = value;
        assert!(instance(&hook(&bad)).is_err(), "{key}");
    }
    for bad in [&b""[..], b"{}", b"[]", br#"{"runHookPayload":"{"}"#] {
        assert!(instance(bad).is_err());
    }
}

#[test]
fn scenario_14_the_first_owner_stays() {
    let identity = Identity::default();
    assert_eq!(identity.instance().unwrap_err(), NOT_READY);
    identity.claim(instance(&hook(&payload())).unwrap()).unwrap();
    identity.claim(instance(&hook(&payload())).unwrap()).unwrap();
    let mut other = payload();
    other["auth"] = AUTH.replacen('A', "B", 1).into();
    let other = instance(&hook(&other));
    assert_eq!(identity.claim(other.unwrap()), Err(OTHER));
    assert!(identity.instance().unwrap().is_bearer(AUTH));
    identity.end();
    assert_eq!(identity.claim(instance(&hook(&payload())).unwrap()), Err(OVER));
}

#[test]
fn a_payload_lowers_caps_and_never_raises_them() {
    let mut given = payload();
    given["limits"] = serde_json::json!({ "max_execs": 2, "max_body_bytes": usize::MAX });
    let instance = instance(&hook(&given)).unwrap();
    assert_eq!(instance.limits.running, 2);
    assert_eq!(instance.max_body, sandbox_protocol::limits::MAX_BODY);
}

#[test]
fn an_instance_does_not_print_its_bearer() {
    assert!(!format!("{:?}", instance(&hook(&payload())).unwrap()).contains(AUTH));
}
