//! The loop on both databases, with scripted models and real sandbox servers.

mod answers;
mod common;
mod durability;
mod limits;
