//! The orders about a single visitor, who has read their help code out to the operator.

use document::words;
use waitroom::ports::{Admitted, PortResult};
use waitroom::{Admission, AdmittedBy, Author, HelpCall, HelpCode, Room, Timestamp};

use crate::helped_visitor::HelpedVisitor;
use crate::reply::Reply;
use crate::store::OperatorLedger;

/// How the visitor with this code stands.
pub(crate) async fn find(ledger: &impl OperatorLedger, code: HelpCode, now: Timestamp) -> PortResult<Reply> {
    let room = ledger.room_now().await?;
    let Some(call) = call(ledger, &room, code, now).await? else { return Ok(unknown(code)) };
    let admission = ledger.admission(call.place.token).await?;
    Ok(Reply::Visitor { visitor: HelpedVisitor::of(ledger, call, admission).await? })
}

/// Lets the visitor with this code in, whatever the rate and the state of the room.
pub(crate) async fn admit(
    ledger: &impl OperatorLedger,
    code: HelpCode,
    who: Author,
    now: Timestamp,
) -> PortResult<Reply> {
    let room = ledger.room_now().await?;
    let Some(call) = call(ledger, &room, code, now).await? else { return Ok(unknown(code)) };
    let admission = room.new_admission(call.place.ticket, AdmittedBy::Door, now);
    // Whatever may fail comes before: once they are in, the reply says so.
    let visitor = HelpedVisitor::of(ledger, call, None).await?;
    let Admission { at, expires, .. } = match ledger.let_in(call, admission, who).await? {
        Some(Admitted::Now) => admission,
        Some(Admitted::Before(before)) if before.is_valid(now) => before,
        Some(Admitted::Before(Admission { at, expires, .. })) => {
            return Ok(Reply::failed(format!(
                "let this visitor in at {}, and they could enter until {}: to get in again, they join the line and read out \
                 a new code",
                words::at(at),
                words::at(expires)
            )));
        }
        None => {
            return Ok(Reply::failed(
                "has nothing left of its stock, so it lets nobody in; to let more in: `beekeeper close --after`",
            ));
        }
    };
    Ok(Reply::Visitor { visitor: HelpedVisitor { admitted: Some(at), until: Some(expires), ..visitor } })
}

/// The call of somebody who has a place in this room's line.
async fn call(
    ledger: &impl OperatorLedger,
    room: &Room,
    code: HelpCode,
    now: Timestamp,
) -> PortResult<Option<HelpCall>> {
    let call = ledger.call(code).await?;
    Ok(call.filter(|call| call.place.epoch == room.epoch && !call.is_over(now)))
}

fn unknown(code: HelpCode) -> Reply {
    Reply::failed(format!(
        "knows nobody by the code {code}. A code is good for an hour: ask the visitor to open it again, below their place on \
         the waiting page, and compare every letter"
    ))
}

#[cfg(test)]
mod tests {
    use futures_executor::block_on;
    use waitroom::ports::{HelpCalls, HelpDesk};
    use waitroom::{AuditedChange, StockSize};

    use super::*;
    use crate::Order;
    use crate::fixture::{NOW, WaitingRoom};

    fn visitor(reply: Reply) -> HelpedVisitor {
        let Reply::Visitor { visitor } = reply else { panic!("{reply:?}") };
        visitor
    }

    #[test]
    fn a_visitor_is_found_and_let_in() {
        let room = WaitingRoom::new();
        let code = room.ask_for_help(38, NOW);
        let found = visitor(room.execute(Order::Find { code }));
        assert_eq!((found.number, found.ahead, found.asked, found.admitted), (38, 2, NOW, None));
        let admitted = visitor(room.execute(Order::Admit { code }));
        let until = NOW + room.room().settings.lifetimes.admission;
        assert_eq!((admitted.admitted, admitted.until), (Some(NOW), Some(until)));
        assert!(found.line(NOW).starts_with("number 38 in line, about 2 ahead; asked for help at 2023-11-1"));
        assert!(
            admitted.line(NOW).contains(", and may enter the shop until 2023-11-1"),
            "{}",
            admitted.line(NOW)
        );
        assert!(
            admitted.line(until).contains(", and could enter the shop until 2023-11-1"),
            "{}",
            admitted.line(until)
        );
        assert_eq!(visitor(room.execute(Order::Admit { code })), admitted, "once");
        assert_eq!(visitor(room.execute(Order::Find { code })), admitted);
        let Reply::History { entries } = room.execute(Order::History { most: 500 }) else { panic!() };
        let changes: Vec<_> = entries.into_iter().map(|entry| entry.change).collect();
        assert_eq!(changes, [AuditedChange::LetIn { ticket: 38, code }]);
    }

    #[test]
    fn nobody_is_found_by_a_code_that_is_over_or_of_another_epoch() {
        let room = WaitingRoom::new();
        let over = room.ask_for_help(37, NOW - HelpCall::KEPT);
        for order in [Order::Find { code: over }, Order::Admit { code: over }] {
            assert!(room.refused(order).starts_with("knows nobody by the code "));
        }
        let code = room.ask_for_help(38, NOW);
        room.execute(Order::Reset { epoch: "cd34".parse().unwrap() });
        assert!(room.refused(Order::Admit { code }).contains("knows nobody"));
    }

    #[test]
    fn nobody_is_let_in_beyond_the_stock_or_a_second_time() {
        let room = WaitingRoom::new();
        room.execute(Order::CloseAfter { size: StockSize::new(1).unwrap(), notice: None });
        let [first, second] = [37, 38].map(|number| room.ask_for_help(number, NOW));
        visitor(room.execute(Order::Admit { code: first }));
        assert!(room.refused(Order::Admit { code: second }).contains("nothing left of its stock"));
        room.execute(Order::CloseNever);
        // Let in long ago, and never came.
        let call = block_on(room.ledger.call(second)).unwrap().unwrap();
        let (at, expires) = (NOW - HelpCall::KEPT, NOW);
        let admission = Admission { ticket: call.place.ticket, by: AdmittedBy::Door, at, expires };
        block_on(room.ledger.let_in(call, admission, Author::new("anna"))).unwrap();
        assert!(room.refused(Order::Admit { code: second }).contains("they join the line and read out"));
    }

    #[test]
    fn an_order_before_is_taken_back_although_somebody_was_let_in_since() {
        let room = WaitingRoom::new();
        room.execute(Order::Pause);
        let number = room.last_entry();
        let code = room.ask_for_help(38, NOW);
        visitor(room.execute(Order::Admit { code }));
        let Reply::Changed { after, .. } = room.execute(Order::Undo { number }) else { panic!() };
        assert!(after.releases());
    }
}
