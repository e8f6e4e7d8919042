//! Names to addresses, where the guard looks at each address before anybody connects to it.

use std::fmt;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use async_trait::async_trait;
use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use webhook::{Forbidden, Guard};

/// Where addresses come from: the system, or in tests a table.
#[async_trait]
pub trait Lookup: fmt::Debug + Send + Sync {
    async fn lookup(&self, name: &str) -> io::Result<Vec<IpAddr>>;
}

/// The resolver of the operating system.
#[derive(Debug, Clone, Copy)]
pub struct SystemLookup;

#[async_trait]
impl Lookup for SystemLookup {
    async fn lookup(&self, name: &str) -> io::Result<Vec<IpAddr>> {
        Ok(tokio::net::lookup_host((name, 0)).await?.map(|address| address.ip()).collect())
    }
}

/// **The connection goes to an address that was judged**: what the name means a moment later makes no
/// difference.
#[derive(Debug, Clone)]
pub(crate) struct Guarded {
    pub(crate) lookup: Arc<dyn Lookup>,
    /// Without one, every address is fine: for receivers that the operator has named.
    pub(crate) guard: Option<Guard>,
}

impl Resolve for Guarded {
    fn resolve(&self, name: Name) -> Resolving {
        let Self { lookup, guard } = self.clone();
        Box::pin(async move {
            let found = lookup.lookup(name.as_str()).await?;
            let permitted =
                |address: &IpAddr| guard.as_ref().is_none_or(|guard| guard.permits(*address));
            let usable: Vec<SocketAddr> =
                found.iter().copied().filter(permitted).map(|ip| (ip, 0).into()).collect();
            if usable.is_empty() && !found.is_empty() {
                return Err(Forbidden::Address.into());
            }
            Ok(Box::new(usable.into_iter()) as Addrs)
        })
    }
}
