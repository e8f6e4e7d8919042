//! `cognition-local`: the same functions as on Lambda, in one process.

use clap::Parser as _;
use cognition_local::cli::Cli;
use cognition_local::screen::Screen;
use lambda_kit::env::Env;

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let cli = Cli::parse();
    let env = Env::process();
    lambda_kit::logging::init(&cli.log(&env))?;
    cli.run(&env, &Screen).await
}
