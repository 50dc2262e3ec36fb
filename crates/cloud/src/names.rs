//! What things are called in the account.

use std::fmt::Write;

use aws_lc_rs::digest::{SHA256, digest};
use waitroom::RoomId;

/// What everything of a room is tagged with; its value is the room's name.
pub(crate) const TAG: &str = "beekeeper:room";

/// S3 takes no longer name.
const LONGEST_BUCKET: usize = 63;

pub(crate) fn stack(room: &RoomId) -> String {
    format!("beekeeper-{room}")
}

/// The bucket for what a stack is made from. Always the same for a room in an account and region, so that a run which
/// was interrupted finds it again.
pub(crate) fn artefacts(room: &RoomId, account: &str, region: &str) -> String {
    let name = format!("beekeeper-{room}-{account}-{region}");
    if name.len() <= LONGEST_BUCKET {
        return name;
    }
    // A room's name is ASCII, so it can be cut anywhere; its digest keeps it apart from others that begin like it.
    let tail = format!("-{}-{account}-{region}", &sha256(room.to_string().as_bytes())[..8]);
    let mut head = format!("beekeeper-{room}");
    head.truncate(LONGEST_BUCKET.saturating_sub(tail.len()));
    head + &tail
}

/// In hexadecimal.
pub(crate) fn sha256(bytes: &[u8]) -> String {
    let mut digits = String::new();
    for byte in digest(&SHA256, bytes).as_ref() {
        // A `String` takes whatever it is given.
        let _ = write!(digits, "{byte:02x}");
    }
    digits
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bucket_has_a_name_of_its_own_that_s3_takes() {
        let name = |room: &str, region: &str| artefacts(&room.parse().unwrap(), "123456789012", region);
        assert_eq!(name("sale", "eu-central-1"), "beekeeper-sale-123456789012-eu-central-1");
        let (long, other) = ("a-room-with-a-really-long-nam1", "a-room-with-a-really-long-nam2");
        let longest = name(long, "ap-southeast-1");
        assert_eq!(longest.len(), LONGEST_BUCKET);
        assert!(
            longest.starts_with("beekeeper-a-room-with") && longest.ends_with("-123456789012-ap-southeast-1")
        );
        assert_ne!(longest, name(other, "ap-southeast-1"));
        assert_eq!(longest, name(long, "ap-southeast-1"));
    }

    #[test]
    fn a_room_is_found_by_names_that_never_change() {
        let (account, region) = ("123456789012", "eu-central-1");
        let room = "sale".parse().unwrap();
        let bucket =
            artefacts(&room, account, region).replace(account, "<account>").replace(region, "<region>");
        let names = [format!("stack {}", stack(&room)), format!("bucket {bucket}"), format!("tag {TAG}")];
        let names = names.map(|name| name.replace("-sale", "-<room>"));
        frozen_names::assert_frozen(frozen_names::Section::AccountNames, names);
    }

    #[test]
    fn a_digest_is_what_everybody_calls_sha256() {
        assert_eq!(sha256(b""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
    }
}
