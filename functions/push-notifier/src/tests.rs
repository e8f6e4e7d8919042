//! The notifier on real databases, and receivers that are real servers.
