//! Every statement of the nouns, on PostgreSQL and on SQLite.

#[cfg(test)]
mod admission;
#[cfg(test)]
mod common;
#[cfg(test)]
mod endings;
#[cfg(test)]
mod events;
#[cfg(test)]
mod history;
#[cfg(test)]
mod listing;
#[cfg(test)]
mod loop_log;
#[cfg(test)]
mod outbox;
#[cfg(test)]
mod publications;
#[cfg(test)]
mod runs;
#[cfg(test)]
mod sweeps;
#[cfg(test)]
mod tasks;
#[cfg(test)]
mod twins;
#[cfg(test)]
mod webhooks;
