//! A webhook: takes whatever is posted to it, and shows it in the order of its coming.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use serde_json::Value;
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Notify;

/// One notification.
#[derive(Debug, Clone)]
pub(crate) struct Posted {
    /// Method and path.
    pub(crate) line: String,
    /// By names in lower case.
    pub(crate) headers: BTreeMap<String, String>,
    pub(crate) body: Value,
}

/// A listener on the loopback address, which ends with the test's runtime.
#[derive(Debug, Clone)]
pub(crate) struct Receiver {
    url: String,
    state: Arc<State>,
}

#[derive(Debug, Default)]
struct State {
    posted: Mutex<Vec<Posted>>,
    /// What the next ones are answered with; then with 200.
    answers: Mutex<Vec<&'static str>>,
    came: Notify,
}

impl Receiver {
    pub(crate) async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/hook", listener.local_addr().unwrap());
        let state = Arc::new(State::default());
        let serving = Arc::clone(&state);
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(serve(stream, Arc::clone(&serving)));
            }
        });
        Self { url, state }
    }

    pub(crate) fn url(&self) -> &str {
        &self.url
    }

    /// The next ones are answered with these status lines, the last of the list first.
    pub(crate) fn answers(&self, lines: &[&'static str]) {
        self.state.answers.lock().unwrap().extend(lines);
    }

    pub(crate) fn posted(&self) -> Vec<Posted> {
        self.state.posted.lock().unwrap().clone()
    }

    /// Waits until what has been posted is as wanted, and returns it.
    pub(crate) async fn until(&self, wanted: impl Fn(&[Posted]) -> bool) -> Vec<Posted> {
        loop {
            let came = self.state.came.notified();
            let posted = self.posted();
            if wanted(&posted) {
                return posted;
            }
            came.await;
        }
    }
}

/// Requests on one connection, one after the other.
async fn serve(stream: TcpStream, state: Arc<State>) -> std::io::Result<()> {
    let mut stream = BufReader::new(stream);
    loop {
        let mut line = String::new();
        if stream.read_line(&mut line).await? == 0 {
            return Ok(());
        }
        let mut headers = BTreeMap::new();
        loop {
            let mut header = String::new();
            stream.read_line(&mut header).await?;
            let Some((name, value)) = header.trim_end().split_once(':') else { break };
            headers.insert(name.to_ascii_lowercase(), value.trim().to_owned());
        }
        let length = headers.get("content-length").map_or(0, |length| length.parse().unwrap());
        let mut body = vec![0; length];
        stream.read_exact(&mut body).await?;
        let line = line.trim_end().trim_end_matches(" HTTP/1.1").to_owned();
        let body = serde_json::from_slice(&body).unwrap_or_default();
        state.posted.lock().unwrap().push(Posted { line, headers, body });
        let answer = state.answers.lock().unwrap().pop().unwrap_or("200 OK");
        let answer = format!("HTTP/1.1 {answer}\r\ncontent-length: 0\r\n\r\n");
        stream.write_all(answer.as_bytes()).await?;
        state.came.notify_waiters();
    }
}
