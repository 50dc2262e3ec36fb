//! A room as the model of AWS's limits and prices sees it.

use aws_model::{ModelledRoom, Reservation};
use config::{Architecture, RoomConfig};
use page::Page;

/// The room of this configuration, with the operator's own page and what its stack reserves.
pub(crate) fn modelled(
    config: &RoomConfig,
    architecture: Architecture,
    page: Option<&Page>,
    reserved: Reservation,
) -> ModelledRoom {
    ModelledRoom {
        reserved_consumers: reserved.consumers,
        ..ModelledRoom::of(config, architecture, further_files(page))
    }
}

/// How many files a visitor loads besides the document. Without a page of the operator's own, none.
fn further_files(page: Option<&Page>) -> u32 {
    let files = page.map_or(0, |page| page.files().count().saturating_sub(1));
    u32::try_from(files).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use aws_model::{AccountLimits, Capacity};
    use page::Design;
    use waitroom::Rate;

    use super::*;

    const ELEMENTS: [&str; 6] = ["state", "hint", "when", "message", "enter", "check"];

    /// A page with an image.
    fn page_of_two_files() -> Page {
        let folder = tempfile::tempdir().unwrap();
        let elements = ELEMENTS.map(|name| format!("<p data-bk=\"{name}\"></p>")).concat();
        let html = format!("<html><head></head><body>{elements}<img src=\"bee.svg\"></body></html>");
        fs::write(folder.path().join("index.html"), html).unwrap();
        fs::write(folder.path().join("bee.svg"), "<svg/>").unwrap();
        Design::read(folder.path()).unwrap().page(&"Sale".parse().unwrap())
    }

    #[test]
    fn a_page_of_two_files_and_a_reservation_lower_the_rate_that_can_be_kept_up() {
        let config = RoomConfig::new(
            "sale".parse().unwrap(),
            "Sale".parse().unwrap(),
            "https://shop.example".parse().unwrap(),
            Rate::new(300).unwrap(),
        );
        let kept_up = |limits: &AccountLimits, page, consumers| {
            let reserved = Reservation::of_consumers(consumers);
            let room = modelled(&config, Architecture::Arm64, page, reserved);
            Capacity::of(limits, &room, 0).kept_up.most
        };
        let mut limits = AccountLimits::default_in("us-east-1");
        let page = page_of_two_files();
        assert!(kept_up(&limits, Some(&page), 0) < kept_up(&limits, None, 0), "the image is a request");
        limits.concurrency = 112.0;
        assert!(kept_up(&limits, None, 60) < kept_up(&limits, None, 0), "the door cannot use the reserved");
    }
}
