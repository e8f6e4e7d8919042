//! What this system asks of AWS, as small traits in its own words, with the AWS implementations.
//!
//! **The only crate besides `model` that links an AWS SDK**, one feature per service, so that no
//! function links a service that it does not use. The traits themselves need no feature.
//!
//! - [`objects::Objects`]: files that are written once. `s3::S3Objects` with feature `s3`.
//! - [`queues::Queues`]: messages that wake somebody. `sqs::SqsQueues` with feature `sqs`.
//!
//! Bodies, keys, bucket names, principals and signed addresses never reach an error: a service's own
//! text names them, so of its answer only status, code and request id are kept ([`Cause`]).

#[cfg(any(feature = "s3", feature = "sqs"))]
mod aws;
mod cause;
pub mod objects;
pub mod queues;
#[cfg(feature = "s3")]
pub mod s3;
#[cfg(feature = "sqs")]
pub mod sqs;

pub use cause::Cause;
