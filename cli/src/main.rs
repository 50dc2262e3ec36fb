//! The `beekeeper` command.

mod arguments;
#[cfg(feature = "aws")]
mod aws;
mod commands;
mod data;
mod printer;
#[cfg(feature = "aws")]
mod stopgap;

use std::process::ExitCode;

use arguments::{Arguments, Command};
use clap::Parser;

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let ran = match arguments.command {
        Command::Local(local) => commands::local::run(&local),
        Command::Status(status) => commands::status::run(&status),
        Command::SetRate(set_rate) => commands::change::run(&set_rate.room, &set_rate.command()),
        Command::Message(message) => commands::change::run(&message.room, &message.command()),
        Command::Stretch(polls) => commands::change::run(&polls.room, &polls.command()),
        Command::Pause(room) => commands::change::run(&room, &server::control::Command::Pause),
        Command::On(room) => commands::change::run(&room, &server::control::Command::On),
        Command::Reset(reset) => commands::reset::run(&reset),
        Command::Deploy(deploy) => commands::deploy::run(&deploy),
        Command::Destroy(destroy) => commands::destroy::run(&destroy),
        Command::Off(room) => commands::change::run(&room, &server::control::Command::Off),
    };
    match ran {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) if printer::is_broken_pipe(&error) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            #[cfg(feature = "aws")]
            {
                if let Some(advice) = error.downcast_ref::<cloud::Trouble>().and_then(cloud::Trouble::advice)
                {
                    eprintln!("  {advice}");
                }
                ExitCode::from(aws::exit_code(&error))
            }
            #[cfg(not(feature = "aws"))]
            ExitCode::FAILURE
        }
    }
}
