//! Commands.

use std::time::Duration;

use uuid::Uuid;

use super::{CALL, Client, Error, transport};
use crate::exec::{ExecList, ExecStatus, KillExec, StartExec};

/// Whether a start started something.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Started {
    /// It did.
    New(ExecStatus),
    /// This id and body were known: no second process.
    Known(ExecStatus),
}

impl Started {
    pub fn into_status(self) -> ExecStatus {
        match self {
            Self::New(status) | Self::Known(status) => status,
        }
    }
}

impl Client {
    /// Starts a command. May be repeated with the same id and body, also by another owner.
    ///
    /// The id with another body, or one that was acknowledged, is refused as `conflict`.
    pub async fn exec_start(&self, id: Uuid, exec: &StartExec) -> Result<Started, Error> {
        let limit = super::files::transfer(exec.stdin_b64.as_ref().map_or(0, String::len) as u64);
        let request = self.request("PUT", &format!("/v1/execs/{id}"), limit)?;
        let reply = transport::send(transport::with_json(request, exec)?).await?;
        let new = reply.status().as_u16() == 201;
        let status = transport::reply(reply).await?;
        Ok(if new { Started::New(status) } else { Started::Known(status) })
    }

    /// Waits at most `wait` (the server: 25 seconds) for the command to end, and says how it is.
    /// Streams come from their beginning; see [`Client::exec_poll`].
    pub async fn exec_wait(&self, id: Uuid, wait: Duration) -> Result<ExecStatus, Error> {
        self.exec_poll(id, wait, 0, 0).await
    }

    /// Like [`Client::exec_wait`], with the streams from these offsets on.
    pub async fn exec_poll(
        &self,
        id: Uuid,
        wait: Duration,
        stdout_from: u64,
        stderr_from: u64,
    ) -> Result<ExecStatus, Error> {
        let wait_ms = wait.as_millis();
        let path = format!(
            "/v1/execs/{id}?wait_ms={wait_ms}&stdout_from={stdout_from}&stderr_from={stderr_from}"
        );
        transport::reply(transport::send(self.request("GET", &path, wait + CALL)?).await?).await
    }

    /// Ends a command, and what it left running. May be repeated.
    pub async fn exec_kill(&self, id: Uuid, kill: &KillExec) -> Result<ExecStatus, Error> {
        let limit = CALL + Duration::from_millis(kill.grace_ms.unwrap_or(2_000));
        self.json("POST", &format!("/v1/execs/{id}/kill"), limit, kill).await
    }

    /// Drops the record of a command that is over. The id can then never be used again.
    pub async fn exec_ack(&self, id: Uuid) -> Result<(), Error> {
        let request = self.request("DELETE", &format!("/v1/execs/{id}"), CALL)?;
        transport::success(transport::send(request).await?).await.map(drop)
    }

    /// The commands that are neither acknowledged nor forgotten, oldest first.
    pub async fn exec_list(&self) -> Result<ExecList, Error> {
        transport::reply(transport::send(self.request("GET", "/v1/execs", CALL)?).await?).await
    }
}
