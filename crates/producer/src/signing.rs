use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Mutex;
use waitroom::Timestamp;
use waitroom::pass::{KeyRing, Signer};
use waitroom::ports::Keys;

use crate::ProducerError;

/// The signer for the room's current key, read again once a minute so that a rotation reaches everybody.
#[derive(Debug, Default)]
pub(crate) struct Signing {
    read: Mutex<Option<(Timestamp, Arc<Signer>)>>,
}

impl Signing {
    const FRESH: Duration = Duration::from_mins(1);

    /// The first to ask finds or makes the keys; the others wait for it rather than make more.
    pub(crate) async fn signer(
        &self,
        store: &impl Keys,
        now: Timestamp,
    ) -> Result<Arc<Signer>, ProducerError> {
        let mut read = self.read.lock().await;
        if let Some((at, signer)) = &*read
            && now.since(*at) < Self::FRESH
        {
            return Ok(signer.clone());
        }
        let keys = match (store.keys().await, &*read) {
            (Ok(Some(keys)), _) => keys,
            (Ok(None), _) => store.create(KeyRing::generate()?).await?,
            // A key that was good a minute ago signs better than none.
            (Err(_), Some((_, signer))) => return Ok(signer.clone()),
            (Err(error), None) => return Err(error.into()),
        };
        let signer = Arc::new(Signer::new(&keys.current)?);
        *read = Some((now, signer.clone()));
        Ok(signer)
    }
}
