//! `demo`: the main job, from a client's message to the files in the client's hands.

#![expect(clippy::indexing_slicing, reason = "a JSON value gives null where there is nothing")]

use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::{Context as _, bail};
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use domain::{Ids, Scope, TaskId};
use serde_json::Value;
use sha2::{Digest as _, Sha256};
use store::timings::{self, Part, Span};

use crate::client::Client;
use crate::screen::Screen;
use crate::system::System;

/// What the client asks for.
pub const REQUEST: &str =
    "Analyze sales of 10, 20 and 30 dollars. Give me a CSV and a useful downloadable report.";

/// A file as the client got it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Deliverable {
    pub filename: String,
    pub media_type: String,
    pub bytes: Vec<u8>,
    /// The digest that the server announced.
    pub announced: String,
}

impl Deliverable {
    pub fn sha256(&self) -> String {
        hex::encode(Sha256::digest(&self.bytes))
    }
}

/// Sends the request to a running system, shows the stream, and saves what was delivered.
pub async fn run(
    system: &System,
    text: &str,
    folder: &Path,
    screen: &Screen,
) -> anyhow::Result<()> {
    let card_url = format!("{}/a2a/analyst/.well-known/agent-card.json", system.url());
    let (client, card) = Client::discover(&card_url).await?;
    screen.heading(&format!("agent card: {}", card["name"].as_str().unwrap_or_default()));
    screen.heading(&format!("request: {text}"));
    let began = Instant::now();
    let mut task_id = String::new();
    let message_id = Ids::random().uuid().to_string();
    client
        .stream(&message_id, text, |event| {
            if let Some(id) = event["task"]["id"].as_str() {
                id.clone_into(&mut task_id);
            }
            screen.event(began.elapsed(), event);
            Ok(())
        })
        .await?;
    let task = client.get_task(&task_id).await?;
    let state = task["status"]["state"].as_str().unwrap_or_default();
    if state != "TASK_STATE_COMPLETED" {
        bail!("the task ended as {state}");
    }
    let deliverables = deliverables(&client, &task).await?;
    screen.heading("deliverables, fetched again with GetTask and verified");
    for deliverable in &deliverables {
        let saved = save(folder, deliverable)?;
        screen.deliverable(deliverable, &saved);
        if deliverable.sha256() != deliverable.announced {
            bail!("{} is not what was announced", deliverable.filename);
        }
    }
    if deliverables.is_empty() {
        bail!("nothing was delivered");
    }
    let task: TaskId = task_id.parse().context("read the task's id")?;
    let spans = timings::of_task(system.pool(), &Scope::empty().digest(), task).await?;
    screen.heading("where the time went");
    for line in summary(&spans) {
        screen.line(&line);
    }
    Ok(())
}

/// The files of a task, whichever way they travelled.
pub async fn deliverables(client: &Client, task: &Value) -> anyhow::Result<Vec<Deliverable>> {
    let mut found = Vec::new();
    for artifact in task["artifacts"].as_array().into_iter().flatten() {
        let Some(part) = artifact["parts"].get(0) else { continue };
        let bytes = if let Some(raw) = part["raw"].as_str() {
            BASE64_STANDARD.decode(raw)?
        } else if let Some(url) = part["url"].as_str() {
            client.download(url).await?
        } else {
            continue;
        };
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        found.push(Deliverable {
            filename: text(&part["filename"]),
            media_type: text(&part["mediaType"]),
            bytes,
            announced: text(&part["metadata"]["cognition"]["sha256"]),
        });
    }
    Ok(found)
}

fn save(folder: &Path, deliverable: &Deliverable) -> anyhow::Result<PathBuf> {
    std::fs::create_dir_all(folder)?;
    // A file name comes from the other side: only its last part, and never a way out.
    let name = Path::new(&deliverable.filename).file_name().context("a file without a name")?;
    let path = folder.join(name);
    std::fs::write(&path, &deliverable.bytes)
        .with_context(|| format!("save {}", path.display()))?;
    Ok(path)
}

/// A line per kind of part, with its share.
fn summary(spans: &[Span]) -> Vec<String> {
    let mut lines: Vec<(String, u32, i64)> = Vec::new();
    for span in spans {
        let name = match &span.part {
            Part::Queued => "queue".to_owned(),
            Part::Run => "run in all".to_owned(),
            Part::Model => "model".to_owned(),
            Part::Tool(tool) => format!("tool {tool}"),
        };
        let took = span.ended.as_micros() - span.began.as_micros();
        match lines.iter_mut().find(|(known, ..)| *known == name) {
            Some((_, count, total)) => {
                *count += 1;
                *total += took;
            }
            None => lines.push((name, 1, took)),
        }
    }
    lines
        .into_iter()
        .map(|(name, count, micros)| {
            format!("{name:<22} {count:>2} × in all {:>8.1} ms", seconds(micros) * 1000.0)
        })
        .collect()
}

/// A span of time that was counted in microseconds.
pub fn seconds(micros: i64) -> f64 {
    std::time::Duration::from_micros(micros.unsigned_abs()).as_secs_f64()
}
