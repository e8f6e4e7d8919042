//! What the stories share: a home for a system, its client, and a look into its database.
//!
//! - [`home`]: a data folder with agents, and what runs below it
//! - [`caller`]: an A2A client over real HTTP
//! - [`client`]: one that speaks both bindings, for the tests of the protocol
//! - [`pair`], [`relay`], [`cast`]: two ingresses behind one port, and the agents there
//! - [`book`]: what must hold of a task, as its rows tell
//! - [`stage`]: the handlers alone, with queues that the story delivers
//! - [`counting`]: an agent that shows whether something was done twice
//! - [`age`]: time that passes in the database
//! - [`receiver`]: a webhook
//! - [`proxy`]: a connection to PostgreSQL that breaks on plan
//! - [`life`]: the system as a process that can be killed
//! - [`chance`]: random numbers that come again

pub(crate) mod age;
pub(crate) mod book;
pub(crate) mod caller;
pub(crate) mod cast;
pub(crate) mod chance;
pub(crate) mod client;
pub(crate) mod counting;
pub(crate) mod home;
pub(crate) mod life;
pub(crate) mod pair;
pub(crate) mod proxy;
pub(crate) mod receiver;
pub(crate) mod relay;
pub(crate) mod stage;

use std::time::Duration;

/// What nothing takes that works, even on a busy machine.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

/// What the demo is asked for.
pub(crate) use cognition_local::demo::REQUEST;
