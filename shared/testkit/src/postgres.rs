//! A throwaway PostgreSQL: one cluster per test process, one database per test.
//!
//! **Nothing of it outlives the test process, whatever ends that**: the kernel stops the server with
//! the thread that started it, and a small shell that waits for the end of a pipe removes the files.
//!
//! The binaries come from `$PG_BIN`, the `PATH`, Debian's folders, or the Python package that
//! `make test` installs below `target/tools` where there is nothing else.

mod binaries;
mod cluster;

use std::sync::OnceLock;
use std::thread;

use store::{Pool, migrations};
use tokio::sync::{mpsc, oneshot};

use cluster::Cluster;

/// What a new database holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Content {
    Nothing,
    /// The schema, without rows.
    Schema,
}

/// A database. It is dropped with this value.
#[derive(Debug)]
pub struct Name {
    database: String,
    port: u16,
    keeper: mpsc::UnboundedSender<Request>,
}

impl Name {
    pub fn url(&self) -> String {
        url(self.port, &self.database)
    }
}

impl Drop for Name {
    fn drop(&mut self) {
        let _ = self.keeper.send(Request::Drop(std::mem::take(&mut self.database)));
    }
}

/// Makes a database in this process's cluster, which is started by the first call.
///
/// # Panics
///
/// When there is no PostgreSQL on this machine, or it does not start; the message says what to do.
pub async fn create(content: Content) -> Name {
    let keeper = keeper();
    let (reply, answer) = oneshot::channel();
    let _ = keeper.send(Request::Create { content, reply });
    let made = answer.await.unwrap_or_else(|_| Err("the cluster's thread has ended".to_owned()));
    match made {
        Ok((database, port)) => Name { database, port, keeper: keeper.clone() },
        Err(why) => panic!("{why}"),
    }
}

fn url(port: u16, database: &str) -> String {
    format!("postgres://postgres@127.0.0.1:{port}/{database}")
}

#[derive(Debug)]
enum Request {
    Create { content: Content, reply: oneshot::Sender<Result<(String, u16), String>> },
    Drop(String),
}

/// The one thread that owns the cluster, until the process ends.
fn keeper() -> &'static mpsc::UnboundedSender<Request> {
    static KEEPER: OnceLock<mpsc::UnboundedSender<Request>> = OnceLock::new();
    KEEPER.get_or_init(|| {
        let (sender, receiver) = mpsc::unbounded_channel();
        let thread = thread::Builder::new().name("postgres-keeper".to_owned());
        thread.spawn(move || keep(receiver)).expect("a test process can start a thread");
        sender
    })
}

fn keep(mut requests: mpsc::UnboundedReceiver<Request>) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.expect("a test process can start a runtime");
    runtime.block_on(async {
        let keeper = Keeper::start().await;
        while let Some(request) = requests.recv().await {
            match request {
                Request::Create { content, reply } => {
                    let made = match &keeper {
                        Ok(keeper) => keeper.create(content).await,
                        Err(why) => Err(why.clone()),
                    };
                    let _ = reply.send(made);
                }
                Request::Drop(name) => {
                    if let Ok(keeper) = &keeper {
                        keeper.drop(&name).await;
                    }
                }
            }
        }
    });
}

/// The running cluster and a connection to its maintenance database.
struct Keeper {
    cluster: Cluster,
    admin: Pool,
    made: std::cell::Cell<u32>,
}

const TEMPLATE: &str = "migrated";

impl Keeper {
    async fn start() -> Result<Self, String> {
        let cluster = Cluster::start().await?;
        let admin = Pool::connect(&url(cluster.port(), "postgres"), 1).await.map_err(chain)?;
        let this = Self { cluster, admin, made: std::cell::Cell::new(0) };
        this.admin.execute(&format!("create database {TEMPLATE}"), &[]).await.map_err(chain)?;
        let template =
            Pool::connect(&url(this.cluster.port(), TEMPLATE), 1).await.map_err(chain)?;
        migrations::migrate(&template).await.map_err(chain)?;
        Ok(this)
    }

    async fn create(&self, content: Content) -> Result<(String, u16), String> {
        let number = self.made.get() + 1;
        self.made.set(number);
        let name = format!("test_{number}");
        let template = match content {
            Content::Nothing => "template1",
            Content::Schema => TEMPLATE,
        };
        let create = format!("create database {name} template {template}");
        self.admin.execute(&create, &[]).await.map_err(chain)?;
        Ok((name, self.cluster.port()))
    }

    /// Saves disk space only, so a failure does not matter.
    async fn drop(&self, name: &str) {
        let _ = self.admin.execute(&format!("drop database {name} with (force)"), &[]).await;
    }
}

fn chain(error: store::Error) -> String {
    format!("PostgreSQL for tests: {:#}", anyhow::Error::from(error))
}

#[cfg(test)]
mod tests;
