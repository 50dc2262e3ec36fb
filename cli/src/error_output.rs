//! Standard error. A terminal may take no more for hours, as after Ctrl-S, and that must stop no room: once one runs, a thread of its
//! own waits for the terminal.

use std::io::{self, IsTerminal, Write};
use std::sync::OnceLock;
use std::sync::mpsc::{SyncSender, sync_channel};
use std::thread;
use std::time::Duration;

/// How many texts wait for a terminal. What comes while it takes none is left out.
const MOST_WAITING: usize = 1024;

/// How long a program that ends waits for a terminal.
const LONGEST_WAIT: Duration = Duration::from_secs(1);

static TERMINAL: OnceLock<SyncSender<Print>> = OnceLock::new();

enum Print {
    Text(Vec<u8>),
    /// Everything before is printed.
    Done(SyncSender<()>),
}

/// From now on nobody who prints waits for a terminal. A file or a pipe loses nothing: whoever prints into it waits.
pub(crate) fn print_beside() {
    if !io::stderr().is_terminal() {
        return;
    }
    let (queue, prints) = sync_channel(MOST_WAITING);
    let prints = move || {
        for print in prints {
            match print {
                Print::Text(text) => print_now(&text),
                Print::Done(done) => drop(done.send(())),
            }
        }
    };
    if thread::Builder::new().name("terminal".into()).spawn(prints).is_ok() {
        drop(TERMINAL.set(queue));
    }
}

pub(crate) fn print(text: Vec<u8>) {
    match TERMINAL.get() {
        Some(queue) => drop(queue.try_send(Print::Text(text))),
        None => print_now(&text),
    }
}

/// Waits until all of it is printed, if the terminal takes it.
pub(crate) fn flush() {
    let Some(queue) = TERMINAL.get() else { return };
    let (done, printed) = sync_channel(1);
    if queue.try_send(Print::Done(done)).is_ok() {
        let _ = printed.recv_timeout(LONGEST_WAIT);
    }
}

/// Prints at the end, after all else, if the output takes it: whoever stops a program has stopped it.
pub(crate) fn print_last(print: impl FnOnce() + Send + 'static) {
    flush();
    let (done, printed) = sync_channel(1);
    let print = move || {
        print();
        let _ = done.send(());
    };
    if thread::Builder::new().name("farewell".into()).spawn(print).is_ok() {
        let _ = printed.recv_timeout(LONGEST_WAIT);
    }
}

fn print_now(text: &[u8]) {
    // It may be closed.
    drop(io::stderr().lock().write_all(text));
}
