//! What the other commands need to know of what is deployed.

use probe::WebAddress;
use url::Url;

pub(crate) type DeployedRoom = cloud::DeployedRoom;
pub(crate) type SharedSessions = cloud::SharedSessions;

/// Where this URL of a room is asked. An emulator of AWS answers at another address.
pub(crate) fn address(deployed: &DeployedRoom, url: Url) -> WebAddress {
    deployed.address(url)
}
