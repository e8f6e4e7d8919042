//! From an API Gateway event to an HTTP request.

use http::HeaderMap;
use lambda_http::Request;
use lambda_http::request::LambdaRequest;

/// The request of an event, with every value of every header.
///
/// A REST API gives headers twice, once with the last value of each only; read together, the short
/// form would hide a header that came twice.
pub fn into_request(event: LambdaRequest) -> Request {
    all_headers(event).into()
}

/// The event with one form of its headers: the one that has them all.
pub fn all_headers(mut event: LambdaRequest) -> LambdaRequest {
    if let LambdaRequest::ApiGatewayV1(event) = &mut event
        && !event.multi_value_headers.is_empty()
    {
        event.headers = HeaderMap::new();
    }
    event
}
