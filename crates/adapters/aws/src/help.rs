//! Who asked for help, and whom the operator lets in by hand.

use waitroom::ports::{Admissions, Admitted, Fault, HelpCalls, HelpDesk, PortError, PortResult};
use waitroom::{Admission, AuditEntry, AuditedChange, Author, HelpCall, HelpCode};

use crate::AwsStore;
use crate::expressions;
use crate::items::{Item, ItemError, Reader, encode_admission};
use crate::keys::Key;
use crate::operator::writes_beside_room;
use crate::table::{Write, Written};

/// How often it is attempted while others change the room, or take from its stock.
const ATTEMPTS: u32 = 8;

pub(crate) fn decode_call(code: HelpCode, item: &Item) -> Result<HelpCall, ItemError> {
    let call = Reader::open(Key::Help(code), item)?;
    Ok(HelpCall { code, place: call.parsed("place")?, at: call.time("at")? })
}

impl HelpCalls for AwsStore {
    async fn note_call(&self, call: HelpCall) -> PortResult<bool> {
        let note = expressions::note_call(&call);
        let written = self.table.update("keep a call for help", Key::Help(call.code), note).await?;
        Ok(matches!(written, Written::Done(_)))
    }

    async fn call(&self, code: HelpCode) -> PortResult<Option<HelpCall>> {
        let decode = |item: &Item| decode_call(code, item);
        self.table.read("look up a help code", Key::Help(code), decode).await
    }
}

impl HelpDesk for AwsStore {
    async fn let_in(
        &self,
        call: HelpCall,
        admission: Admission,
        who: Author,
    ) -> PortResult<Option<Admitted>> {
        let attempt = "let a visitor in by hand";
        let token = call.place.token;
        let admit = expressions::admit(&encode_admission(token, &admission));
        for _ in 0..ATTEMPTS {
            if let Some(before) = self.admission(token).await? {
                return Ok(Some(Admitted::Before(before)));
            }
            let (room, last_entry) = self.read_room_and_trail(attempt).await?;
            let (number, change) = (last_entry.saturating_add(1), AuditedChange::let_in(&call));
            let entry = AuditEntry::beside_room(number, admission.at, who.clone(), change);
            let mut writes = writes_beside_room(attempt, &room, &entry)?;
            writes.push(Write::Update(Key::Admission(token), admit.clone()));
            if let Some(stock) = room.stock {
                let Some(take) = self.take_one(attempt, stock).await? else { return Ok(None) };
                writes.push(take);
            }
            if self.table.write_together(attempt, writes).await? {
                return Ok(Some(Admitted::Now));
            }
        }
        Err(PortError::new(attempt, Fault::Busy, "other writes keep changing the room; retry"))
    }
}
