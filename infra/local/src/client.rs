//! A small A2A client, over real HTTP: what `demo` and `bench` talk with.

#![expect(clippy::indexing_slicing, reason = "a JSON value gives null where there is nothing")]

use std::time::Duration;

use anyhow::{Context as _, bail};
use futures_util::StreamExt as _;
use serde_json::{Value, json};

/// One agent's JSON-RPC endpoint.
#[derive(Debug, Clone)]
pub struct Client {
    http: reqwest::Client,
    endpoint: String,
}

impl Client {
    /// Finds the endpoint in the agent's card.
    pub async fn discover(card_url: &str) -> anyhow::Result<(Self, Value)> {
        let http = reqwest::Client::builder().tcp_nodelay(true).build()?;
        let card: Value = serde_json::from_slice(
            &http.get(card_url).send().await?.error_for_status()?.bytes().await?,
        )?;
        let endpoint = card["supportedInterfaces"]
            .as_array()
            .into_iter()
            .flatten()
            .find(|interface| interface["protocolBinding"] == "JSONRPC")
            .and_then(|interface| interface["url"].as_str())
            .context("the card offers no JSON-RPC interface")?
            .to_owned();
        Ok((Self { http, endpoint }, card))
    }

    /// Sends a message and calls `each` with every event of its stream.
    pub async fn stream(
        &self,
        message_id: &str,
        text: &str,
        mut each: impl FnMut(&Value) -> anyhow::Result<()>,
    ) -> anyhow::Result<()> {
        let message = json!({
            "messageId": message_id, "role": "ROLE_USER", "parts": [{"text": text}],
        });
        let response = self.call("SendStreamingMessage", json!({ "message": message })).await?;
        let mut body = response.bytes_stream();
        let mut lines = Vec::new();
        while let Some(chunk) = body.next().await {
            lines.extend_from_slice(&chunk?);
            while let Some(end) = lines.iter().position(|byte| *byte == b'\n') {
                let line: Vec<u8> = lines.drain(..=end).collect();
                let Some(data) = line.strip_prefix(b"data:") else { continue };
                each(&result(serde_json::from_slice(data)?)?)?;
            }
        }
        Ok(())
    }

    /// The task as it is now.
    pub async fn get_task(&self, id: &str) -> anyhow::Result<Value> {
        let response = self.call("GetTask", json!({ "id": id })).await?;
        result(serde_json::from_slice(&response.bytes().await?)?)
    }

    /// Sends a message and waits for the task's end.
    pub async fn send(&self, message_id: &str, text: &str) -> anyhow::Result<Value> {
        let message = json!({
            "messageId": message_id, "role": "ROLE_USER", "parts": [{"text": text}],
        });
        let response = self.call("SendMessage", json!({ "message": message })).await?;
        let sent = result(serde_json::from_slice(&response.bytes().await?)?)?;
        sent.get("task").cloned().context("the answer holds no task")
    }

    /// Downloads what a signed address shows.
    pub async fn download(&self, url: &str) -> anyhow::Result<Vec<u8>> {
        let response = self.http.get(url).send().await?.error_for_status()?;
        Ok(response.bytes().await?.to_vec())
    }

    async fn call(&self, method: &str, params: Value) -> anyhow::Result<reqwest::Response> {
        let body = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
        let request = self
            .http
            .post(&self.endpoint)
            .header("content-type", "application/json")
            .header("a2a-version", "1.0")
            .timeout(Duration::from_mins(10))
            .body(body.to_string());
        Ok(request.send().await?.error_for_status()?)
    }
}

fn result(mut reply: Value) -> anyhow::Result<Value> {
    if let Some(error) = reply.get("error") {
        bail!("{} ({})", error["message"].as_str().unwrap_or("error"), error["code"]);
    }
    Ok(reply["result"].take())
}
