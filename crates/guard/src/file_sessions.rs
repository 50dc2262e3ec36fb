//! Live sessions in memory and in a file, so that one process remembers them when it starts again.

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread::{self, JoinHandle};

use parking_lot::Mutex;

use crate::live_sessions::Keeping;
use crate::{
    Exchange, LiveSession, LiveSessions, MemorySessions, OneSession, Opening, SessionCounts, SessionId,
    SessionsFault,
};

/// A line for each session that was opened, renewed or ended: `SUBJECT ID PASS OPENED UNTIL EXCHANGED BROWSER WINDOW ENDED`. The last
/// line of a subject counts. `EXCHANGED` and `BROWSER` are fingerprints. One of the last four words is `-` if there is none; lines of
/// older guards end before them. The file is written anew, without old lines, when it is opened, when it has grown to twice its size,
/// and once a minute after a write that failed, as on a full disk, so that no line is missing when there is space again. No visitor
/// waits for that: a thread writes the new file beside the old one, which goes on until that is in its place.
///
/// Lines are not synced to disk one by one. A power cut loses the latest, and then the visitors' cookies prove their
/// sessions, as after the loss of the whole file.
#[derive(Debug)]
pub struct FileSessions {
    sessions: Arc<MemorySessions>,
    file: Arc<Mutex<SessionFile>>,
}

#[derive(Debug)]
struct SessionFile {
    path: PathBuf,
    lines: File,
    written: usize,
    /// After how many lines the file is written anew.
    limit: usize,
    /// Whether a write failed since the file was written anew.
    fails: bool,
    /// When a thread last began to write the file anew.
    begun: Option<u64>,
    /// The lines since a thread began to write the file anew. They end the new file.
    meanwhile: Option<String>,
    thread: Option<JoinHandle<()>>,
}

/// A whole file that does not have its name yet.
#[derive(Debug)]
struct SessionsBeside {
    path: PathBuf,
    lines: File,
    written: usize,
}

impl FileSessions {
    /// Reads the file, or creates it. A line that was not written to its end is ignored.
    ///
    /// A full disk takes no new file, and must not keep the guard from starting. Then the old file goes on.
    pub fn open(path: &Path, now: u64) -> io::Result<Self> {
        let sessions = MemorySessions::default();
        let bytes = match fs::read(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Vec::new(),
            read => read?,
        };
        // A power cut may leave anything at the end.
        let whole = bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |last| last + 1);
        let text = String::from_utf8_lossy(&bytes[..whole]);
        let unread = restore(&text, &sessions);
        if unread > 0 {
            tracing::warn!(
                "could not read {unread} of the lines in {}; perhaps a newer guard wrote them. Nobody is logged out, but a session that was ended \
                 there may go on",
                path.display()
            );
        }
        let anew = SessionsBeside::write(path, &sessions, now).and_then(|anew| anew.into_place(path, ""));
        let file = anew.or_else(|error| {
            let as_it_is = SessionFile::as_it_is(path, whole as u64, text.lines().count());
            let Ok(as_it_is) = as_it_is else { return Err(error) };
            let (error, path) = (&error as &dyn std::error::Error, path.display());
            tracing::warn!(
                error,
                "could not write {path} anew; the guard goes on with the file as it is, and tries again when it has grown. If the disk is \
                 full, free some space"
            );
            io::Result::Ok(as_it_is)
        })?;
        Ok(Self { sessions: Arc::new(sessions), file: Arc::new(Mutex::new(file)) })
    }

    /// Writes what is in memory then, so that the last line is the latest, whichever of two requests comes to write first. Not on a thread
    /// that answers requests: while a disk stalls, nobody else would be answered.
    async fn write(&self, subject: &str, now: u64) {
        let (sessions, file, subject) = (self.sessions.clone(), self.file.clone(), subject.to_owned());
        let write = move || SessionFile::write(&file, &sessions, &subject, now);
        drop(tokio::task::spawn_blocking(write).await);
    }

    /// Waits until the file is written anew, if it is just being.
    fn finish(&self) {
        let thread = self.file.lock().thread.take();
        drop(thread.map(JoinHandle::join));
    }
}

/// Whoever opens the file next must not find another one put in its place.
impl Drop for FileSessions {
    fn drop(&mut self) {
        self.finish();
    }
}

impl SessionsBeside {
    /// Writes a new file beside the old one.
    fn write(path: &Path, sessions: &MemorySessions, now: u64) -> io::Result<Self> {
        let kept: Vec<_> = sessions
            .all()
            .into_iter()
            .filter(|(_, session)| now < session.until.saturating_add(MemorySessions::REMEMBERED))
            .collect();
        let beside = path.with_extension("new");
        let write = || {
            let mut private = OpenOptions::new();
            private.write(true).create(true).truncate(true).mode(0o600);
            let mut lines = BufWriter::new(private.open(&beside)?);
            for (subject, session) in &kept {
                lines.write_all(line(subject, session).as_bytes())?;
            }
            lines.into_inner().map_err(io::IntoInnerError::into_error)?.sync_all()?;
            OpenOptions::new().append(true).open(&beside)
        };
        // Half a file would hold the last space of a full disk.
        let lines = write().inspect_err(|_| drop(fs::remove_file(&beside)))?;
        Ok(Self { path: beside, lines, written: kept.len() })
    }

    /// Puts it in the place of the old one, which has these lines since.
    fn into_place(self, path: &Path, since: &str) -> io::Result<SessionFile> {
        let Self { path: beside, mut lines, written } = self;
        let replaced = lines.write_all(since.as_bytes()).and_then(|()| fs::rename(&beside, path));
        replaced.inspect_err(|_| drop(fs::remove_file(&beside)))?;
        Ok(SessionFile::new(path, lines, written + since.lines().count(), 2 * written))
    }
}

impl SessionFile {
    /// The old file, with so many lines, as far as they are whole: what follows was not written to its end.
    fn as_it_is(path: &Path, whole: u64, written: usize) -> io::Result<Self> {
        let lines = OpenOptions::new().append(true).open(path)?;
        lines.set_len(whole)?;
        Ok(Self::new(path, lines, written, 2 * written))
    }

    fn new(path: &Path, lines: File, written: usize, limit: usize) -> Self {
        let (path, limit) = (path.into(), limit.max(4096));
        Self { path, lines, written, limit, fails: false, begun: None, meanwhile: None, thread: None }
    }

    fn write(shared: &Arc<Mutex<Self>>, sessions: &Arc<MemorySessions>, subject: &str, now: u64) {
        let mut file = shared.lock();
        let Some(session) = sessions.get(subject) else { return };
        if let Err(error) = file.append(&line(subject, &session)) {
            file.note(&error);
        }
        if file.is_due(now) {
            file.begun = Some(now);
            file.meanwhile = Some(String::new());
            let (sessions, shared, path) = (sessions.clone(), shared.clone(), file.path.clone());
            let begun = thread::Builder::new().name("sessions".into()).spawn(move || {
                let anew = SessionsBeside::write(&path, &sessions, now);
                shared.lock().replace(anew);
            });
            match begun {
                Ok(thread) => file.thread = Some(thread),
                Err(error) => file.replace(Err(error)),
            }
        }
    }

    /// Whether it is time to write the file anew. A full disk is not asked with each request.
    fn is_due(&self, now: u64) -> bool {
        const AGAIN: u64 = 60;
        (self.fails || self.written >= self.limit)
            && self.meanwhile.is_none()
            && self.begun.is_none_or(|begun| now.abs_diff(begun) >= AGAIN)
    }

    fn append(&mut self, line: &str) -> io::Result<()> {
        self.meanwhile.iter_mut().for_each(|meanwhile| meanwhile.push_str(line));
        let end = self.lines.metadata()?.len();
        if let Err(error) = self.lines.write_all(line.as_bytes()) {
            // A full disk may take half a line, to which the next one would be appended.
            drop(self.lines.set_len(end));
            return Err(error);
        }
        self.written += 1;
        Ok(())
    }

    /// Goes on with the new file, if there is one.
    fn replace(&mut self, anew: io::Result<SessionsBeside>) {
        let since = self.meanwhile.take().unwrap_or_default();
        match anew.and_then(|anew| anew.into_place(&self.path, &since)) {
            Ok(anew) => *self = anew,
            Err(error) => self.note(&error),
        }
    }

    /// A failure is logged, once until the file is written anew. The process itself has the session in memory.
    fn note(&mut self, error: &io::Error) {
        if !self.fails {
            self.fails = true;
            let (error, path) = (error as &dyn std::error::Error, self.path.display());
            tracing::error!(
                error,
                "could not write {path}; until it can be written, a restart forgets which sessions were ended"
            );
        }
    }
}

fn line(subject: &str, session: &LiveSession) -> String {
    let LiveSession { id, pass, exchange, opened, until, window, ended } = session;
    let exchanged = word(exchange.map(|exchange| exchange.pass));
    let browser = word(exchange.and_then(|exchange| exchange.browser));
    let (window, ended) = (word(*window), word(*ended));
    format!("{subject} {id} {pass} {opened} {until} {exchanged} {browser} {window} {ended}\n")
}

fn word(what: Option<impl ToString>) -> String {
    what.map_or_else(|| "-".into(), |known| known.to_string())
}

/// Returns how many lines can't be read.
fn restore(text: &str, sessions: &MemorySessions) -> usize {
    let mut unread = 0;
    for line in text.lines() {
        if let Some((subject, session)) = read(line) {
            sessions.restore(subject, session);
        } else {
            unread += 1;
        }
    }
    unread
}

fn read(line: &str) -> Option<(&str, LiveSession)> {
    let mut parts = line.split(' ');
    let subject = parts.next().filter(|subject| pass::is_subject(subject))?;
    let id = parts.next()?.parse().ok()?;
    let [pass, opened, until] = [(); 3].map(|()| parts.next().and_then(|number| number.parse().ok()));
    let [exchanged, browser] = [(); 2].map(|()| parts.next().and_then(|word| word.parse().ok()));
    let exchange = exchanged.map(|pass| Exchange { pass, browser });
    let [window, ended] = [(); 2].map(|()| parts.next().and_then(|number| number.parse().ok()));
    Some((subject, LiveSession { id, pass: pass?, exchange, opened: opened?, until: until?, window, ended }))
}

impl LiveSessions for FileSessions {
    async fn open(
        &self,
        subject: &str,
        session: LiveSession,
        rule: OneSession,
        now: u64,
    ) -> Result<Opening, SessionsFault> {
        let opening = self.sessions.open_now(subject, session, rule, now);
        if matches!(opening, Opening::Opened | Opening::Repeated) {
            self.write(subject, now).await;
        }
        Ok(opening)
    }

    async fn keep(&self, subject: &str, session: LiveSession, now: u64) -> Result<bool, SessionsFault> {
        let keeping = self.sessions.keep_now(subject, session, now);
        if keeping == Keeping::Changed {
            self.write(subject, now).await;
        }
        Ok(keeping != Keeping::Refused)
    }

    async fn end(&self, subject: &str, id: SessionId, now: u64) -> Result<(), SessionsFault> {
        if self.sessions.end_now(subject, id, now) {
            self.write(subject, now).await;
        }
        Ok(())
    }

    fn counts(&self, now: u64, last: u64) -> Option<SessionCounts> {
        self.sessions.counts(now, last)
    }

    fn has_ended(&self, subject: &str, now: u64) -> bool {
        self.sessions.has_ended(subject, now)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Fingerprint;

    const NOW: u64 = 1_800_000_000;

    fn session(id: u8, pass: u64) -> LiveSession {
        let browser = Some(Fingerprint::from_bytes([id; 16]));
        let exchange = Some(Exchange { pass: Fingerprint::from_bytes([9; 16]), browser });
        let id = SessionId::from_bytes([id; 16]);
        LiveSession { id, pass, exchange, opened: pass, until: pass + 1200, window: Some(7), ended: None }
    }

    #[tokio::test]
    async fn sessions_are_remembered_over_a_restart() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("sessions");
        let store = FileSessions::open(&path, NOW).unwrap();
        let (first, second) = (session(1, NOW), session(2, NOW + 60));
        for session in [first, second] {
            let opening = store.open("a", session, OneSession::Newest, session.opened).await.unwrap();
            assert_eq!(opening, Opening::Opened);
        }
        let renewed = LiveSession { until: NOW + 2000, ..second };
        assert!(store.keep("a", renewed, NOW + 800).await.unwrap());
        drop(store);
        let written = fs::read(&path).unwrap();
        // Without its last digits, a session would have ended long ago.
        let cut = line("a", &renewed);
        for torn in [&b"b AQEBAQ"[..], &cut.as_bytes()[..cut.len() - 9], &b"\0\0\xff\xfe"[..]] {
            fs::write(&path, [&written[..], torn].concat()).unwrap();
            let store = FileSessions::open(&path, NOW + 900).unwrap();
            assert_eq!(store.sessions.all(), [("a".into(), renewed)], "{torn:?}");
        }

        let store = FileSessions::open(&path, NOW + 900).unwrap();
        assert_eq!(store.sessions.all(), [("a".into(), renewed)]);
        assert!(!store.keep("a", first, NOW + 900).await.unwrap(), "it was ended before the restart");
        assert!(store.keep("a", second, NOW + 900).await.unwrap());
        let used = store.open("a", session(3, NOW + 60), OneSession::Newest, NOW + 901).await.unwrap();
        assert_eq!(used, Opening::Used);
        assert_eq!(store.counts(NOW + 901, 0).unwrap().live, 1);
    }

    /// A line has no format: later versions may only add words at its end.
    #[test]
    fn a_line_of_every_version_is_read() {
        let first = "kFv3q0Yd AQEBAQEBAQEBAQEBAQEBAQ 1800000000 1800000000 1800001200";
        let second = format!("{first} CQkJCQkJCQkJCQkJCQkJCQ AQEBAQEBAQEBAQEBAQEBAQ");
        let third = format!("{second} 7 1800000099");
        let ended = LiveSession { ended: Some(NOW + 99), ..session(1, NOW) };
        let exchanged = LiveSession { window: None, ..session(1, NOW) };
        let bare = LiveSession { exchange: None, ..exchanged };
        for (written, expected) in [(first, bare), (&second, exchanged), (&third, ended)] {
            assert_eq!(read(written), Some(("kFv3q0Yd", expected)));
        }
        assert_eq!(line("kFv3q0Yd", &bare), format!("{first} - - - -\n"));
        assert_eq!(line("kFv3q0Yd", &exchanged), format!("{second} - -\n"));
        assert_eq!(line("kFv3q0Yd", &ended), format!("{third}\n"));
    }

    #[test]
    fn of_a_newer_guards_lines_those_that_are_known_are_read_and_the_others_counted() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("sessions");
        let known = line("a", &session(1, NOW));
        let text = known.replace('\n', " more\n") + "b=AQEBAQ\n";
        assert_eq!(restore(&text, &MemorySessions::default()), 1);
        fs::write(&path, text).unwrap();
        let store = FileSessions::open(&path, NOW).unwrap();
        assert_eq!(store.sessions.all(), [("a".into(), session(1, NOW))]);
        assert_eq!(fs::read_to_string(&path).unwrap(), known);
    }

    /// As a process that was killed leaves it.
    #[tokio::test]
    async fn what_was_counted_and_ended_is_remembered_over_a_restart() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("sessions");
        let store = FileSessions::open(&path, NOW).unwrap();
        for (subject, id) in [("a", 1), ("b", 2)] {
            store.open(subject, session(id, NOW), OneSession::Newest, NOW).await.unwrap();
        }
        store.end("a", SessionId::from_bytes([1; 16]), NOW).await.unwrap();
        let expected = SessionCounts { live: 1, opened: [(7, 2)].into() };
        for store in [&store, &FileSessions::open(&path, NOW + 30).unwrap()] {
            assert_eq!(store.counts(NOW + 30, 60).unwrap(), expected);
            assert!(store.has_ended("a", NOW + 30) && !store.has_ended("b", NOW + 30));
        }
    }

    /// A guard of the first version wrote the time of the exchange as the mark when it renewed a session.
    #[tokio::test]
    async fn the_mark_never_falls() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("sessions");
        let [opened, renewed] = [NOW + 20, NOW].map(|pass| LiveSession { pass, ..session(1, NOW) });
        fs::write(&path, line("a", &opened) + &line("a", &renewed)).unwrap();
        let store = FileSessions::open(&path, NOW).unwrap();
        assert_eq!(store.sessions.all(), [("a".into(), opened)]);
        let kept = LiveSession { until: NOW + 1260, exchange: None, ..renewed };
        assert!(store.keep("a", kept, NOW + 60).await.unwrap());
        let expected = LiveSession { until: NOW + 1260, ..opened };
        for _ in 0..2 {
            let store = FileSessions::open(&path, NOW + 60).unwrap();
            assert_eq!(store.sessions.all(), [("a".into(), expected)], "also after a restart");
        }
    }

    #[tokio::test]
    async fn a_clock_that_was_set_back_lets_no_pass_in_twice() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("sessions");
        let opens = async |id: u8, pass, now| {
            let exchange = Some(Exchange { pass: Fingerprint::from_bytes([id; 16]), browser: None });
            let session = LiveSession { exchange, ..session(id, pass) };
            let store = FileSessions::open(&path, NOW).unwrap();
            store.open("a", session, OneSession::Newest, now).await.unwrap()
        };
        assert_eq!(opens(1, NOW + 3600, NOW + 3600).await, Opening::Opened);
        assert_eq!(opens(2, NOW, NOW + 1).await, Opening::Opened);
        assert_eq!(opens(3, NOW + 5, NOW + 6).await, Opening::Opened);
        assert_eq!(opens(2, NOW, NOW + 7).await, Opening::Used);
        assert_eq!(opens(3, NOW + 5, NOW + 10).await, Opening::Used);
        assert_eq!(opens(1, NOW + 3600, NOW + 3600).await, Opening::Used);
    }

    /// Whichever request of a visitor comes to write last: the file says what memory says.
    #[tokio::test]
    async fn the_last_line_is_the_latest_session() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("sessions");
        let store = FileSessions::open(&path, NOW).unwrap();
        let rule = OneSession::Newest;
        for (id, pass) in [(1, NOW), (2, NOW + 60)] {
            assert_eq!(store.sessions.open_now("a", session(id, pass), rule, pass), Opening::Opened);
        }
        for now in [NOW + 60, NOW] {
            store.write("a", now).await;
        }
        let store = FileSessions::open(&path, NOW + 60).unwrap();
        assert_eq!(store.sessions.all(), [("a".into(), session(2, NOW + 60))]);
    }

    #[tokio::test]
    async fn the_file_stays_small() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("sessions");
        let store = FileSessions::open(&path, NOW).unwrap();
        for second in 0..20_000 {
            let session = LiveSession { until: NOW + 1 + second, ..session(1, NOW) };
            store.keep("a", session, NOW).await.unwrap();
            store.finish();
        }
        let lines = fs::read_to_string(&path).unwrap().lines().count();
        assert!(lines <= 4096, "{lines}");
        assert_eq!(FileSessions::open(&path, NOW).unwrap().sessions.all()[0].1.until, NOW + 20_000);
    }

    /// The new file is a pipe here, which takes nothing until somebody reads it.
    #[tokio::test]
    async fn nobody_waits_while_the_file_is_written_anew() {
        let folder = tempfile::tempdir().unwrap();
        let (path, beside) = (folder.path().join("sessions"), folder.path().join("sessions.new"));
        let store = FileSessions::open(&path, NOW).unwrap();
        assert!(std::process::Command::new("mkfifo").arg(&beside).status().unwrap().success());
        store.file.lock().limit = 1;
        let (done, is_done) = std::sync::mpsc::channel();
        let reader = thread::spawn(move || {
            let waited = is_done.recv_timeout(std::time::Duration::from_secs(10)).is_err();
            fs::read(beside).unwrap();
            waited
        });
        for (subject, id) in [("a", 1), ("b", 2)] {
            assert!(store.keep(subject, session(id, NOW), NOW).await.unwrap());
        }
        done.send(()).unwrap();
        assert!(!reader.join().unwrap());
    }

    /// Another thread holds the file here, as a write does until the disk takes it.
    #[tokio::test]
    async fn whoever_has_nothing_to_write_is_answered_while_the_disk_stalls() {
        let folder = tempfile::tempdir().unwrap();
        let store = Arc::new(FileSessions::open(&folder.path().join("sessions"), NOW).unwrap());
        assert!(store.keep("a", session(1, NOW), NOW).await.unwrap());
        let (held, is_held) = std::sync::mpsc::channel();
        let (done, is_done) = std::sync::mpsc::channel();
        let file = store.file.clone();
        let disk = thread::spawn(move || {
            let _file = file.lock();
            held.send(()).unwrap();
            is_done.recv_timeout(std::time::Duration::from_secs(10)).is_err()
        });
        is_held.recv().unwrap();
        let writer = store.clone();
        let stalled = tokio::spawn(async move { writer.keep("b", session(2, NOW), NOW).await });
        tokio::task::yield_now().await;
        assert!(store.keep("a", session(1, NOW), NOW).await.unwrap());
        assert!(!stalled.is_finished(), "a kill -9 would lose it");
        done.send(()).unwrap();
        assert!(!disk.join().unwrap());
        assert!(stalled.await.unwrap().unwrap());
    }

    #[tokio::test]
    async fn a_guard_that_is_killed_while_it_writes_its_file_anew_forgets_nobody() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("sessions");
        let store = FileSessions::open(&path, NOW).unwrap();
        let mut known = Vec::new();
        let mut open = async |subject: &'static str, id| {
            let opened = store.open(subject, session(id, NOW), OneSession::Newest, NOW).await.unwrap();
            assert_eq!(opened, Opening::Opened);
            known.push((Box::from(subject), session(id, NOW)));
            // As a process that is killed now leaves it.
            let killed = folder.path().join("killed");
            fs::copy(&path, &killed).unwrap();
            let mut found = FileSessions::open(&killed, NOW).unwrap().sessions.all();
            found.sort_by(|one, other| one.0.cmp(&other.0));
            assert_eq!(found, known);
        };
        open("a", 1).await;
        store.file.lock().meanwhile = Some(String::new());
        open("b", 2).await;
        let anew = SessionsBeside::write(&path, &store.sessions, NOW);
        open("c", 3).await;
        store.file.lock().replace(anew);
        open("d", 4).await;
        let lines = fs::read_to_string(&path).unwrap().lines().count();
        assert_eq!(
            (lines, store.file.lock().written),
            (5, 5),
            "two and those since they were begun, and one"
        );
    }

    /// As on a full disk.
    #[tokio::test]
    async fn a_guard_that_cannot_write_its_file_anew_goes_on_with_the_old_one() {
        let folder = tempfile::tempdir().unwrap();
        let (path, beside) = (folder.path().join("sessions"), folder.path().join("sessions.new"));
        fs::write(&path, line("a", &session(1, NOW)) + "b AQEBAQ").unwrap();
        fs::create_dir(&beside).unwrap();
        let store = FileSessions::open(&path, NOW).unwrap();
        assert_eq!(store.sessions.all(), [("a".into(), session(1, NOW))]);
        store.open("b", session(2, NOW), OneSession::Newest, NOW).await.unwrap();
        let expected = line("a", &session(1, NOW)) + &line("b", &session(2, NOW));
        assert_eq!(fs::read_to_string(&path).unwrap(), expected, "nothing is between the lines");

        fs::remove_dir(&beside).unwrap();
        for second in 0..5_000 {
            let renewed = LiveSession { until: NOW + 1201 + second, ..session(2, NOW) };
            assert!(store.keep("b", renewed, NOW).await.unwrap());
            store.finish();
        }
        let lines = fs::read_to_string(&path).unwrap().lines().count();
        assert!(lines < 4096, "it was written anew later: {lines}");
    }

    #[tokio::test]
    async fn a_file_that_a_full_disk_took_no_lines_of_is_whole_a_minute_after_there_is_space() {
        let folder = tempfile::tempdir().unwrap();
        let (path, beside) = (folder.path().join("sessions"), folder.path().join("sessions.new"));
        let store = FileSessions::open(&path, NOW).unwrap();
        fs::create_dir(&beside).unwrap();
        store.file.lock().lines = File::open(&path).unwrap();
        let keep = async |subject, id, now| {
            assert!(store.keep(subject, session(id, NOW), now).await.unwrap());
            store.finish();
            fs::read_to_string(&path).unwrap().lines().count()
        };
        assert_eq!(keep("a", 1, NOW).await, 0);
        fs::remove_dir(&beside).unwrap();
        store.file.lock().lines = OpenOptions::new().append(true).open(&path).unwrap();
        assert_eq!(keep("b", 2, NOW + 59).await, 1, "it was tried just now, and a line is missing");
        assert_eq!(keep("c", 3, NOW + 60).await, 3);
        assert!(!store.file.lock().fails);
        assert_eq!(keep("d", 4, NOW + 61).await, 4);
        drop(store);
        assert_eq!(FileSessions::open(&path, NOW + 61).unwrap().sessions.all().len(), 4);
    }

    #[tokio::test]
    async fn a_file_that_could_not_be_written_anew_holds_no_space() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("sessions");
        let store = FileSessions::open(&path, NOW).unwrap();
        // Nothing can be put in the place of a directory.
        fs::remove_file(&path).unwrap();
        fs::create_dir(&path).unwrap();
        store.file.lock().limit = 1;
        assert!(store.keep("a", session(1, NOW), NOW).await.unwrap());
        store.finish();
        assert!(store.file.lock().fails);
        assert!(!path.with_extension("new").exists());
    }

    #[tokio::test]
    async fn a_file_that_cannot_be_written_throws_nobody_out() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("sessions");
        let store = FileSessions::open(&path, NOW).unwrap();
        fs::create_dir(path.with_extension("new")).unwrap();
        store.file.lock().lines = File::open(&path).unwrap();
        assert!(store.keep("a", session(1, NOW), NOW).await.unwrap());
        store.finish();
        assert!(store.file.lock().fails);
        assert!(!store.keep("a", session(2, NOW), NOW).await.unwrap(), "the process knows its sessions");
        assert!(FileSessions::open(&folder.path().join("no/such/folder"), NOW).is_err());
    }
}
