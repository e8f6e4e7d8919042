//! An S3 endpoint over a folder: the object store of a local run, spoken to by the same SDK as AWS.
//!
//! **What an answer has promised survives a kill**: an object appears by one rename, whole, with its
//! tags and headers, or not at all; nothing is visible before its checksums are verified.
//!
//! `s3s` speaks the protocol and checks signatures, expiry and tampering. The folder is ours, and
//! not that of `s3s-fs`, which cannot hold the publisher's keys (it makes one file name of a whole
//! key), shows an object before its checksum is compared, and looks and then writes where a
//! conditional put must be one step.
//!
//! What is there: buckets are made, looked at and listed; objects are put (whole, up to 64 MiB), read
//! (whole or a range), looked at, listed (version 2) and deleted; tags; lifecycle rules that expire
//! by tag, prefix and age, which [`LocalS3::expire`] carries out. All else answers `NotImplemented`.

mod convert;
mod expiry;
mod folder;
mod keys;
mod listing;
mod record;
mod server;
mod service;
mod upload;

use std::fmt;
use std::path::Path;
use std::sync::Arc;

use anyhow::{Context as _, Result};
use cloud::s3::{DEFAULT_PREFIX, S3Settings, StaticCredentials};
use domain::{Clock, Timestamp};
use s3s::auth::SimpleAuth;
use s3s::service::S3ServiceBuilder;
use tokio::net::TcpListener;

use folder::Folder;
use server::Server;
use service::Service;

/// The region that the endpoint answers for.
const REGION: &str = "us-east-1";

/// A running endpoint.
pub struct LocalS3 {
    folder: Arc<Folder>,
    server: Server,
    credentials: StaticCredentials,
}

impl LocalS3 {
    /// Serves the folder, which is made when it is not there, to whoever holds its credentials.
    /// Those are made once and stay in the folder, so that signed addresses outlive a restart.
    ///
    /// One process serves a folder; a second one is refused. Needs a runtime, on which it then serves.
    pub fn start(folder: &Path, listener: TcpListener, clock: Arc<dyn Clock>) -> Result<Self> {
        let folder = Arc::new(Folder::open(folder, clock).context("open the object folder")?);
        let credentials = keys::of(&folder).context("read the keys of the object folder")?;
        let mut service = S3ServiceBuilder::new(Service::new(Arc::clone(&folder)));
        service.set_auth(SimpleAuth::from_single(
            credentials.access_key.as_str(),
            credentials.secret_key.expose(),
        ));
        let server = Server::start(listener, service.build())?;
        Ok(Self { folder, server, credentials })
    }

    pub fn endpoint_url(&self) -> String {
        format!("http://{}", self.server.address())
    }

    pub fn credentials(&self) -> &StaticCredentials {
        &self.credentials
    }

    /// Makes the bucket if it is not there, and gives the settings by which a client reaches it.
    pub fn bucket(&self, name: &str) -> Result<S3Settings> {
        self.folder.make_bucket(name).context("make the bucket")?;
        Ok(S3Settings {
            bucket: name.to_owned(),
            prefix: DEFAULT_PREFIX.to_owned(),
            endpoint_url: Some(self.endpoint_url()),
            region: Some(REGION.to_owned()),
            force_path_style: true,
            credentials: Some(self.credentials.clone()),
        })
    }

    /// Removes the objects whose time is over by the lifecycle rules of their bucket, and says how
    /// many. S3 does this once a day; here it happens when it is called.
    pub fn expire(&self, now: Timestamp) -> Result<usize> {
        expiry::expire(&self.folder, now).context("expire objects")
    }

    /// Takes no more requests, and returns when those in progress are answered.
    pub async fn stop(self) {
        self.server.stop().await;
    }
}

impl fmt::Debug for LocalS3 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LocalS3").field("address", &self.server.address()).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
