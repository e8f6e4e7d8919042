//! Stories across the parts: one binary, one module per story.

#[cfg(test)]
mod architecture;
#[cfg(test)]
mod clients;
#[cfg(test)]
mod events;
#[cfg(test)]
mod invoke;
#[cfg(test)]
mod support;
