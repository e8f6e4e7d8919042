//! The notifier on real databases, and receivers that are real servers.

mod attempts;
mod crashes;
mod guards;
mod receiver;
mod scene;
mod stories;
mod wire_03;
