use std::process::{Child, Command};

/// A server under load. Dropping this ends it.
pub(super) struct BenchServer(pub(super) Child);

impl Drop for BenchServer {
    fn drop(&mut self) {
        // Ended by a signal that it can handle: nginx's workers end only if their master shuts down cleanly.
        let pid = self.0.id().to_string();
        drop(Command::new("kill").args(["-TERM", &pid]).status());
        drop(self.0.wait());
    }
}
