//! Fuzz targets: what strangers send, and what must hold of it whatever they send.
//!
//! **A target is a function of bytes that panics where a promise is broken**, and gives the same
//! answer for the same bytes. `tests/bounded` runs each on its corpus and on some thousand inputs
//! made of it, the same ones each time; `engine` gives the same functions to libFuzzer, which looks
//! for new paths for as long as one lets it (`make fuzz`).

#![expect(
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a broken promise is a panic here, as in a test"
)]

mod answer;
mod params;
mod sse;
mod targets;
mod world;

/// A target by its name, which is also that of its folder in `corpus`.
#[derive(Debug, Clone, Copy)]
pub struct Target {
    pub name: &'static str,
    /// Panics where a promise is broken.
    pub check: fn(&[u8]),
}

/// All targets.
pub const TARGETS: &[Target] = &[
    Target { name: "bindings", check: targets::bindings::check },
    Target { name: "card_settings", check: targets::card_settings::check },
    Target { name: "extensions", check: targets::extensions::check },
    Target { name: "headers", check: targets::headers::check },
    Target { name: "json_rpc", check: targets::json_rpc::check },
    Target { name: "page_tokens", check: targets::page_tokens::check },
    Target { name: "parts", check: targets::parts::check },
    Target { name: "rest", check: targets::rest::check },
    Target { name: "security_settings", check: targets::security_settings::check },
    Target { name: "sse_writer", check: targets::sse_writer::check },
    Target { name: "types", check: targets::types::check },
    Target { name: "v03", check: targets::v03::check },
    Target { name: "webhook_guard", check: targets::webhook_guard::check },
];

impl Target {
    /// The target of that name.
    pub fn named(name: &str) -> Option<Self> {
        TARGETS.iter().find(|target| target.name == name).copied()
    }
}
