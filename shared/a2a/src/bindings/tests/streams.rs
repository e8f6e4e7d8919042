//! Streams, and answers that take their time. Time is the test's own: it moves when all wait.

use super::*;

fn subscribe() -> [Request<Bytes>; 2] {
    [rpc("SubscribeToTask", r#"{"id":"t"}"#), request(Method::GET, "/tasks/t:subscribe", "")]
}

/// S1, S7.
#[tokio::test]
async fn events_carry_their_place_and_the_headers_let_them_through() {
    let agent = || Arc::new(Agent::streaming(vec![Ok(event(7)), Ok(event(8))]));
    let [rpc, rest] = subscribe();
    let (rpc, rest) = (ask(&agent(), rpc).await, ask(&agent(), rest).await);
    insta::assert_snapshot!(rpc.text, @r#"
    id: 7
    data: {"jsonrpc":"2.0","id":1,"result":{"statusUpdate":{"taskId":"t","contextId":"c","status":{"state":"TASK_STATE_COMPLETED"}}}}

    id: 8
    data: {"jsonrpc":"2.0","id":1,"result":{"statusUpdate":{"taskId":"t","contextId":"c","status":{"state":"TASK_STATE_COMPLETED"}}}}
    "#);
    insta::assert_snapshot!(rest.text, @r#"
    id: 7
    data: {"statusUpdate":{"taskId":"t","contextId":"c","status":{"state":"TASK_STATE_COMPLETED"}}}

    id: 8
    data: {"statusUpdate":{"taskId":"t","contextId":"c","status":{"state":"TASK_STATE_COMPLETED"}}}
    "#);
    for reply in [rpc, rest] {
        assert_eq!(reply.status, StatusCode::OK);
        assert_eq!(reply.header("content-type"), "text/event-stream");
        assert_eq!(reply.header("cache-control"), "no-store");
        assert_eq!(reply.header("x-accel-buffering"), "no");
        assert_eq!(reply.header("a2a-version"), "1.0");
    }
}

/// S5, kit 2.3.15: whether the operation or its first event fails.
#[tokio::test]
async fn an_error_before_the_first_event_is_an_ordinary_error() {
    for early in [true, false] {
        let agent = || {
            let error = A2aError::new(Cause::UnsupportedOperation);
            Arc::new(if early {
                Agent::failing(error)
            } else {
                Agent::streaming(vec![Err(error), Ok(event(1))])
            })
        };
        let [rpc, rest] = subscribe();
        let (rpc, rest) = (ask(&agent(), rpc).await, ask(&agent(), rest).await);
        assert_eq!((rpc.status, rpc.error().0), (StatusCode::OK, -32004));
        assert_eq!((rest.status, rest.error().0), (StatusCode::BAD_REQUEST, 400));
        assert_eq!(rpc.header("content-type"), "application/json");
        assert_eq!(rest.header("content-type"), "application/a2a+json");
    }
}

/// S5.
#[tokio::test]
async fn an_error_after_the_first_event_is_the_last_event() {
    let agent = || {
        Arc::new(Agent::streaming(vec![
            Ok(event(1)),
            Err(A2aError::internal("req-1")),
            Ok(event(2)),
        ]))
    };
    let [rpc, rest] = subscribe();
    let (rpc, rest) = (ask(&agent(), rpc).await, ask(&agent(), rest).await);
    let last = |reply: &Reply| reply.text.split("\n\n").nth(1).unwrap().to_owned();
    insta::assert_snapshot!(last(&rpc), @r#"data: {"jsonrpc":"2.0","id":1,"error":{"code":-32603,"message":"internal error","data":[{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"INTERNAL_ERROR","domain":"a2a-protocol.org","metadata":{"requestId":"req-1"}}]}}"#);
    insta::assert_snapshot!(last(&rest), @r#"
    event: error
    data: {"error":{"code":500,"status":"INTERNAL","message":"internal error","details":[{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"INTERNAL_ERROR","domain":"a2a-protocol.org","metadata":{"requestId":"req-1"}}]}}
    "#);
    assert_eq!(rpc.text.matches("\n\n").count(), 2);
    assert_eq!(rest.text.matches("\n\n").count(), 2);
}

#[tokio::test]
async fn the_last_seen_event_reaches_the_operation() {
    for (header, seen) in
        [("42", "Some(42)"), (" 7 ", "Some(7)"), ("", "None"), ("x", "None"), ("1.5", "None")]
    {
        let streaming = [
            rpc("SendStreamingMessage", TEXT_MESSAGE),
            request(Method::POST, "/message:stream", TEXT_MESSAGE),
        ];
        for mut request in subscribe().into_iter().chain(streaming) {
            request.headers_mut().insert("last-event-id", header.parse().unwrap());
            let agent = agent();
            ask(&agent, request).await;
            let asked = agent.asked.lock().unwrap();
            assert!(asked[0].ends_with(&format!("after {seen}")), "{asked:?}");
        }
    }
}

/// S6.
#[tokio::test(start_paused = true)]
async fn a_silent_stream_is_kept_open_by_comments() {
    for request in subscribe() {
        let mut agent = Agent::streaming(vec![Ok(event(1)), Ok(event(2))]);
        agent.takes = Duration::from_secs(50);
        let reply = ask(&Arc::new(agent), request).await;
        // The opening takes 50 s and so does each event: 100 s to the first, 50 s to the second.
        let events = reply.text.replace(": ping\n", "p");
        let lines: Vec<&str> = events.lines().filter(|line| !line.starts_with("data")).collect();
        assert_eq!(lines, ["pppppid: 1", "", "ppid: 2", ""], "{events}");
    }
}

/// What came when: seconds since the request, and the text.
async fn arrivals(agent: Agent, request: Request<Bytes>) -> (StatusCode, Vec<(u64, String)>) {
    let start = tokio::time::Instant::now();
    let path = request.uri().path().to_owned();
    let response = serve(Arc::new(agent), "alice", &profile(), &path, request).await;
    let status = response.status();
    let mut arrived = vec![(start.elapsed().as_secs(), "headers".to_owned())];
    match response.into_body() {
        Body::Full(bytes) => arrived.push((start.elapsed().as_secs(), text(&bytes))),
        Body::Stream(mut stream) => {
            while let Some(bytes) = stream.next().await {
                arrived.push((start.elapsed().as_secs(), text(&bytes)));
            }
        }
    }
    (status, arrived)
}

fn text(bytes: &[u8]) -> String {
    let text = std::str::from_utf8(bytes).unwrap();
    match serde_json::from_str::<Value>(text) {
        Ok(json) if json["error"].is_object() => "error".to_owned(),
        Ok(_) => "answer".to_owned(),
        Err(_) => text.to_owned(),
    }
}

fn at(arrivals: &[(u64, &str)]) -> Vec<(u64, String)> {
    arrivals.iter().map(|(second, text)| (*second, (*text).to_owned())).collect()
}

#[tokio::test(start_paused = true)]
async fn an_answer_that_takes_long_is_preceded_by_white_space() {
    for request in
        [rpc("SendMessage", TEXT_MESSAGE), request(Method::POST, "/message:send", TEXT_MESSAGE)]
    {
        let agent = Agent { takes: Duration::from_secs(65), ..Agent::default() };
        let (status, arrived) = arrivals(agent, request).await;
        assert_eq!(status, StatusCode::OK);
        let expected = [(20, "headers"), (20, "\n"), (40, "\n"), (60, "\n"), (65, "answer")];
        assert_eq!(arrived, at(&expected));
    }
    let agent = Agent { takes: Duration::from_secs(19), ..Agent::default() };
    let (_, arrived) = arrivals(agent, rpc("SendMessage", TEXT_MESSAGE)).await;
    assert_eq!(arrived, at(&[(19, "headers"), (19, "answer")]));
}

#[tokio::test(start_paused = true)]
async fn a_late_failure_goes_where_the_answer_would() {
    for request in
        [rpc("SendMessage", TEXT_MESSAGE), request(Method::POST, "/message:send", TEXT_MESSAGE)]
    {
        let agent =
            Agent { takes: Duration::from_secs(30), ..Agent::failing(A2aError::task_not_found()) };
        let (status, arrived) = arrivals(agent, request).await;
        assert_eq!(status, StatusCode::OK);
        assert_eq!(arrived, at(&[(20, "headers"), (20, "\n"), (30, "error")]));
    }
    let agent =
        Agent { takes: Duration::from_secs(1), ..Agent::failing(A2aError::task_not_found()) };
    let (status, _) = arrivals(agent, request(Method::POST, "/message:send", TEXT_MESSAGE)).await;
    assert_eq!(status, StatusCode::NOT_FOUND);
}

/// Nothing of a request outlives its response.
#[tokio::test(start_paused = true)]
async fn a_client_that_goes_away_ends_what_was_done_for_it() {
    for request in [rpc("SendMessage", TEXT_MESSAGE), subscribe()[0].clone()] {
        let mut agent = Agent::streaming(vec![Ok(event(1)), Ok(event(2))]);
        agent.takes = Duration::from_secs(30);
        let agent = Arc::new(agent);
        let response = serve(Arc::clone(&agent), "alice", &profile(), "/", request).await;
        assert_eq!(Arc::strong_count(&agent), 2);
        drop(response);
        assert_eq!(Arc::strong_count(&agent), 1);
    }
}
