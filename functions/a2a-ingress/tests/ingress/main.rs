//! The ingress as its clients meet it: events in, answers out, on both engines.

#[cfg(test)]
mod cancels;
#[cfg(test)]
mod cards;
#[cfg(test)]
mod common;
#[cfg(test)]
mod concealment;
#[cfg(test)]
mod contexts;
#[cfg(test)]
mod crashes;
#[cfg(test)]
mod listing;
#[cfg(test)]
mod messages;
#[cfg(test)]
mod reads;
#[cfg(test)]
mod replies;
#[cfg(test)]
mod streams;
#[cfg(test)]
mod webhooks;
