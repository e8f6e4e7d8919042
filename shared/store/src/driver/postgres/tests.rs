use tokio_postgres::config::{Host, SslMode};

use super::{Target, Tls};

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
