//! The listener in front of the service.

use std::io;
use std::net::SocketAddr;

use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use s3s::service::S3Service;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

/// A listener and its connections. Dropping it stops the listener and lets the connections end by
/// themselves.
#[derive(Debug)]
pub(super) struct Server {
    address: SocketAddr,
    stopping: CancellationToken,
    accepting: JoinHandle<()>,
    connections: TaskTracker,
}

impl Server {
    pub(super) fn start(listener: TcpListener, service: S3Service) -> io::Result<Self> {
        let address = listener.local_addr()?;
        let stopping = CancellationToken::new();
        let connections = TaskTracker::new();
        let accepting =
            tokio::spawn(accept(listener, service, stopping.clone(), connections.clone()));
        Ok(Self { address, stopping, accepting, connections })
    }

    pub(super) const fn address(&self) -> SocketAddr {
        self.address
    }

    /// Returns when every request in progress is answered.
    pub(super) async fn stop(mut self) {
        self.stopping.cancel();
        let _ = (&mut self.accepting).await;
        self.connections.close();
        self.connections.wait().await;
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.stopping.cancel();
    }
}

async fn accept(
    listener: TcpListener,
    service: S3Service,
    stopping: CancellationToken,
    connections: TaskTracker,
) {
    loop {
        let stream = tokio::select! {
            () = stopping.cancelled() => return,
            accepted = listener.accept() => match accepted {
                Ok((stream, _)) => stream,
                Err(error) => {
                    // Out of descriptors, most likely: one closes sooner or later.
                    tracing::warn!("accept an S3 connection: {error}");
                    tokio::time::sleep(std::time::Duration::from_millis(50)).await;
                    continue;
                }
            },
        };
        connections.spawn(serve(stream, service.clone(), stopping.clone()));
    }
}

/// Serves one connection until the client closes it, or until its request is answered once the
/// server stops.
async fn serve(stream: TcpStream, service: S3Service, stopping: CancellationToken) {
    // Answers are small and must not wait for an acknowledgement.
    if let Err(error) = stream.set_nodelay(true) {
        tracing::debug!("set TCP_NODELAY: {error}");
    }
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .serve_connection(TokioIo::new(stream), service);
    let mut connection = std::pin::pin!(connection);
    let ended = tokio::select! {
        ended = connection.as_mut() => ended,
        () = stopping.cancelled() => {
            connection.as_mut().graceful_shutdown();
            connection.await
        }
    };
    if let Err(error) = ended {
        tracing::debug!("an S3 connection has ended: {error}");
    }
}
