//! Stories across the parts: one binary, one module per story.

#[cfg(test)]
mod a2a;
#[cfg(test)]
mod architecture;
#[cfg(test)]
mod cancel_anywhere;
#[cfg(test)]
mod clients;
#[cfg(test)]
mod conformance_agent;
#[cfg(test)]
mod events;
#[cfg(test)]
mod invoke;
#[cfg(test)]
mod killed_anywhere;
#[cfg(test)]
mod message_to_deliverable;
#[cfg(test)]
mod overtaken;
#[cfg(test)]
mod scopes;
#[cfg(test)]
mod support;
#[cfg(test)]
mod twice_and_in_any_order;
#[cfg(test)]
mod two_processes;
