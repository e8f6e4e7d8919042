//! The real server, over real HTTP on the loopback interface. Numbers are those of the scenarios in
//! the sandbox's specification (`scenario_…`) and of the loop's (`t…`).

#[cfg(test)]
mod bootstrap;
#[cfg(test)]
mod capture;
#[cfg(test)]
mod commands;
#[cfg(test)]
mod ending;
#[cfg(test)]
mod fencing;
#[cfg(test)]
mod files;
#[cfg(test)]
mod hostile;
#[cfg(test)]
mod support;
