//! One port with several servers behind it, as a load balancer has it: **they take turns, a
//! connection each.**

use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::io::copy_bidirectional;
use tokio::net::{TcpListener, TcpStream};

/// Serves until the runtime ends, and returns the port's address.
pub(crate) async fn before(servers: Vec<String>) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let turn = AtomicUsize::new(0);
    tokio::spawn(async move {
        while let Ok((client, _)) = listener.accept().await {
            let server = &servers[turn.fetch_add(1, Ordering::Relaxed) % servers.len()];
            let server = server.trim_start_matches("http://").to_owned();
            tokio::spawn(pass(client, server));
        }
    });
    url
}

/// A connection that breaks is the affair of its two ends.
async fn pass(mut client: TcpStream, server: String) -> std::io::Result<()> {
    let mut server = TcpStream::connect(server).await?;
    client.set_nodelay(true)?;
    server.set_nodelay(true)?;
    copy_bidirectional(&mut client, &mut server).await?;
    Ok(())
}
