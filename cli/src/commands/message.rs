//! `beekeeper message`: sets the text that waiting visitors read.

use anyhow::Result;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use rooms::data;

use control::Order;
use waitroom::RoomId;

use super::change;
use crate::arguments::{LOCAL, SetMessage};
use crate::ending;
use crate::exit::{Exit, Failure};
use crate::runtime::block_on;

/// How to write a message. Without quotation marks, its first word is taken for the room's name.
const TIP: &str = "put the message in quotation marks: beekeeper message NAME \"More beer at noon\"";

/// For a message in quotation marks that stands where the name does.
const NAME_FIRST: &str = "the name of the room comes first: beekeeper message NAME \"More beer at noon\"";

pub(crate) fn run(message: &SetMessage, json: bool) -> Result<()> {
    block_on(send(message, json)).map_err(|error| {
        match (ending::exit(&error), &message.which.name, ending::advice(&error)) {
            (Exit::Missing, Some(_), Some(advice)) => {
                let missing = Failure::new(Exit::Missing, format!("{error:#}"));
                missing.advising(format!("{advice}; or {TIP}")).into()
            }
            _ => error,
        }
    })
}

async fn send(message: &SetMessage, json: bool) -> Result<()> {
    let text = &message.text;
    let found = change::find(&message.which).await?;
    let room = &found.room;
    if message.which.name.is_none()
        && let Some(meant) = read_as_a_room(text.as_str(), &room.name)
    {
        let unclear = format!("it is unclear whether {text} is the room or the text; nothing was changed");
        return Err(Failure::new(Exit::Usage, unclear)
            .advising(format!(
                "for the room {meant}: beekeeper message {LOCAL}{meant} \"More beer at noon\"; \
                 to tell \"{text}\" to the visitors of {}: beekeeper message {} {text}",
                room.name,
                found.as_typed_with_name()
            ))
            .into());
    }
    change::order(room, json, Order::Message { text: text.clone() }).await.map(drop)
}

/// The room that somebody means who types only this. In capitals it is one only if there is such a room.
fn read_as_a_room(text: &str, here: &RoomId) -> Option<RoomId> {
    let exists = |name: &RoomId| name == here || data::rooms().contains(name);
    text.to_lowercase().parse().ok().filter(|name: &RoomId| name.as_str() == text || exists(name))
}

/// Adds the tip to the error for a command line on which a message has no quotation marks, or comes before the name.
pub(crate) fn with_tip(
    mut error: clap::Error,
    mut command_line: impl Iterator<Item = String>,
) -> clap::Error {
    let is_message = command_line.find(|word| !word.starts_with('-')).is_some_and(|word| word == "message");
    let wrong = error.get(ContextKind::InvalidArg).map(ToString::to_string).unwrap_or_default();
    let is_word = match error.kind() {
        ErrorKind::UnknownArgument => !wrong.starts_with('-'),
        ErrorKind::ValueValidation => wrong == "[NAME]",
        _ => false,
    };
    if is_message && is_word {
        // A single word with a space in it was quoted.
        let value = error.get(ContextKind::InvalidValue).map(ToString::to_string).unwrap_or_default();
        let tip = if value.trim().contains(' ') { NAME_FIRST } else { TIP };
        error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![tip.into()]));
    }
    error
}
