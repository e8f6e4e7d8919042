//! The HTTP front: what API Gateway does on AWS. It turns a request into the same event that a
//! Lambda function gets, hands it to the same handler, and streams the answer back.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::Arc;

use a2a::{A2aError, Cause};
use a2a_ingress::{Ingress, ResponseBody};
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use http_body_util::{BodyExt as _, Full, LengthLimitError, Limited};
use hyper::body::{Bytes, Incoming};
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto;
use hyper_util::server::graceful::GracefulShutdown;
use lambda_http::request::LambdaRequest;
use serde_json::{Map, Value, json};
use tokio::net::TcpListener;
use tokio::sync::watch;

/// The largest body that a Lambda function's event can carry, and so the largest one here.
const MAX_BODY_BYTES: usize = 6 * 1024 * 1024;

/// Serves until `stop` turns true, then lets the requests that are under way end.
pub async fn serve(listener: TcpListener, ingress: Arc<Ingress>, mut stop: watch::Receiver<bool>) {
    let graceful = GracefulShutdown::new();
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            _ = stop.wait_for(|stop| *stop) => break,
        };
        let Ok((stream, peer)) = accepted else { continue };
        // A small streamed chunk must not wait for the acknowledgement of the one before.
        let _ = stream.set_nodelay(true);
        let ingress = Arc::clone(&ingress);
        let service = service_fn(move |request| {
            let ingress = Arc::clone(&ingress);
            async move { Ok::<_, Infallible>(answer(&ingress, peer, request).await) }
        });
        let server = auto::Builder::new(TokioExecutor::new());
        let connection = server.serve_connection_with_upgrades(TokioIo::new(stream), service);
        let connection = graceful.watch(connection.into_owned());
        // The front is a server, not a function: its connections are its own tasks. A connection
        // that breaks is the client's affair.
        tokio::spawn(async move { drop(connection.await) });
    }
    drop(listener);
    let patience = std::time::Duration::from_secs(2);
    let _ = tokio::time::timeout(patience, graceful.shutdown()).await;
}

async fn answer(
    ingress: &Ingress,
    peer: SocketAddr,
    request: http::Request<Incoming>,
) -> http::Response<ResponseBody> {
    let (parts, body) = request.into_parts();
    let body = match Limited::new(body, MAX_BODY_BYTES).collect().await {
        Ok(body) => body.to_bytes(),
        Err(error) if error.is::<LengthLimitError>() => {
            return failed(A2aError::new(Cause::PayloadTooLarge));
        }
        Err(_) => return refused("the request's body broke off"),
    };
    if !is_text(&parts) {
        return refused("a header is not text");
    }
    let event = event(&parts, &body, peer);
    match serde_json::from_value::<LambdaRequest>(event) {
        Ok(event) => ingress.handle(a2a_ingress::event::into_request(event)).await,
        Err(_) => refused("the request cannot be put into an event"),
    }
}

/// Whether the headers can be put into an event, which carries text: two values that differ must not
/// become the same one.
fn is_text(parts: &http::request::Parts) -> bool {
    parts.headers.values().all(|value| std::str::from_utf8(value.as_bytes()).is_ok())
}

fn refused(why: &'static str) -> http::Response<ResponseBody> {
    failed(A2aError::because(Cause::InvalidRequest, why))
}

/// An answer that no function gave, in the shape of those that the gateway gives on AWS.
fn failed(error: A2aError) -> http::Response<ResponseBody> {
    let request_id = domain::Ids::random().uuid().to_string();
    error.of_request(request_id).response().map(|body| ResponseBody::new(Full::from(body)))
}

/// The event of a REST API with Lambda proxy integration.
fn event(parts: &http::request::Parts, body: &Bytes, peer: SocketAddr) -> Value {
    let mut single = Map::new();
    let mut multi: Map<String, Value> = Map::new();
    for (name, value) in &parts.headers {
        // API Gateway passes headers on as text.
        let value = String::from_utf8_lossy(value.as_bytes()).into_owned();
        single.insert(name.as_str().to_owned(), Value::from(value.clone()));
        push(&mut multi, name.as_str(), value);
    }
    let mut query = Map::new();
    let mut multi_query = Map::new();
    for (name, value) in url::form_urlencoded::parse(parts.uri.query().unwrap_or("").as_bytes()) {
        query.insert(name.clone().into_owned(), Value::from(value.clone().into_owned()));
        push(&mut multi_query, &name, value.into_owned());
    }
    let request_id = domain::Ids::random().uuid();
    json!({
        "resource": "/{proxy+}",
        "path": parts.uri.path(),
        "httpMethod": parts.method.as_str(),
        "headers": single,
        "multiValueHeaders": multi,
        "queryStringParameters": query,
        "multiValueQueryStringParameters": multi_query,
        "requestContext": {
            "requestId": request_id,
            "httpMethod": parts.method.as_str(),
            "path": parts.uri.path(),
            "stage": "$default",
            "identity": {"sourceIp": peer.ip().to_string()},
        },
        "body": BASE64_STANDARD.encode(body),
        "isBase64Encoded": true,
    })
}

fn push(multi: &mut Map<String, Value>, name: &str, value: String) {
    let values = multi.entry(name).or_insert_with(|| Value::Array(Vec::new()));
    if let Value::Array(values) = values {
        values.push(Value::from(value));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parts(headers: &[(&str, &[u8])]) -> http::request::Parts {
        let mut request = http::Request::builder().uri("/a%20b?x=1&x=%C3%A9&y");
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        request.body(()).unwrap().into_parts().0
    }

    #[test]
    fn an_event_has_every_value_of_headers_and_query() {
        let parts = parts(&[("x-a", b"1"), ("x-a", b"2")]);
        let event = event(&parts, &Bytes::from_static(b"\xff"), ([127, 0, 0, 1], 1).into());
        assert_eq!(event["multiValueHeaders"]["x-a"], json!(["1", "2"]));
        assert_eq!(event["multiValueQueryStringParameters"]["x"], json!(["1", "é"]));
        assert_eq!(event["path"], "/a%20b");
        assert_eq!(event["body"], "/w==");
    }

    /// Two values that differ must not become the same one on their way.
    #[test]
    fn a_header_that_is_not_text_is_noticed() {
        assert!(is_text(&parts(&[("x-cognition-scope-user", "Jäger".as_bytes())])));
        assert!(!is_text(&parts(&[("x-cognition-scope-user", b"J\xe4ger")])));
    }

    /// As on AWS, where the gateway answers alone.
    #[tokio::test]
    async fn what_is_too_large_is_refused_in_the_shape_of_every_error() {
        let response = failed(A2aError::new(Cause::PayloadTooLarge));
        assert_eq!(response.status(), 413);
        assert_eq!(response.headers()["content-type"], "application/json");
        let body = response.into_body().collect().await.unwrap().to_bytes();
        let mut body: Value = serde_json::from_slice(&body).unwrap();
        let sample = include_str!("../../../events/http/a2a-http-json-error-413.json");
        let sample: Value = serde_json::from_str(sample).unwrap();
        let id = |body: &mut Value| body["error"]["details"][0]["metadata"]["requestId"].take();
        assert!(id(&mut body).is_string());
        let mut expected = sample;
        id(&mut expected);
        assert_eq!(body, expected);
    }
}
