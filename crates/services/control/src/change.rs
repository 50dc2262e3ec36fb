//! Changes a room by an order.

use waitroom::ports::{PortResult, RoomAdmin};
use waitroom::{AuditNote, AuditSubject, Author, Room};

use crate::reply::Reply;
use crate::store::OperatorLedger;

/// Changes the room by an order that is about this.
pub(crate) async fn change(
    ledger: &impl RoomAdmin,
    attempt: &'static str,
    about: AuditSubject,
    who: Author,
    change: impl Fn(&mut Room) + Send + 'static,
) -> PortResult<Reply> {
    ledger.change(attempt, AuditNote::new(who, about), change).await.map(Reply::changed)
}

/// Changes the room by an order that is about this, unless something speaks against it in the room as it is then.
pub(crate) async fn change_unless(
    ledger: &impl OperatorLedger,
    attempt: &'static str,
    about: AuditSubject,
    who: Author,
    refusal: impl Fn(&Room) -> Option<String> + Clone + Send + 'static,
    change: impl Fn(&mut Room) + Send + 'static,
) -> PortResult<Reply> {
    change_noted_unless(ledger, attempt, AuditNote::new(who, about), refusal, change).await
}

/// The same, with this note.
pub(crate) async fn change_noted_unless(
    ledger: &impl OperatorLedger,
    attempt: &'static str,
    note: AuditNote,
    refusal: impl Fn(&Room) -> Option<String> + Clone + Send + 'static,
    change: impl Fn(&mut Room) + Send + 'static,
) -> PortResult<Reply> {
    if let Some(refusal) = refusal(&*ledger.room_now().await?) {
        return Ok(Reply::failed(refusal));
    }
    // Another order may have come since.
    let is_refused = refusal.clone();
    let change = move |room: &mut Room| {
        if is_refused(room).is_none() {
            change(room);
        }
    };
    let changed = ledger.change(attempt, note, change).await?;
    Ok(refusal(&changed.0).map_or_else(|| Reply::changed(changed), Reply::failed))
}
