//! The names of a room's resources in the account.

use std::fmt::Write;

use aws_lc_rs::digest::{SHA256, digest};
use waitroom::RoomId;

/// Everything that belongs to a room has this tag. Its value is the room's name.
pub(crate) const TAG: &str = "beekeeper:room";

/// S3's limit.
const MAX_BUCKET_NAME: usize = 63;

pub(crate) fn stack(room: &RoomId) -> String {
    format!("beekeeper-{room}")
}

/// The second stack of a room in this region, which is in another one. The capital letter keeps it apart from every room's stack.
pub(crate) fn edge_stack(room: &RoomId, region: &str) -> String {
    format!("beekeeper-{room}-Edge-{region}")
}

/// Of one request to `CloudFormation`: a call that is repeated has the same.
pub(crate) fn request_token() -> String {
    format!("beekeeper-{:016x}", rand::random::<u64>())
}

/// The bucket for function package and template. The name depends only on room, account and region, so a run after
/// an interrupted one finds the bucket.
pub(crate) fn artefact_bucket(room: &RoomId, account: &str, region: &str) -> String {
    let name = format!("beekeeper-{room}-{account}-{region}");
    if name.len() <= MAX_BUCKET_NAME {
        return name;
    }
    // A room's name is ASCII, so it can be cut anywhere. The digest keeps the names of rooms with the same beginning
    // apart.
    let tail = format!("-{}-{account}-{region}", &sha256(room.to_string().as_bytes())[..8]);
    let mut head = format!("beekeeper-{room}");
    head.truncate(MAX_BUCKET_NAME.saturating_sub(tail.len()));
    head + &tail
}

/// In hexadecimal.
pub(crate) fn sha256(bytes: &[u8]) -> String {
    let mut digits = String::new();
    for byte in digest(&SHA256, bytes).as_ref() {
        // Writing to a `String` cannot fail.
        let _ = write!(digits, "{byte:02x}");
    }
    digits
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_room_has_its_own_valid_bucket_name() {
        let name = |room: &str, region: &str| artefact_bucket(&room.parse().unwrap(), "123456789012", region);
        assert_eq!(name("sale", "eu-central-1"), "beekeeper-sale-123456789012-eu-central-1");
        let (long, other) = ("a-room-with-a-really-long-nam1", "a-room-with-a-really-long-nam2");
        let longest = name(long, "ap-southeast-1");
        assert_eq!(longest.len(), MAX_BUCKET_NAME);
        assert!(
            longest.starts_with("beekeeper-a-room-with") && longest.ends_with("-123456789012-ap-southeast-1")
        );
        assert_ne!(longest, name(other, "ap-southeast-1"));
        assert_eq!(longest, name(long, "ap-southeast-1"));
    }

    #[test]
    fn names_of_a_rooms_resources_are_frozen() {
        let (account, region) = ("123456789012", "eu-central-1");
        let room = "sale".parse().unwrap();
        let bucket =
            artefact_bucket(&room, account, region).replace(account, "<account>").replace(region, "<region>");
        let at_edge = edge_stack(&room, region).replace(region, "<region>");
        let names = [
            format!("stack {}", stack(&room)),
            format!("stack {at_edge}"),
            format!("bucket {bucket}"),
            format!("tag {TAG}"),
        ];
        let names = names.map(|name| name.replace("-sale", "-<room>"));
        frozen_names::assert_frozen(frozen_names::Section::AccountNames, names);
    }

    #[test]
    fn a_digest_is_the_sha256_in_hexadecimal() {
        assert_eq!(sha256(b""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
    }
}
