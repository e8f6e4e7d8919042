//! What an A2A 1.0 server owes, requirement by requirement (issue "A2A 1.0 in full").
//!
//! **Each test runs on both bindings, on both engines, with two ingresses behind one port**, unless
//! it says otherwise. The letters and numbers in the names are those of the requirement list: D the
//! card, O the operations, S streams, P push notifications, B, V, X, T and E bindings, versions,
//! extensions, tenants and errors, A security.

mod bindings;
mod card;
mod musts;
mod operations;
mod push;
mod security;
mod streams;
mod versions;
