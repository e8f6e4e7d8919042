//! What a person sees.

#![expect(clippy::indexing_slicing, reason = "a JSON value gives null where there is nothing")]

use std::io::Write as _;
use std::path::Path;
use std::time::Duration;

use serde_json::Value;

use crate::demo::Deliverable;

/// The terminal.
#[derive(Debug, Clone, Copy, Default)]
pub struct Screen;

impl Screen {
    pub fn line(&self, text: &str) {
        // Nobody is left to tell when the terminal is gone.
        let _ = writeln!(std::io::stdout(), "  {text}");
    }

    pub fn heading(&self, text: &str) {
        let _ = writeln!(std::io::stdout(), "\n▸ {text}");
    }

    /// What a person should know and no program reads.
    pub fn warn(&self, text: &str) {
        let _ = writeln!(std::io::stderr(), "warning: {text}");
    }

    /// Why nothing came of it, with all causes and without where in the program.
    pub fn error(&self, error: &anyhow::Error) {
        let _ = writeln!(std::io::stderr(), "error: {error:#}");
    }

    /// One event of a task's stream.
    pub fn event(&self, at: Duration, event: &Value) {
        let text = describe(event);
        let _ = writeln!(std::io::stdout(), "  {:>7.3} s  {text}", at.as_secs_f64());
    }

    pub fn deliverable(&self, deliverable: &Deliverable, saved: &Path) {
        self.line(&format!(
            "{:<14} {:<16} {:>6} bytes  sha256 {}",
            deliverable.filename,
            deliverable.media_type,
            deliverable.bytes.len(),
            deliverable.sha256(),
        ));
        self.line(&format!("{:<14} saved as {}", "", saved.display()));
    }
}

fn describe(event: &Value) -> String {
    let state = |status: &Value| {
        let state = status["state"].as_str().unwrap_or_default();
        let message = status["message"]["parts"][0]["text"].as_str();
        let word = state.trim_start_matches("TASK_STATE_").to_lowercase();
        message.map_or(word.clone(), |message| format!("{word}: {message}"))
    };
    if let Some(task) = event.get("task") {
        let id = task["id"].as_str().unwrap_or_default();
        return format!("task {id} {}", state(&task["status"]));
    }
    if let Some(update) = event.get("statusUpdate") {
        return format!("status {}", state(&update["status"]));
    }
    let artifact = &event["artifactUpdate"]["artifact"];
    let part = &artifact["parts"][0];
    match part["text"].as_str() {
        Some("") if event["artifactUpdate"]["lastChunk"] == true => "text ends".to_owned(),
        Some(text) => format!("text {text:?}"),
        None => format!(
            "file {} ({}), {}",
            part["filename"].as_str().unwrap_or_default(),
            part["mediaType"].as_str().unwrap_or_default(),
            if part["url"].is_string() { "by a signed address" } else { "inline" },
        ),
    }
}
