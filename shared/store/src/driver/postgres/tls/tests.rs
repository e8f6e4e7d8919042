//! Against the real server, with a proxy before it that speaks TLS.

use std::path::PathBuf;
use std::sync::Arc;

use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};
use tempfile::TempDir;
use testkit::Database;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, copy_bidirectional};
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::crypto::aws_lc_rs;
use tokio_rustls::rustls::pki_types::PrivateKeyDer;

use crate::Pool;
use crate::error::{Error, InvalidUrl};

/// What a client sends to ask for TLS: a length and a code.
const SSL_REQUEST: [u8; 8] = [0, 0, 0, 8, 4, 210, 22, 47];

/// A root certificate in a file, and a server that has one for `name` signed by it.
struct Proxy {
    port: u16,
    folder: TempDir,
}

impl Proxy {
    async fn before(database: &Database, name: &str) -> Self {
        let folder = TempDir::new().unwrap();
        let mut root = CertificateParams::new([]).unwrap();
        root.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let root_key = KeyPair::generate().unwrap();
        let pem = root.self_signed(&root_key).unwrap().pem();
        std::fs::write(folder.path().join("root.pem"), pem).unwrap();
        let root = Issuer::new(root, root_key);
        let key = KeyPair::generate().unwrap();
        let server = CertificateParams::new([name.to_owned()]).unwrap();
        let server = server.signed_by(&key, &root).unwrap();

        let key = PrivateKeyDer::try_from(key.serialize_der()).unwrap();
        let config = ServerConfig::builder_with_provider(Arc::new(aws_lc_rs::default_provider()))
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(vec![server.der().clone()], key)
            .unwrap();
        let acceptor = TlsAcceptor::from(Arc::new(config));
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let behind = address(database.url());
        tokio::spawn(async move {
            while let Ok((mut client, _)) = listener.accept().await {
                let mut asked = [0; 8];
                client.read_exact(&mut asked).await.unwrap();
                assert_eq!(asked, SSL_REQUEST, "the first word must not be in the clear");
                client.write_all(b"S").await.unwrap();
                // A client that does not trust us goes away here.
                let Ok(mut client) = acceptor.accept(client).await else { continue };
                let mut server = TcpStream::connect(&behind).await.unwrap();
                tokio::spawn(async move {
                    let _ = copy_bidirectional(&mut client, &mut server).await;
                });
            }
        });
        Self { port, folder }
    }

    fn root(&self) -> PathBuf {
        self.folder.path().join("root.pem")
    }

    /// The database's URL with the proxy in place of the server.
    fn url(&self, database: &Database, parameters: &str) -> String {
        let direct = address(database.url());
        let proxied = format!("127.0.0.1:{}", self.port);
        format!("{}?{parameters}", database.url().replace(&direct, &proxied))
    }
}

/// `host:port` of a URL.
fn address(url: &str) -> String {
    url.split(['@', '/']).nth(3).unwrap().to_owned()
}

#[tokio::test]
async fn a_required_session_is_encrypted_and_works() {
    let database = Database::empty_postgres().await;
    let proxy = Proxy::before(&database, "127.0.0.1").await;
    for mode in ["require", "verify-full"] {
        let parameters = format!("sslmode={mode}&sslrootcert={}", proxy.root().display());
        let pool = Pool::connect(&proxy.url(&database, &parameters), 1).await.unwrap();
        let mut tx = pool.begin().await.unwrap();
        let long = "x".repeat(1 << 20);
        let row = tx.query_opt("select $1 as long", &[long.as_str().into()]).await.unwrap();
        assert_eq!(row.unwrap().get::<String>("long").unwrap(), long);
        tx.commit().await.unwrap();
    }
}

#[tokio::test]
async fn a_server_that_no_root_vouches_for_is_refused() {
    let database = Database::empty_postgres().await;
    let proxy = Proxy::before(&database, "127.0.0.1").await;
    let stranger = Proxy::before(&database, "127.0.0.1").await;
    let parameters = format!("sslmode=require&sslrootcert={}", stranger.root().display());
    for parameters in [parameters.as_str(), "sslmode=require"] {
        let refused = Pool::connect(&proxy.url(&database, parameters), 1).await;
        assert!(matches!(refused, Err(Error::Unavailable(_))), "{refused:?}");
    }
}

#[tokio::test]
async fn a_server_with_a_certificate_for_another_name_is_refused() {
    let database = Database::empty_postgres().await;
    let proxy = Proxy::before(&database, "database.example").await;
    let parameters = format!("sslmode=require&sslrootcert={}", proxy.root().display());
    let refused = Pool::connect(&proxy.url(&database, &parameters), 1).await;
    assert!(matches!(refused, Err(Error::Unavailable(_))), "{refused:?}");
}

#[tokio::test]
async fn a_server_without_tls_is_refused_when_tls_is_required() {
    let database = Database::empty_postgres().await;
    let url = format!("{}?sslmode=require", database.url());
    assert!(Pool::connect(&url, 1).await.is_err());
}

#[tokio::test]
async fn roots_that_cannot_be_read_are_refused() {
    let url = "postgres://u@127.0.0.1/d?sslmode=require&sslrootcert=/no/such/file.pem";
    let refused = Pool::connect(url, 1).await;
    assert!(matches!(refused, Err(Error::Url(InvalidUrl::Certificates))), "{refused:?}");
}
