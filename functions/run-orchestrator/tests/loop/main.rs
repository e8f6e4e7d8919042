//! The loop on both databases, with scripted models and real sandbox servers.

#[cfg(test)]
mod answers;
#[cfg(test)]
mod common;
#[cfg(test)]
mod crashes;
#[cfg(test)]
mod deadlines;
#[cfg(test)]
mod durability;
#[cfg(test)]
mod limits;
#[cfg(test)]
mod rig;
#[cfg(test)]
mod tools;
#[cfg(test)]
mod words;
