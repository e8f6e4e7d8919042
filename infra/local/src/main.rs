//! `cognition-local`: the same functions as on Lambda, in one process.

use std::process::ExitCode;

use clap::Parser as _;
use cognition_local::cli::Cli;
use cognition_local::screen::Screen;
use lambda_kit::env::Env;

#[tokio::main]
async fn main() -> ExitCode {
    match run(Cli::parse(), &Env::process()).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            Screen.error(&error);
            ExitCode::FAILURE
        }
    }
}

async fn run(cli: Cli, env: &Env) -> anyhow::Result<()> {
    lambda_kit::logging::init(&cli.log(env))?;
    cli.run(env, &Screen).await
}
