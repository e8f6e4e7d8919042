//! Where notifications never go, and what is never told (P6).

use std::collections::HashMap;
use std::io;
use std::net::TcpListener;
use std::sync::{Arc, Mutex};

use store::webhooks::dead_letters;
use testkit::on_both;
use tracing_subscriber::fmt::MakeWriter;

use super::receiver::Receiver;
use super::scene::{Names, Scene};

/// A name that leads to one of these addresses.
fn names(name: &str, addresses: &[&str]) -> Names {
    let addresses = addresses.iter().map(|address| address.parse().unwrap()).collect();
    Names(HashMap::from([(name.to_owned(), addresses)]))
}

async fn why(scene: &Scene) -> Vec<String> {
    let dead = dead_letters(&scene.pool, &scene.digest, scene.task).await.unwrap();
    dead.into_iter().map(|letter| letter.why).collect()
}

/// P6: whatever a name looks like, the address that it leads to is judged before anybody connects.
#[tokio::test]
async fn p6_a_name_that_leads_inside_is_never_connected_to() {
    on_both(async |pool| {
        let receiver = Receiver::start().await;
        let url = format!("https://rebind.example.com:{}/", receiver.port);
        for address in ["127.0.0.1", "::ffff:127.0.0.1", "169.254.169.254", "10.0.0.1", "::1"] {
            let scene = Scene::at(&pool, &url).await;
            let names = names("rebind.example.com", &[address]);
            scene.deliver(&scene.notifier_with("", names)).await;
            // At once, and without a second attempt.
            assert_eq!(why(&scene).await, ["forbidden", "forbidden"], "{address}");
        }
        assert_eq!(receiver.said(), Vec::<String>::new());
    })
    .await;
}

/// P6: of several addresses that a name leads to, only those that may be called are tried.
#[tokio::test]
async fn p6_an_inner_address_among_others_is_never_connected_to() {
    on_both(async |pool| {
        let inner = TcpListener::bind("127.0.0.1:0").unwrap();
        inner.set_nonblocking(true).unwrap();
        let url = format!("https://both.example.com:{}/", inner.local_addr().unwrap().port());
        let scene = Scene::at(&pool, &url).await;
        // Nobody listens at the one that is allowed.
        let names = names("both.example.com", &["127.0.0.1", "127.0.0.2"]);
        scene.deliver(&scene.notifier_with("127.0.0.2/32", names)).await;
        let nobody = inner.accept().map(drop).unwrap_err();
        assert_eq!(nobody.kind(), io::ErrorKind::WouldBlock);
        assert_eq!(why(&scene).await, Vec::<String>::new(), "it is tried again");
    })
    .await;
}

/// P6: a receiver that the operator has named is called wherever its name leads, at that port only.
#[tokio::test]
async fn p6_what_is_allowed_is_called() {
    on_both(async |pool| {
        let receiver = Receiver::start().await;
        let host = format!("hooks.internal:{}", receiver.port);
        let scene = Scene::at(&pool, &format!("http://{host}/")).await;
        let inside = || names("hooks.internal", &["127.0.0.1"]);
        scene.deliver(&scene.notifier_with(&host, inside())).await;
        assert_eq!(receiver.said().len(), 2);
        // The rules have changed since it was registered.
        scene.say("secret").await;
        scene.deliver(&scene.notifier_with("hooks.internal:1", inside())).await;
        assert_eq!(receiver.said().len(), 2);
        assert_eq!(why(&scene).await, ["forbidden"]);
    })
    .await;
}

/// P6: an answer that sends us elsewhere is no success, and nobody goes there.
#[tokio::test]
async fn p6_a_redirect_is_not_followed() {
    on_both(async |pool| {
        let (receiver, elsewhere) = (Receiver::start().await, Receiver::start().await);
        let scene = Scene::new(&pool, &receiver).await;
        for _ in 0..4 {
            receiver.redirect(&elsewhere.url());
            scene.deliver(&scene.notifier()).await;
            scene.later().await;
        }
        assert_eq!(elsewhere.said(), Vec::<String>::new());
        assert_eq!(why(&scene).await, ["redirected"]);
    })
    .await;
}

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
async fn no_log_line_and_no_row_holds_a_secret() {
    let log = Log::default();
    let subscriber = tracing_subscriber::fmt()
        .with_env_filter("trace,hyper=off,hyper_util=off,reqwest=off")
        .with_ansi(false)
        .with_writer(log.clone())
        .finish();
    let _second = tracing::Dispatch::new(tracing_subscriber::registry());
    let _guard = tracing::subscriber::set_default(subscriber);
    on_both(async |pool| {
        let receiver = Receiver::start().await;
        let scene = Scene::new(&pool, &receiver).await;
        receiver.answer(http::StatusCode::FORBIDDEN, 4);
        for _ in 0..4 {
            scene.deliver(&scene.notifier()).await;
            scene.later().await;
        }
        assert_eq!(why(&scene).await, ["refused"]);
        let rows = pool.query("select sealed, config_id, key_id from webhooks", &[]).await.unwrap();
        for row in rows {
            let sealed: Vec<u8> = row.get("sealed").unwrap();
            assert!(!sealed.windows(6).any(|bytes| bytes == b"canary"));
        }
        let printed = format!("{:?}", scene.notifier());
        assert!(!printed.contains("canary") && !printed.contains("AQEB"), "{printed}");
    })
    .await;
    let log = String::from_utf8(log.0.lock().unwrap().clone()).unwrap();
    assert!(log.contains("an update is given up: refused"), "{log}");
    let told = log.lines().find(|line| line.contains("canary"));
    assert_eq!(told, None);
}
