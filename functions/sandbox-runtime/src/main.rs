//! Starts the server; or, as `cog-sandboxd supervise`, the process that looks after one command.

use std::process::ExitCode;

use sandbox_runtime::config::Settings;
use sandbox_runtime::{server, supervisor};

fn main() -> ExitCode {
    if std::env::args_os().nth(1).is_some_and(|role| role == supervisor::ROLE) {
        return supervisor::supervise();
    }
    let served = Settings::from_pairs(std::env::vars_os()).map_err(server::Error::from);
    match served.and_then(|settings| server::serve(settings, Box::new(std::io::stderr()))) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            server::report(&error, &mut std::io::stderr());
            ExitCode::FAILURE
        }
    }
}
