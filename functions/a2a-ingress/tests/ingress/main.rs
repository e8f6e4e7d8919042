//! The ingress as its clients meet it: events in, answers out, on both engines.

mod cards;
mod common;
mod messages;
mod reads;
mod streams;
