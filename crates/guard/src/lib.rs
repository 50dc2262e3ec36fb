//! Keeps everybody out of the shop who was not admitted by the room.
//!
//! An admitted visitor arrives with a pass in the URL. The guard verifies it, exchanges it for a session in a cookie of the
//! shop's own domain, and redirects to the URL without the pass. From then on the session counts. Everybody else is sent to
//! the room, and comes back to the page that they asked for. docs/guard-security.md says what each measure stops, and what not.
//!
//! | module | what it is |
//! | --- | --- |
//! | [`Guard`] | decides about a request: to the shop, or the guard's own answer |
//! | [`GuardRules`], [`Bypass`] | what the shop's operator decides |
//! | [`LiveSessions`] | port: one session at a time for each visitor; [`MemorySessions`], [`FileSessions`] |
//! | [`RoomKeys`] | the room's public keys: given, or fetched over the port [`RoomClient`] and refreshed |
//! | [`Reporter`] | tells a room with a limit of active visitors how many are in the shop |
//! | [`Reachability`] | whether the room answers, for operators who let everybody in while it does not |
//! | [`Authorizer`] | says who a visitor is, for a gateway such as Amazon API Gateway |
//! | [`GuardLayer`] | the guard in front of a tower service: axum, tonic, hyper |
//!
//! It needs the room's public keys, and nothing else of a room that does not count who is in the shop. Times are seconds since 1970. Time and randomness are
//! arguments: see [`Moment`].

mod answer;
mod authorizer;
mod bypass;
mod bytes;
mod challenges;
mod complaints;
mod cookie;
mod decide;
mod exchange;
mod file_sessions;
mod guard_data;
mod http_room;
mod identity;
mod key_cache;
mod layer;
mod live_sessions;
mod moment;
mod reachability;
mod reporter;
mod request;
mod room_keys;
mod rules;
mod session;
mod target;
mod visitor_cookie;

pub use answer::{Decision, GuardAnswer, GuardOutcome, ToShop};
pub use authorizer::{AuthorizedVisitor, Authorizer, NotAuthorized};
pub use bypass::{Bypass, BypassError, BypassPath, SecretHeader};
pub use decide::Guard;
pub use exchange::{Exchange, Fingerprint};
pub use file_sessions::FileSessions;
pub use guard_data::{GuardData, GuardDataError};
pub use http_room::HttpRoom;
pub use identity::{END, NUMBER_HEADER, SESSION_HEADER, SUBJECT_HEADER, strip_identity};
pub use layer::{GuardLayer, GuardService, GuardedFuture};
pub use live_sessions::{
    LiveSession, LiveSessions, MemorySessions, OneSession, Opening, SessionCounts, SessionsFault,
};
pub use moment::{Moment, NoRandomness};
pub use reachability::{Reachability, ReachabilityChange, WhenUnreachable};
pub use reporter::{Reporter, new_guard_name};
pub use request::GuardedRequest;
pub use room_keys::{RoomClient, RoomKeys, RoomSilence};
pub use rules::{GuardRules, GuardTimes};
pub use session::{SessionCookie, SessionId, SessionKey, SessionKeyError};
