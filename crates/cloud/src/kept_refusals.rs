//! What a room was found to refuse, kept for a minute.

use std::time::{Duration, Instant};

use tokio::sync::Mutex;
use waitroom::Refusals;

/// What was refused lately, or why nobody knows.
pub(crate) type LatelyRefused = Result<Option<Refusals>, String>;

/// The latest answer, so that whoever watches a status every few seconds asks, and pays, once a minute.
#[derive(Debug, Default)]
pub(crate) struct KeptRefusals(Mutex<Option<(Instant, LatelyRefused)>>);

impl KeptRefusals {
    const KEPT: Duration = Duration::from_mins(1);

    pub(crate) async fn or_read(&self, read: impl Future<Output = LatelyRefused>) -> LatelyRefused {
        let mut latest = self.0.lock().await;
        if let Some((at, answer)) = &*latest
            && at.elapsed() < Self::KEPT
        {
            return answer.clone();
        }
        let answer = read.await;
        *latest = Some((Instant::now(), answer.clone()));
        answer
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn whoever_watches_asks_once_a_minute() {
        let kept = KeptRefusals::default();
        let answer = |text: &str| std::future::ready(Err(text.to_owned()));
        assert_eq!(kept.or_read(answer("denied")).await, Err("denied".into()));
        assert_eq!(kept.or_read(answer("asked again")).await, Err("denied".into()));
        let (at, _) = kept.0.lock().await.take().unwrap();
        let earlier = at.checked_sub(KeptRefusals::KEPT).unwrap();
        *kept.0.lock().await = Some((earlier, Ok(None)));
        assert_eq!(kept.or_read(answer("asked again")).await, Err("asked again".into()));
    }
}
