/// Why no order can be taken back. Completes the sentence "the room …".
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NothingToUndo {
    #[error("has no order to take back; `beekeeper history` shows all orders")]
    NoOrder,
    #[error("cannot take back the last order, because it was a reset: the places are gone")]
    Reset,
    #[error("cannot take back the last order, because it was a rehearsal: `beekeeper reset` ends it")]
    Rehearsal,
    #[error(
        "cannot take back the last order, because it changed the keys: a key that was replaced or dropped does not \
         come back; `beekeeper keys list` shows them"
    )]
    Keys,
    #[error(
        "cannot take back the last order, because it made a key for guards, and nobody has the one before any more; give each guard \
         the new one: `beekeeper keys guard`"
    )]
    GuardKey,
    #[error(
        "cannot take back the last order, because it ended a stock, and nobody has counted whom the room let in since; order \
         what is left: `beekeeper close --after`, after `beekeeper on --at TIME` if the room is off"
    )]
    Stock,
}
