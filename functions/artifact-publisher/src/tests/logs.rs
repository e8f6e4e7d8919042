//! What the log tells, and what it does not.

use std::io;
use std::sync::{Arc, Mutex};

use cloud::objects::Doing;
use sandbox_protocol::ErrorCode;
use testkit::Database;
use testkit::objects::{FailingObjects, Fault};
use tracing_subscriber::fmt::MakeWriter;
use tracing_subscriber::fmt::format::FmtSpan;

use super::sandbox::Answer;
use super::scene::{RUNTIME_KEY, SCOPE_KEY, Scene, scope};

/// Keeps what is logged.
#[derive(Debug, Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl io::Write for Log {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl MakeWriter<'_> for Log {
    type Writer = Self;

    fn make_writer(&self) -> Self {
        self.clone()
    }
}

#[tokio::test]
async fn the_log_names_each_step_and_no_path_key_scope_or_word_of_the_sandbox() {
    let log = Log::default();
    let subscriber = tracing_subscriber::fmt()
        .with_max_level(tracing::Level::TRACE)
        .with_env_filter("trace,hyper=off,reqwest=off,hyper_util=off")
        .with_ansi(false)
        .with_span_events(FmtSpan::CLOSE)
        .with_writer(log.clone())
        .finish();
    // With only one subscriber in the process, tracing asks the thread that meets a span first
    // whether anybody listens, and keeps the answer; tests on other threads would say no.
    let _second = tracing::Dispatch::new(tracing_subscriber::registry());
    let _guard = tracing::subscriber::set_default(subscriber);

    let database = Database::sqlite().await;
    let mut scene = Scene::of(&database.pool(1).await, scope("canary-scope")).await;
    let published = scene.publish("canary/path.csv", "canary-bytes").await;
    assert!(scene.deliver(published, 1).await);
    for answer in [
        Answer::Refusal(ErrorCode::Internal),
        Answer::Refusal(ErrorCode::NotFound),
        Answer::Nonsense,
        Answer::HangUp,
    ] {
        scene.sandbox.put("canary/other.csv", answer);
        let publication = scene.request("canary/other.csv", "text/canary").await;
        scene.deliver(publication, 1).await;
        assert!(scene.deliver(publication, 4).await);
    }
    for (doing, fault) in [(Doing::Put, Fault::Denied), (Doing::Get, Fault::Corrupted)] {
        let failing = FailingObjects::new(Arc::clone(&scene.objects) as _);
        scene.publisher.objects = Arc::new(failing.always_failing(doing, fault));
        let publication = scene.publish("canary/more.csv", "canary-bytes").await;
        scene.deliver(publication, 1).await;
        assert!(scene.deliver(publication, 4).await);
    }

    let log = String::from_utf8(log.0.lock().unwrap().clone()).unwrap();
    for step in ["validate", "download", "hash", "upload", "verify", "manifest"] {
        assert!(log.contains(&format!("cognition.publication.{step}")), "{step}");
    }
    assert!(log.contains(r#"outcome="success""#) && log.contains(r#"outcome="error""#));
    assert!(log.contains("FILE_NOT_FOUND") && log.contains("VERIFICATION_FAILED"));
    let row = scene.row(published).await.unwrap();
    for secret in ["canary", "scopes/", row.sha256.as_str(), RUNTIME_KEY, SCOPE_KEY] {
        let told = log.lines().find(|line| line.contains(secret));
        assert_eq!(told, None, "{secret}");
    }
    assert!(!log.contains(scene.scope.digest().as_str()));
}
