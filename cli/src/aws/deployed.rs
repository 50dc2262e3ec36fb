//! What the other commands need to know of what is deployed.

use probe::WebAddress;
use url::Url;
use waitroom::Room;

pub(crate) type DeployedRoom = cloud::DeployedRoom;
pub(crate) type SharedSessions = cloud::SharedSessions;

/// Where this URL of a room is asked. An emulator of AWS answers at another address.
pub(crate) fn address(deployed: &DeployedRoom, url: Url) -> WebAddress {
    deployed.address(url)
}

/// Whether this URL is one of a deployed room. One with a domain of its own has two.
pub(crate) fn has_url(deployed: &DeployedRoom, room: &Room, url: &Url) -> bool {
    deployed.urls.stage.parse().is_ok_and(|stage| Room { url: stage, ..room.clone() }.is_entered_by(url))
}
