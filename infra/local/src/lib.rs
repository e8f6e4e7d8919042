//! See README.md.

pub mod queues;
pub mod s3;
