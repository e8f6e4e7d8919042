//! The targets. Each says what it promises.

pub(crate) mod bindings;
pub(crate) mod card_settings;
pub(crate) mod extensions;
pub(crate) mod headers;
pub(crate) mod json_rpc;
pub(crate) mod page_tokens;
pub(crate) mod parts;
pub(crate) mod rest;
pub(crate) mod security_settings;
pub(crate) mod sse_writer;
pub(crate) mod types;
pub(crate) mod v03;
pub(crate) mod webhook_guard;
