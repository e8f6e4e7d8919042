//! BIND-EQUIV-001 to 003: one table of requests, good and bad, over every binding and version that
//! has them, with equal outcomes.

use super::*;

/// What came of a request, with what the bindings frame differently taken away.
#[derive(Debug, Clone, PartialEq)]
enum Outcome {
    Answer(Value),
    Events(Vec<Value>),
    Refused { cause: Cause, message: Value, details: Value },
}

struct Row {
    what: &'static str,
    operation: Operation,
    params: String,
    rest: (Method, String, String),
    /// The same in 0.3: parameters, path and body.
    old: Option<(String, String, String)>,
    /// `None` is an answer.
    refused: Option<Cause>,
}

impl Row {
    fn refused(mut self, cause: Cause) -> Self {
        self.refused = Some(cause);
        self
    }

    /// In 0.3 over JSON-RPC, and over HTTP with the same path below `v1` and this body.
    fn old(mut self, params: &str, path: &str, body: &str) -> Self {
        self.old = Some((params.to_owned(), format!("/v1{path}"), body.to_owned()));
        self
    }

    fn old_method(&self) -> &'static str {
        use Operation as O;
        match self.operation {
            O::SendMessage => "message/send",
            O::SendStreamingMessage => "message/stream",
            O::GetTask => "tasks/get",
            O::CancelTask => "tasks/cancel",
            O::SubscribeToTask => "tasks/resubscribe",
            O::CreateTaskPushNotificationConfig => "tasks/pushNotificationConfig/set",
            O::GetTaskPushNotificationConfig => "tasks/pushNotificationConfig/get",
            O::ListTaskPushNotificationConfigs => "tasks/pushNotificationConfig/list",
            O::DeleteTaskPushNotificationConfig => "tasks/pushNotificationConfig/delete",
            O::GetExtendedAgentCard => "agent/getAuthenticatedExtendedCard",
            O::ListTasks => unreachable!("0.3 lists no tasks"),
        }
    }
}

fn row(
    what: &'static str,
    operation: Operation,
    params: &str,
    method: Method,
    path: &str,
    body: &str,
) -> Row {
    Row {
        what,
        operation,
        params: params.to_owned(),
        rest: (method, path.to_owned(), body.to_owned()),
        old: None,
        refused: None,
    }
}

/// A message of which the body is the same in both bindings.
fn send(what: &'static str, json: &str) -> [Row; 2] {
    [
        (Operation::SendMessage, "/message:send"),
        (Operation::SendStreamingMessage, "/message:stream"),
    ]
    .map(|(operation, path)| row(what, operation, json, Method::POST, path, json))
}

fn get(what: &'static str, operation: Operation, params: &str, path: &str) -> Row {
    row(what, operation, params, Method::GET, path, "")
}

fn post(what: &'static str, operation: Operation, params: &str, path: &str, body: &str) -> Row {
    row(what, operation, params, Method::POST, path, body)
}

fn message(more: &str) -> String {
    format!(
        r#"{{"message":{{"messageId":"m","role":"ROLE_USER","parts":[{{"text":"t"}}]{more}}}}}"#
    )
}

fn part(part: &str) -> String {
    format!(r#"{{"message":{{"messageId":"m","role":"ROLE_USER","parts":[{part}]}}}}"#)
}

fn configured(configuration: &str) -> String {
    message("").replacen('{', &format!(r#"{{"configuration":{configuration},"#), 1)
}

fn old_message(more: &str) -> [String; 2] {
    ["parts", "content"].map(|parts| {
        format!(
            r#"{{"message":{{"messageId":"m","role":"user","{parts}":[{{"text":"t"}}]{more}}},"configuration":{{"blocking":true}}}}"#
        )
    })
}

fn messages() -> Vec<Row> {
    let bad = Cause::InvalidParams;
    let with_old = |rows: [Row; 2], more: &str| {
        let [rpc, rest] = old_message(more);
        rows.map(|row| {
            let path = row.rest.1.clone();
            row.old(&rpc, &path, &rest)
        })
    };
    let good = [
        with_old(send("a text", &message("")), ""),
        with_old(
            send("ids", &message(r#","contextId":"c","taskId":"t""#)),
            r#","contextId":"c","taskId":"t""#,
        ),
        send("snake case", &message("").replace("messageId", "message_id")),
        send("a role by number", &message("").replace(r#""ROLE_USER""#, "1")),
        send("free JSON", &part(r#"{"data":{"timestamp":1.0,"n":9007199254740993}}"#)),
        send("data that is null", &part(r#"{"data":null,"text":null}"#)),
        send("bytes without padding", &part(r#"{"raw":"-_8"}"#)),
        send("unknown fields", &message(r#","kind":"message""#)),
        send("a length as text", &configured(r#"{"historyLength":"1"}"#)),
        send("a known tenant", &message("").replacen('{', r#"{"tenant":"acme","#, 1)),
    ];
    let refused = [
        with_old(send("an unknown task", &message(r#","taskId":"nope""#)), r#","taskId":"nope""#)
            .map(|row| row.refused(Cause::TaskNotFound)),
        with_old(
            send("a task that is over", &message(r#","taskId":"over""#)),
            r#","taskId":"over""#,
        )
        .map(|row| row.refused(Cause::UnsupportedOperation)),
        send("an unknown tenant", &message("").replacen('{', r#"{"tenant":"x","#, 1))
            .map(|row| row.refused(Cause::TaskNotFound)),
        send("nothing", "{}").map(|row| {
            let path = row.rest.1.clone();
            row.refused(bad).old("{}", &path, "{}")
        }),
        send("a list", "[]").map(|row| row.refused(bad)),
        send("no fields", r#"{"message":{}}"#).map(|row| row.refused(bad)),
        send("no parts", &part("")).map(|row| row.refused(bad)),
        send("an agent's message", &message("").replace("USER", "AGENT"))
            .map(|row| row.refused(bad)),
        send("two contents", &part(r#"{"text":"a","url":"b"}"#)).map(|row| row.refused(bad)),
        send("no content", &part("{}")).map(|row| row.refused(bad)),
        send("bad base64", &part(r#"{"raw":"*"}"#)).map(|row| row.refused(bad)),
        send("metadata in a list", &message(r#","metadata":[]"#)).map(|row| row.refused(bad)),
        send("a negative length", &configured(r#"{"historyLength":-1}"#))
            .map(|row| row.refused(bad)),
        send(
            "a bad webhook",
            &configured(r#"{"taskPushNotificationConfig":{"url":"u","token":"\n"}}"#),
        )
        .map(|row| row.refused(bad)),
    ];
    good.into_iter().chain(refused).flatten().collect()
}

fn tasks() -> Vec<Row> {
    use Operation::{CancelTask, GetTask, ListTasks, SubscribeToTask};
    let bad = Cause::InvalidParams;
    let id = |id: &str| format!(r#"{{"id":"{id}"}}"#);
    vec![
        get("a task", GetTask, &id("x"), "/tasks/x").old(&id("x"), "/tasks/x", ""),
        get("an escaped id", GetTask, &id("a/b c"), "/tasks/a%2Fb%20c"),
        get("no history", GetTask, r#"{"id":"x","historyLength":0}"#, "/tasks/x?historyLength=0"),
        get("a tenant's", GetTask, r#"{"id":"x","tenant":"acme"}"#, "/acme/tasks/x"),
        get("another's", GetTask, &id("nope"), "/tasks/nope")
            .old(&id("nope"), "/tasks/nope", "")
            .refused(Cause::TaskNotFound),
        get("an unknown tenant's", GetTask, r#"{"id":"x","tenant":"y"}"#, "/y/tasks/x")
            .refused(Cause::TaskNotFound),
        get(
            "no length",
            GetTask,
            r#"{"id":"x","historyLength":"one"}"#,
            "/tasks/x?historyLength=one",
        )
        .old(r#"{"id":"x","historyLength":"one"}"#, "/tasks/x?historyLength=one", "")
        .refused(bad),
        get(
            "a negative length",
            GetTask,
            r#"{"id":"x","historyLength":-1}"#,
            "/tasks/x?historyLength=-1",
        )
        .refused(bad),
        get("all", ListTasks, "{}", "/tasks"),
        get(
            "some",
            ListTasks,
            r#"{"contextId":"c","status":"TASK_STATE_WORKING","pageSize":7,"pageToken":"p","historyLength":1,"includeArtifacts":true,"statusTimestampAfter":"2026-09-21T14:13:20.123Z"}"#,
            "/tasks?contextId=c&status=TASK_STATE_WORKING&pageSize=7&pageToken=p&historyLength=1&includeArtifacts=true&statusTimestampAfter=2026-09-21T14:13:20.123Z",
        ),
        get(
            "by offset",
            ListTasks,
            r#"{"statusTimestampAfter":"2026-09-21T14:13:20+02:00"}"#,
            "/tasks?statusTimestampAfter=2026-09-21T14%3A13%3A20%2B02:00",
        ),
        get(
            "in any state",
            ListTasks,
            r#"{"status":"TASK_STATE_UNSPECIFIED"}"#,
            "/tasks?status=TASK_STATE_UNSPECIFIED",
        ),
        get("no state", ListTasks, r#"{"status":"FOO"}"#, "/tasks?status=FOO").refused(bad),
        get("an empty page", ListTasks, r#"{"pageSize":0}"#, "/tasks?pageSize=0").refused(bad),
        get("a large page", ListTasks, r#"{"pageSize":101}"#, "/tasks?pageSize=101").refused(bad),
        get(
            "no time",
            ListTasks,
            r#"{"statusTimestampAfter":"today"}"#,
            "/tasks?statusTimestampAfter=today",
        )
        .refused(bad),
        get("no truth", ListTasks, r#"{"includeArtifacts":"1"}"#, "/tasks?includeArtifacts=1")
            .refused(bad),
        get("twice", ListTasks, r#"{"pageSize":1,"pageSize":1}"#, "/tasks?pageSize=1&pageSize=1")
            .refused(bad),
        post("a cancel", CancelTask, &id("x"), "/tasks/x:cancel", "").old(
            &id("x"),
            "/tasks/x:cancel",
            "",
        ),
        post(
            "a cancel with a reason",
            CancelTask,
            r#"{"id":"x","metadata":{"why":1.0}}"#,
            "/tasks/x:cancel",
            r#"{"metadata":{"why":1.0}}"#,
        ),
        post("a cancel of another's", CancelTask, &id("nope"), "/tasks/nope:cancel", "{}")
            .old(&id("nope"), "/tasks/nope:cancel", "")
            .refused(Cause::TaskNotFound),
        post("a late cancel", CancelTask, &id("over"), "/tasks/over:cancel", "")
            .old(&id("over"), "/tasks/over:cancel", "")
            .refused(Cause::TaskNotCancelable),
        get("a subscription", SubscribeToTask, &id("x"), "/tasks/x:subscribe"),
        post("a posted subscription", SubscribeToTask, &id("x"), "/tasks/x:subscribe", "").old(
            &id("x"),
            "/tasks/x:subscribe",
            "",
        ),
        get("a subscription to another's", SubscribeToTask, &id("nope"), "/tasks/nope:subscribe")
            .refused(Cause::TaskNotFound),
        get("a late subscription", SubscribeToTask, &id("over"), "/tasks/over:subscribe")
            .refused(Cause::UnsupportedOperation),
    ]
}

fn webhooks() -> Vec<Row> {
    use Operation as O;
    let bad = Cause::InvalidParams;
    let at = |task: &str| format!("/tasks/{task}/pushNotificationConfigs");
    let create = |what, task: &str, config: &str| {
        let params = config.replacen('{', &format!(r#"{{"taskId":"{task}","#), 1);
        post(what, O::CreateTaskPushNotificationConfig, &params, &at(task), config)
    };
    let named = |operation, method: Method, task: &str| {
        let params = format!(r#"{{"taskId":"{task}","id":"c"}}"#);
        let old = format!(r#"{{"id":"{task}","pushNotificationConfigId":"c"}}"#);
        let path = format!("{}/c", at(task));
        row("a webhook", operation, &params, method, &path, "").old(&old, &path, "")
    };
    vec![
        create("a webhook", "x", r#"{"id":"c","url":"https://e.com"}"#).old(
            r#"{"taskId":"x","pushNotificationConfig":{"id":"c","url":"https://e.com"}}"#,
            &at("x"),
            r#"{"pushNotificationConfig":{"id":"c","url":"https://e.com"}}"#,
        ),
        create(
            "a webhook with secrets",
            "x",
            r#"{"url":"https://e.com","token":"t","authentication":{"scheme":"Bearer","credentials":"c"}}"#,
        ),
        create("a webhook of another's", "nope", r#"{"url":"https://e.com"}"#)
            .refused(Cause::TaskNotFound),
        create("a webhook nowhere", "x", r#"{"id":"c"}"#).refused(bad),
        create("a header in a token", "x", r#"{"url":"u","token":"a\r\nb"}"#).refused(bad),
        create("no scheme", "x", r#"{"url":"u","authentication":{}}"#).refused(bad),
        named(O::GetTaskPushNotificationConfig, Method::GET, "x"),
        named(O::GetTaskPushNotificationConfig, Method::GET, "nope").refused(Cause::TaskNotFound),
        get(
            "all webhooks",
            O::ListTaskPushNotificationConfigs,
            r#"{"taskId":"x","pageSize":0}"#,
            &format!("{}?pageSize=0", at("x")),
        )
        .old(r#"{"id":"x"}"#, &at("x"), ""),
        get(
            "a large page of webhooks",
            O::ListTaskPushNotificationConfigs,
            r#"{"taskId":"x","pageSize":101}"#,
            &format!("{}?pageSize=101", at("x")),
        )
        .refused(bad),
        named(O::DeleteTaskPushNotificationConfig, Method::DELETE, "x"),
        named(O::DeleteTaskPushNotificationConfig, Method::DELETE, "nope")
            .refused(Cause::TaskNotFound),
        get("the extended card", O::GetExtendedAgentCard, "{}", "/extendedAgentCard")
            .refused(Cause::ExtendedAgentCardNotConfigured),
        get(
            "an unknown tenant's card",
            O::GetExtendedAgentCard,
            r#"{"tenant":"x"}"#,
            "/x/extendedAgentCard",
        )
        .refused(Cause::TaskNotFound),
    ]
}

/// What came of it, and what the agent was asked.
async fn outcome(request: Request<Bytes>) -> (Outcome, Vec<String>) {
    let agent = Arc::new(Agent::streaming(vec![Ok(event(1)), Ok(event(2))]));
    let rpc = request.uri().path() == "/";
    let reply = ask(&agent, request).await;
    let asked = agent.asked.lock().unwrap().clone();
    let streams = reply.header("content-type") == "text/event-stream";
    let bodies: Vec<Value> = if streams {
        let data = reply.text.lines().filter_map(|line| line.strip_prefix("data: "));
        data.map(|json| serde_json::from_str(json).unwrap()).collect()
    } else {
        vec![reply.json()]
    };
    // Errors of 0.3 over HTTP are bare.
    let first = &bodies[0];
    let error = if first["data"].is_array() { first } else { &first["error"] };
    if error.is_object() {
        let details = if error["data"].is_array() { &error["data"] } else { &error["details"] };
        let cause = Cause::ALL.into_iter().find(|cause| details[0]["reason"] == cause.reason());
        let cause = cause.unwrap_or_else(|| panic!("{reply:?}"));
        let status = if rpc { cause.json_rpc_status() } else { cause.http_status() };
        assert_eq!(reply.status, status);
        let bare_or_rpc = rpc || first["data"].is_array();
        let status = i64::from(cause.http_status().as_u16());
        let code = if bare_or_rpc { i64::from(cause.code()) } else { status };
        assert_eq!(error["code"], code);
        let (message, details) = (error["message"].clone(), details.clone());
        return (Outcome::Refused { cause, message, details }, asked);
    }
    assert_eq!(reply.status, StatusCode::OK);
    let mut results =
        bodies.into_iter().map(|body| if rpc { body["result"].clone() } else { body });
    let outcome = if streams {
        Outcome::Events(results.collect())
    } else {
        Outcome::Answer(results.next().unwrap())
    };
    (outcome, asked)
}

#[tokio::test]
async fn bind_equiv_001_to_003_the_same_request_has_the_same_outcome_over_both_bindings() {
    let rows: Vec<Row> = messages().into_iter().chain(tasks()).chain(webhooks()).collect();
    assert!(rows.len() >= 40);
    for operation in Operation::ALL {
        assert!(rows.iter().any(|row| row.operation == operation), "{operation:?}");
    }
    for row in &rows {
        let what = format!("{}: {:?}", row.what, row.operation);
        let (method, path, body) = &row.rest;
        let (rpc, asked) = outcome(rpc(row.operation.name(), &row.params)).await;
        let (rest, also) = outcome(request(method.clone(), path, body)).await;
        assert_eq!(rpc, rest, "{what}");
        assert_eq!(asked, also, "{what}");
        assert_eq!(refusal(&rpc), row.refused, "{what}: {rpc:?}");
    }
}

fn refusal(outcome: &Outcome) -> Option<Cause> {
    match outcome {
        Outcome::Refused { cause, .. } => Some(*cause),
        Outcome::Answer(_) | Outcome::Events(_) => None,
    }
}

/// The same in 0.3, where the names of fields are others and the objects of an answer as well.
#[tokio::test]
async fn bind_equiv_002_and_003_hold_for_0_3_where_it_has_the_operation() {
    let rows = messages().into_iter().chain(tasks()).chain(webhooks());
    let mut compared = 0;
    for row in rows {
        let Some((params, path, body)) = &row.old else { continue };
        let what = format!("{}: {:?}", row.what, row.operation);
        let old = |mut request: Request<Bytes>| {
            request.headers_mut().remove("a2a-version");
            request
        };
        let (_, asked) = outcome(rpc(row.operation.name(), &row.params)).await;
        let (rpc, of_rpc) = outcome(old(rpc(row.old_method(), params))).await;
        let (rest, of_rest) = outcome(old(request(row.rest.0.clone(), path, body))).await;
        assert_eq!((&of_rpc, &of_rest), (&asked, &asked), "{what}");
        assert_eq!((refusal(&rpc), refusal(&rest)), (row.refused, row.refused), "{what}");
        if row.refused.is_some() {
            assert_eq!(rpc, rest, "{what}");
        }
        compared += 1;
    }
    assert!(compared >= 20, "{compared}");
}
