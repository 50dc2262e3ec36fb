//! What ends a number: a limit of AWS's, or one of the room's own.

use serde::Serialize;

use crate::AccountLimit;

/// A limit, in the words of somebody who never heard of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Limit {
    /// The account's requests a second.
    ApiRequests,
    /// The room's own `requests_per_second`.
    RoomRequests,
    /// What a distribution takes of an edge.
    EdgeRequests,
    /// How many functions the account may run at the same time.
    Concurrency,
    /// How many environments a function may add in ten seconds.
    NewEnvironments,
    /// Writes to the one item that numbers the line.
    TicketCounter,
    /// Reads of the one item with the room's settings.
    RoomItem,
    /// Reads of the sixteen copies of the status, on the partition that has the most of them.
    StatusCopies,
    /// `warm_reads`: what the table can serve at once.
    WarmReads,
    /// `warm_writes`.
    WarmWrites,
    /// What the account allows a table.
    TableReads,
    TableWrites,
    /// Reads of the waiting page in its bucket.
    PageReads,
    /// Messages that are received and not yet deleted.
    InFlight,
    /// A place in line is kept for fourteen days.
    Retention,
    /// The largest rate that a room takes.
    LargestRate,
}

impl Limit {
    pub const ALL: [Self; 16] = [
        Self::ApiRequests,
        Self::RoomRequests,
        Self::EdgeRequests,
        Self::Concurrency,
        Self::NewEnvironments,
        Self::TicketCounter,
        Self::RoomItem,
        Self::StatusCopies,
        Self::WarmReads,
        Self::WarmWrites,
        Self::TableReads,
        Self::TableWrites,
        Self::PageReads,
        Self::InFlight,
        Self::Retention,
        Self::LargestRate,
    ];

    pub fn name(self) -> &'static str {
        match self {
            Self::ApiRequests => "API Gateway's requests a second",
            Self::RoomRequests => "the room's own requests_per_second",
            Self::EdgeRequests => "CloudFront's requests a second",
            Self::Concurrency => "the functions that may run at the same time",
            Self::NewEnvironments => "how fast Lambda starts functions",
            Self::TicketCounter => "the one item that numbers the line",
            Self::RoomItem => "the one item with the room's settings",
            Self::StatusCopies => "the sixteen copies of the status",
            Self::WarmReads => "the table's warm reads",
            Self::WarmWrites => "the table's warm writes",
            Self::TableReads => "the account's reads a second of a table",
            Self::TableWrites => "the account's writes a second of a table",
            Self::PageReads => "the reads a second of the page's bucket",
            Self::InFlight => "the messages that may be in flight",
            Self::Retention => "the fourteen days that a place in line is kept",
            Self::LargestRate => "the largest rate of a room",
        }
    }

    /// What to do to get more.
    pub fn advice(self) -> String {
        match self {
            Self::ApiRequests => AccountLimit::ApiRequests.advice(),
            Self::RoomRequests => "raise requests_per_second in the room's configuration file, or remove it".into(),
            Self::EdgeRequests => {
                "ask AWS for more, which is free: Service Quotas, Amazon CloudFront, requests per second of a distribution".into()
            }
            Self::Concurrency => AccountLimit::Concurrency.advice(),
            Self::NewEnvironments => "send the e-mail in parts, so that people come over some minutes: nothing raises it".into(),
            Self::StatusCopies => {
                "set warm_reads in the room's configuration file: the copies are on more partitions then; it costs once".into()
            }
            Self::TicketCounter | Self::RoomItem | Self::InFlight => {
                "send the e-mail in parts, or divide the crowd between two rooms, each with a shop name and a guard of its own: nothing raises it".into()
            }
            Self::WarmReads => "set warm_reads in the room's configuration file; it costs once".into(),
            Self::WarmWrites => "set warm_writes in the room's configuration file; it costs once".into(),
            Self::TableReads => AccountLimit::TableReads.advice(),
            Self::TableWrites => AccountLimit::TableWrites.advice(),
            Self::PageReads => {
                "ask AWS Support to split the bucket's prefix before the event, or make the page of fewer files".into()
            }
            Self::Retention => "raise the rate: nobody waits for two weeks".into(),
            Self::LargestRate => "divide the crowd between two rooms".into(),
        }
    }
}
