//! The `beekeeper` command.

mod arguments;
mod ask;
#[cfg_attr(not(feature = "aws"), path = "without_aws.rs")]
mod aws;
mod commands;
mod demonstration;
mod doctor_screen;
mod ending;
mod error_output;
mod exit;
mod find_room;
mod flags_file;
mod flags_first;
#[cfg(test)]
mod frozen;
mod local_greeting;
mod local_settings;
mod local_start;
mod log;
mod mistyped;
mod printer;
mod rehearsal_target;
mod room;
mod runtime;
mod service_room;
mod shop_services;
mod unreached;
mod version;
mod watch;

use std::env;
use std::process::ExitCode;

use anyhow::Result;
use arguments::{Arguments, Command};
use clap::error::ErrorKind;
use clap::{CommandFactory, FromArgMatches};
use commands::{
    admit, backup, change, close, completions, config, doctor, end, find, guard, health, history, init, keys,
    list, local, man, message, off, on, rehearse, release, report, reset, restore, set_rate, setup,
    simulate as simulate_command, status, undo,
};
use control::Order;
use exit::Exit;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    let mut command = Arguments::command().long_version(version::long());
    let (words, from_file) = match flags_file::expanded(&command, env::args_os().collect()) {
        Ok(expanded) => expanded,
        Err(failure) => {
            ending::complain(&failure.into(), wants_json());
            return Exit::Usage.into();
        }
    };
    let words = flags_first::flags_first(&command, words);
    let arguments =
        command.try_get_matches_from_mut(words).and_then(|found| Arguments::from_arg_matches(&found));
    let mut arguments = match arguments.map_err(|error| error.format(&mut command)) {
        Ok(arguments) => arguments,
        Err(error) => {
            let words = || env::args_os().skip(1).filter_map(|word| word.into_string().ok());
            let error = from_file.with_tip(message::with_tip(error, words()));
            return help_or_usage_error(&mistyped::with_tips(error, words()));
        }
    };
    match &mut arguments.command {
        Command::Local(local) => local.from_file = from_file,
        Command::Simulate(simulate) => simulate.from_file = from_file,
        _ => {}
    }
    let exit = match run(&arguments) {
        Ok(()) => Exit::Done,
        Err(error) if printer::is_broken_pipe(&error) => Exit::Done,
        Err(error) => {
            ending::complain(&error, arguments.json);
            ending::exit(&error)
        }
    };
    error_output::flush();
    exit.into()
}

fn run(arguments: &Arguments) -> Result<()> {
    let (json, yes) = (arguments.json, arguments.yes);
    let access_log = matches!(&arguments.command, Command::Local(local) if local.access_log);
    log::init(arguments.log.as_ref(), access_log)?;
    match &arguments.command {
        Command::Init(init) => init::run(init, json, yes),
        Command::List(list) => list::run(list, json),
        Command::Config(config) => config::run(config, json),
        Command::OnAws(command) => crate::aws::run(command, json, yes),
        Command::Doctor(examine) => doctor::run(examine, json),
        Command::Local(local) => local::run(local, json),
        Command::Simulate(simulate) => simulate_command::run(simulate, json),
        Command::Rehearse(rehearse) => rehearse::run(rehearse, json, yes),
        Command::Guard(guard) => guard::run(guard, json),
        Command::Setup(setup) => setup::run(setup, json, yes),
        Command::Health(check) => health::run(check, json),
        Command::Status(status) => status::run(status, json),
        Command::History(history) => history::run(history, json),
        Command::Report(report) => report::run(report, json),
        Command::On(on) => on::run(on, json, yes),
        Command::Pause(which) => change::run(which, json, Order::Pause),
        Command::Close(close) => close::run(close, json, yes),
        Command::End(end) => end::run(end, json, yes),
        Command::Off(which) => off::run(which, json, yes),
        Command::SetRate(set_rate) => set_rate::run(set_rate, json, yes),
        Command::Release(release) => release::run(release, json, yes),
        Command::Message(set) => message::run(set, json),
        Command::Mode(set) => change::asked(&set.which, json, yes, Order::Mode { mode: set.mode }),
        Command::Stretch(polls) => change::run(&polls.which, json, Order::Stretch { factor: polls.factor }),
        Command::Find(visitor) => find::run(visitor, json),
        Command::Admit(visitor) => admit::run(visitor, json),
        Command::Undo(which) => undo::run(which, json, yes),
        Command::Keys(keys) => keys::run(keys, json, yes),
        Command::Reset(which) => reset::run(which, json, yes),
        Command::Backup(backup) => backup::run(backup, json),
        Command::Restore(restore) => restore::run(restore, json, yes),
        Command::Completions(completions) => completions::run(completions),
        Command::Man(man) => man::run(man, json),
    }
}

/// Prints help, or what is wrong with the command line.
fn help_or_usage_error(error: &clap::Error) -> ExitCode {
    if wants_json() && error.use_stderr() {
        printer::complain_about_usage(error);
        return Exit::Usage.into();
    }
    if wants_json() && error.kind() == ErrorKind::DisplayVersion {
        // The output may be closed.
        drop(printer::say(&version::for_scripts().to_string()));
        return Exit::Done.into();
    }
    printer::explain(error);
    if error.use_stderr() { Exit::Usage.into() } else { Exit::Done.into() }
}

/// Whether a command line asks for JSON that may not be readable otherwise.
fn wants_json() -> bool {
    env::args_os().take_while(|argument| argument != "--").any(|argument| argument == "--json")
}
