//! What those who register webhooks and those who call them must agree on: which addresses may be
//! called, and how a webhook's record is kept.
//!
//! **No name is resolved and no connection made here.** A [`Guard`] judges what a client wrote down,
//! when it is registered and again when it is called; the caller asks it about each address that the
//! name turns out to have, before it connects (A2A §13.2).

mod address;
mod allow;
mod guard;
mod record;

pub use address::is_public;
pub use allow::{Allow, InvalidAllow};
pub use guard::{Forbidden, Guard, Target};
pub use record::{InvalidRecord, Place, Record, Unreadable};
