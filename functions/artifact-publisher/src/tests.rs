//! The handler on both engines, against sandboxes over real HTTP and object stores that behave or
//! fail on plan.

mod crashes;
mod faults;
mod guards;
mod logs;
mod real_runtime;
mod sandbox;
mod scene;
mod stories;
