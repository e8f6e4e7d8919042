//! A connection to PostgreSQL that breaks on plan: just before, or just after, a commit.
//!
//! **Every commit counts**: those of transactions, and those of single statements that write. The
//! proxy reads the protocol only as far as it must for that.

use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;
use url::Url;

/// When the connection breaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Cut {
    /// The server never hears of the commit.
    Before,
    /// The server has committed, and the client never hears of it.
    After,
}

/// Between a pool and its server.
#[derive(Debug)]
pub(crate) struct Proxy {
    url: String,
    plan: Arc<Mutex<Plan>>,
    accepting: JoinHandle<()>,
}

#[derive(Debug, Default)]
struct Plan {
    commits: usize,
    cut: Option<(usize, Cut)>,
}

impl Plan {
    /// Counts a commit; the cut that is planned for it.
    fn commit(&mut self) -> Option<Cut> {
        self.commits += 1;
        let (_, cut) = self.cut.filter(|(nth, _)| *nth == self.commits)?;
        self.cut = None;
        Some(cut)
    }
}

impl Proxy {
    /// Stands in front of the server that `url` names.
    pub(crate) async fn start(url: &str) -> Self {
        let mut url: Url = url.parse().unwrap();
        let server = SocketAddr::from((Ipv4Addr::LOCALHOST, url.port().unwrap()));
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
        url.set_port(Some(listener.local_addr().unwrap().port())).unwrap();
        let plan = Arc::new(Mutex::new(Plan::default()));
        let accepting = tokio::spawn(accept(listener, server, Arc::clone(&plan)));
        Self { url: url.to_string(), plan, accepting }
    }

    /// Where the server seems to be.
    pub(crate) fn url(&self) -> &str {
        &self.url
    }

    /// Plans to cut the connection around the `nth` commit from now on, counted from 1.
    pub(crate) fn plan(&self, nth: usize, cut: Cut) {
        *lock(&self.plan) = Plan { commits: 0, cut: Some((nth, cut)) };
    }

    /// Forgets the plan. Whether it was carried out.
    pub(crate) fn has_cut(&self) -> bool {
        lock(&self.plan).cut.take().is_none()
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}

fn lock(plan: &Mutex<Plan>) -> MutexGuard<'_, Plan> {
    plan.lock().unwrap_or_else(PoisonError::into_inner)
}

async fn accept(listener: TcpListener, server: SocketAddr, plan: Arc<Mutex<Plan>>) {
    while let Ok((client, _)) = listener.accept().await {
        let plan = Arc::clone(&plan);
        // An end of the connection is no news to anybody here.
        tokio::spawn(async move { drop(Connection::serve(client, server, &plan).await) });
    }
}

/// One connection, and how far it has come.
#[expect(
    clippy::struct_excessive_bools,
    reason = "what the wire has shown so far, independent of each other"
)]
struct Connection<'a> {
    client: TcpStream,
    server: TcpStream,
    plan: &'a Mutex<Plan>,
    /// What the client has sent and is not yet whole.
    asked: Vec<u8>,
    /// What the server has sent and is not yet whole.
    answered: Vec<u8>,
    started: bool,
    in_transaction: bool,
    /// A statement of its own was sent that writes; its `Sync` commits it.
    writes: bool,
    /// How many times the server must still say that it is ready.
    unready: usize,
    /// The client gets nothing more, and all ends when the server is ready.
    silent: bool,
}

/// Whether the connection goes on.
#[derive(PartialEq, Eq)]
enum Goes {
    On,
    Broken,
}

impl<'a> Connection<'a> {
    async fn serve(client: TcpStream, server: SocketAddr, plan: &'a Mutex<Plan>) -> io::Result<()> {
        let server = TcpStream::connect(server).await?;
        client.set_nodelay(true)?;
        server.set_nodelay(true)?;
        let mut this = Self {
            client,
            server,
            plan,
            asked: Vec::new(),
            answered: Vec::new(),
            started: false,
            in_transaction: false,
            writes: false,
            unready: 0,
            silent: false,
        };
        let (mut from_client, mut from_server) = (vec![0; 1 << 16], vec![0; 1 << 16]);
        loop {
            let goes = tokio::select! {
                read = this.client.read(&mut from_client), if !this.silent => match read? {
                    0 => return Ok(()),
                    read => this.ask(&from_client[..read]).await?,
                },
                read = this.server.read(&mut from_server) => match read? {
                    0 => return Ok(()),
                    read => this.answer(&from_server[..read]).await?,
                },
            };
            if goes == Goes::Broken {
                return Ok(());
            }
        }
    }

    /// Passes whole messages of the client on.
    async fn ask(&mut self, bytes: &[u8]) -> io::Result<Goes> {
        self.asked.extend_from_slice(bytes);
        while let Some(message) = whole(&mut self.asked, !self.started) {
            let commits = self.started && self.understand(&message);
            if !self.started {
                // The first message has no type; the server is ready when it has let us in.
                (self.started, self.unready) = (true, 1);
            }
            let cut = if commits { lock(self.plan).commit() } else { None };
            match cut {
                Some(Cut::Before) => return Ok(Goes::Broken),
                Some(Cut::After) => self.silent = true,
                None => {}
            }
            self.server.write_all(&message).await?;
        }
        Ok(Goes::On)
    }

    /// Reads a message of the client. True when the server commits on it.
    fn understand(&mut self, message: &[u8]) -> bool {
        match message[0] {
            b'Q' => {
                self.unready += 1;
                let sql = String::from_utf8_lossy(&message[5..]).to_lowercase();
                let ends = |how: &str| sql.starts_with(how);
                if ends("begin") {
                    self.in_transaction = true;
                } else if ends("commit") || ends("rollback") {
                    self.in_transaction = false;
                }
                ends("commit")
            }
            b'P' => {
                let name = message[5..].iter().position(|byte| *byte == 0).unwrap_or(0);
                let sql = String::from_utf8_lossy(&message[5 + name + 1..]);
                self.writes = !self.in_transaction && writes(&sql);
                false
            }
            b'S' => {
                self.unready += 1;
                std::mem::take(&mut self.writes)
            }
            _ => false,
        }
    }

    /// Passes the server's answers on, unless the client is not to hear of them.
    async fn answer(&mut self, bytes: &[u8]) -> io::Result<Goes> {
        self.answered.extend_from_slice(bytes);
        while let Some(message) = whole(&mut self.answered, false) {
            if message[0] == b'Z' {
                self.unready = self.unready.saturating_sub(1);
            }
        }
        if !self.silent {
            self.client.write_all(bytes).await?;
        } else if self.unready == 0 {
            return Ok(Goes::Broken);
        }
        Ok(Goes::On)
    }
}

/// Takes a whole message from the front, if there is one.
fn whole(bytes: &mut Vec<u8>, untyped: bool) -> Option<Vec<u8>> {
    let at = usize::from(!untyped);
    let length = u32::from_be_bytes(bytes.get(at..at + 4)?.try_into().ok()?);
    let end = at + usize::try_from(length).ok()?;
    (bytes.len() >= end).then(|| bytes.drain(..end).collect())
}

/// Whether a statement writes: its first word, after the comment that names it.
fn writes(sql: &str) -> bool {
    let mut lines = sql.lines().map(str::trim).filter(|line| !line.starts_with("--"));
    let first = lines.find(|line| !line.is_empty()).unwrap_or_default();
    ["insert", "update", "delete"].iter().any(|word| first.starts_with(word))
}
