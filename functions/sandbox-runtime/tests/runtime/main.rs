//! The real server, over real HTTP on the loopback interface. Numbers are those of the scenarios in
//! the sandbox's specification (`scenario_…`) and of the loop's (`t…`).

mod bootstrap;
mod capture;
mod commands;
mod ending;
mod fencing;
mod files;
mod hostile;
mod support;
