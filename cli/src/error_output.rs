//! Standard error. Whoever reads it may take no more for hours, as a terminal after Ctrl-S or a pager on a pipe, and that must stop no
//! room: once one runs, a thread of its own waits for the reader.

use std::fs::{File, FileType};
use std::io::{self, IsTerminal, Write};
use std::os::fd::AsFd;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::{Sender, SyncSender, channel, sync_channel};
use std::sync::{Arc, OnceLock};
use std::thread;
use std::time::Duration;

use document::words;

/// Clears the live line: back to its beginning, and nothing on it.
pub(crate) const CLEAR: &str = "\r\x1b[K";

/// How many bytes wait for whoever reads. What comes while they take none is left out.
const MOST_WAITING: usize = 8 << 20;

/// How long a program that ends waits for whoever reads.
const LONGEST_WAIT: Duration = Duration::from_secs(1);

static QUEUE: OnceLock<PrintQueue> = OnceLock::new();

struct PrintQueue {
    prints: Sender<Print>,
    backlog: Arc<PrintBacklog>,
}

enum Print {
    Text(Vec<u8>),
    /// Everything before is printed.
    Done(SyncSender<()>),
}

#[derive(Default)]
struct PrintBacklog {
    bytes: AtomicUsize,
    left_out: AtomicU64,
}

impl PrintQueue {
    fn start(print_now: impl Fn(&[u8]) + Send + 'static) -> io::Result<Self> {
        let (prints, queued) = channel();
        let backlog = Arc::new(PrintBacklog::default());
        let waits = Arc::clone(&backlog);
        let print_all = move || {
            for print in queued {
                match print {
                    Print::Text(text) => {
                        print_now(&text);
                        if waits.bytes.fetch_sub(text.len(), Ordering::Relaxed) == text.len() {
                            waits.tell_left_out(&print_now);
                        }
                    }
                    Print::Done(done) => drop(done.send(())),
                }
            }
        };
        thread::Builder::new().name("stderr".into()).spawn(print_all)?;
        Ok(Self { prints, backlog })
    }

    fn print(&self, text: Vec<u8>) {
        let PrintBacklog { bytes, left_out } = &*self.backlog;
        if bytes.load(Ordering::Relaxed) < MOST_WAITING {
            bytes.fetch_add(text.len(), Ordering::Relaxed);
            drop(self.prints.send(Print::Text(text)));
        } else if text.ends_with(b"\n") {
            // A live line is no loss.
            left_out.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Waits until all of it is printed, if somebody reads it.
    fn flush(&self) {
        let (done, printed) = sync_channel(1);
        if self.prints.send(Print::Done(done)).is_ok() {
            let _ = printed.recv_timeout(LONGEST_WAIT);
        }
    }
}

impl PrintBacklog {
    fn tell_left_out(&self, print_now: impl Fn(&[u8])) {
        let left_out = self.left_out.swap(0, Ordering::Relaxed);
        if left_out > 0 {
            let lines = words::things(left_out, "line");
            let told = format!("warning: left out {lines} here, because nobody was reading\n");
            print_now(&above_live_line(told.as_bytes()));
        }
    }
}

/// From now on nobody who prints waits for whoever reads it. A file loses nothing: whoever prints into it waits.
pub(crate) fn print_beside() {
    if file_type(&io::stderr()).is_some_and(|kind| kind.is_file()) {
        return;
    }
    if let Ok(queue) = PrintQueue::start(print_now) {
        drop(QUEUE.set(queue));
    }
}

pub(crate) fn print(text: Vec<u8>) {
    match QUEUE.get() {
        Some(queue) => queue.print(text),
        None => print_now(&text),
    }
}

/// Waits until all of it is printed, if somebody reads it.
pub(crate) fn flush() {
    if let Some(queue) = QUEUE.get() {
        queue.flush();
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

/// A text that clears the live line first.
pub(crate) fn above_live_line(text: &[u8]) -> Vec<u8> {
    let clear = if io::stderr().is_terminal() { CLEAR } else { "" };
    [clear.as_bytes(), text].concat()
}

/// What an output is, if the system tells.
pub(crate) fn file_type(output: &impl AsFd) -> Option<FileType> {
    let file = File::from(output.as_fd().try_clone_to_owned().ok()?);
    Some(file.metadata().ok()?.file_type())
}

fn print_now(text: &[u8]) {
    // It may be closed.
    drop(io::stderr().lock().write_all(text));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whoever_reads_again_is_told_how_much_they_missed() {
        let (printed, reader) = sync_channel::<Vec<u8>>(0);
        let queue = PrintQueue::start(move |text| drop(printed.send(text.to_vec()))).unwrap();
        queue.print(vec![b'x'; MOST_WAITING]);
        (0..1204).for_each(|_| queue.print(b"unread\n".to_vec()));
        queue.print(b"\rlive".to_vec());
        assert_eq!(reader.recv().unwrap().len(), MOST_WAITING);
        let told = String::from_utf8(reader.recv().unwrap()).unwrap();
        assert!(told.ends_with("warning: left out 1,204 lines here, because nobody was reading\n"), "{told}");
        queue.print(b"read\n".to_vec());
        assert_eq!(reader.recv().unwrap(), b"read\n");
    }
}
