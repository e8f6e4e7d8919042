use std::sync::Arc;
use std::time::Duration;

use testkit::{Database, eventually};
use tokio::io::copy_bidirectional;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio_postgres::config::{Host, SslMode};

use super::{Postgres, Target, Tls};
use crate::error::Error;
use crate::{Pool, params};

const LIMIT: Duration = Duration::from_secs(20);

#[track_caller]
fn tls(url: &str) -> Tls {
    Target::parse(url).unwrap().tls
}

#[test]
fn tls_is_used_when_the_url_requires_it() {
    assert_eq!(tls("postgres://u@h/d"), Tls::Off);
    assert_eq!(tls("postgres://u@h/d?sslmode=prefer"), Tls::Off);
    assert_eq!(tls("postgres://u@h/d?sslmode=disable"), Tls::Off);
    assert_eq!(tls("postgres://u@h/d?sslmode=require"), Tls::Verified { roots: None });
    let roots = Some("/a b.pem".to_owned());
    let url = "postgres://u@h/d?sslrootcert=%2Fa%20b.pem&sslmode=verify-full&connect_timeout=3";
    assert_eq!(tls(url), Tls::Verified { roots });
}

#[test]
fn a_url_keeps_its_other_parts() {
    let config = Target::parse("postgresql://u:p%40@h:7/d?application_name=me").unwrap().config;
    assert_eq!(config.get_user(), Some("u"));
    assert_eq!(config.get_password(), Some(b"p@".as_slice()));
    assert_eq!(config.get_hosts(), [Host::Tcp("h".to_owned())]);
    assert_eq!(config.get_ports(), [7]);
    assert_eq!(config.get_dbname(), Some("d"));
    assert_eq!(config.get_application_name(), Some("me"));
    assert_eq!(config.get_ssl_mode(), SslMode::Disable);
}

#[test]
fn a_url_that_cannot_be_read_is_refused_without_telling_it() {
    let error = Target::parse("postgres://u:secret@h:port/d").unwrap_err();
    assert!(!format!("{error:?} {error}").contains("secret"));
}

/// The error, with its causes, of a connection that must not come about.
async fn refused(url: &str) -> (Error, String) {
    let error = Postgres::connect(url, 1).await.err().unwrap();
    let mut text = error.to_string();
    let mut below = std::error::Error::source(&error);
    while let Some(source) = below {
        text = format!("{text}: {source}");
        below = source.source();
    }
    (error, text)
}

/// A person who reads it knows what to do, and who else reads it learns no name.
#[tokio::test]
async fn a_refused_connection_says_what_to_do_without_the_names() {
    let database = Database::empty_postgres().await;
    let (start, _) = database.url().split_once('?').unwrap_or((database.url(), ""));
    let (server, _) = start.rsplit_once('/').unwrap();
    let (error, text) = refused(&format!("{server}/canary")).await;
    assert!(matches!(error, Error::Refused(_)) && !error.is_retryable(), "{error:?}");
    assert_eq!(
        text,
        "connect to PostgreSQL: the database does not exist: create it first (createdb …) \
         (sqlstate 3D000)"
    );
    let (_, host) = server.rsplit_once('@').unwrap();
    let (error, text) = refused(&format!("postgres://canary:canary@{host}/postgres")).await;
    assert!(matches!(error, Error::Refused(_)), "{error:?}");
    assert!(text.contains("(sqlstate 28") && !text.contains("canary"), "{text}");
}

#[tokio::test]
async fn a_server_that_is_not_there_is_told_from_one_that_refuses() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    drop(listener);
    let (error, text) = refused(&format!("postgres://canary@127.0.0.1:{port}/canary")).await;
    assert!(error.is_retryable(), "{error:?}");
    assert!(text.starts_with("reach the database: nothing accepts connections there"), "{text}");
    assert!(!text.contains("canary"), "{text}");
}

#[tokio::test]
async fn a_connection_that_the_server_closed_is_replaced() {
    let database = Database::empty_postgres().await;
    let pool = Pool::connect(database.url(), 1).await.unwrap();
    let other = Pool::connect(database.url(), 1).await.unwrap();
    let row = pool.query_opt("select pg_backend_pid() as pid", &[]).await.unwrap().unwrap();
    let pid: i32 = row.get("pid").unwrap();
    let end = "select pg_terminate_backend($1) as ended";
    other.query(end, &params![pid]).await.unwrap();
    // It may be noticed only by the next statement, which then is worth another try.
    eventually(LIMIT, async || match pool.query("select 1 as one", &[]).await {
        Ok(_) => true,
        Err(error) => {
            assert!(matches!(error, Error::Unavailable(_)), "{error:?}");
            assert!(error.is_retryable());
            false
        }
    })
    .await;
}

#[tokio::test]
async fn a_transaction_whose_connection_breaks_fails_and_leaves_nothing() {
    let database = Database::empty_postgres().await;
    let pool = Pool::connect(database.url(), 1).await.unwrap();
    let other = Pool::connect(database.url(), 1).await.unwrap();
    other.execute("create table things (name text)", &[]).await.unwrap();
    // Several times, as it depends on when the client notices.
    for _ in 0..20 {
        let mut tx = pool.begin().await.unwrap();
        tx.execute("insert into things values ('a')", &[]).await.unwrap();
        let row = tx.query_opt("select pg_backend_pid() as pid", &[]).await.unwrap().unwrap();
        let pid: i32 = row.get("pid").unwrap();
        other.query("select pg_terminate_backend($1) as ended", &params![pid]).await.unwrap();
        let broken = tx.commit().await.unwrap_err();
        assert!(matches!(broken, Error::Unavailable(_)), "{broken:?}");
        assert_eq!(pool.query("select name from things", &[]).await.unwrap().len(), 0);
    }
}

/// A proxy whose connections, when told so, stay open and fall silent.
async fn proxy(server: String) -> (u16, watch::Sender<bool>) {
    let (silence, silent) = watch::channel(false);
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let server = Arc::new(server);
    tokio::spawn(async move {
        while let Ok((mut client, _)) = listener.accept().await {
            let (server, mut silent) = (Arc::clone(&server), silent.clone());
            silent.mark_unchanged();
            tokio::spawn(async move {
                let mut server = TcpStream::connect(server.as_str()).await.unwrap();
                tokio::select! {
                    _ = copy_bidirectional(&mut client, &mut server) => {}
                    _ = silent.changed() => std::future::pending().await,
                }
            });
        }
    });
    (port, silence)
}

#[tokio::test]
async fn a_rested_connection_that_no_longer_answers_is_replaced() {
    let database = Database::empty_postgres().await;
    let server = database.url().split(['@', '/']).nth(3).unwrap().to_owned();
    let (port, silence) = proxy(server.clone()).await;
    let url = database.url().replace(&server, &format!("127.0.0.1:{port}"));
    let postgres = Postgres::connect_with(&url, 1, Duration::ZERO).await.unwrap();
    postgres.run("select 1 as one", &[]).await.unwrap();
    silence.send(true).unwrap();
    let served = tokio::time::timeout(LIMIT, postgres.run("select 1 as one", &[])).await;
    served.expect("a new connection is made").unwrap();
}
