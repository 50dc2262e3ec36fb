//! What a room on this machine says when it opens.

use std::net::SocketAddr;
use std::path::Path;
use std::time::Duration;

use clock::SystemClock;
use document::words;
use serde_json::json;
use waitroom::ports::Clock;
use waitroom::{Room, RoomState};

pub(crate) struct LocalGreeting<'a> {
    pub(crate) room: &'a Room,
    /// How a command names the room.
    pub(crate) as_typed: &'a str,
    pub(crate) is_new: bool,
    pub(crate) directory: &'a Path,
    pub(crate) configured_in: Option<&'a Path>,
    pub(crate) shows_preview: bool,
    pub(crate) monitored_at: Option<SocketAddr>,
    pub(crate) demonstration: Option<DemoGreeting>,
}

/// What there is to try in a demonstration.
#[derive(Clone, Copy)]
pub(crate) struct DemoGreeting {
    /// The port that the shop would have had.
    pub(crate) taken: Option<u16>,
    pub(crate) visitors: u32,
    /// How many wait from before.
    pub(crate) left: u64,
    pub(crate) minute: Duration,
}

impl LocalGreeting<'_> {
    pub(crate) fn text(&self) -> String {
        let Self { room, directory, configured_in, monitored_at, .. } = self;
        let url = room.issuer();
        let mut lines = vec![
            format!("{} is {}\n", room.settings.title, self.state()),
            format!("  waiting room   {url}/beekeeper"),
            format!("  client check   {url}/client"),
            format!("  shop           {}", room.settings.shop),
        ];
        if self.shows_preview {
            lines.insert(2, format!("  the page       {url}/preview/"));
        }
        lines.extend(monitored_at.map(|at| format!("  metrics        {}", metrics_url(at))));
        lines.extend(configured_in.map(|file| format!("  configured in  {}", file.display())));
        lines.push(format!("  kept in        {}\n", directory.display()));
        lines.extend(self.demonstration.map(|demonstration| demonstration.text(room)));
        if self.is_new && self.demonstration.is_none() {
            // Whoever meant to start a room again has mistyped its folder, or was another user.
            lines.push("This is a new room: nobody is in line.".into());
        }
        lines.push(format!("{} Ctrl-C stops it; every place is kept.", self.does()));
        lines.join("\n")
    }

    fn state(&self) -> &'static str {
        match self.room.state {
            RoomState::Paused if self.room.opens.is_none() => "paused",
            RoomState::On | RoomState::Paused => "open",
            RoomState::Closed => "closed",
            RoomState::ClosedPaused => "closed and paused",
            RoomState::Ended => "over",
            RoomState::Off => "off",
        }
    }

    /// What becomes of visitors. A room that is started again goes on as it was left, which may not be on.
    fn does(&self) -> String {
        let room = self.room;
        let enter = words::things_do(room.settings.rate.get().into(), "visitor", "enter");
        let on = format!("`beekeeper on {}`", self.as_typed);
        match (room.state, room.opens) {
            (RoomState::Paused, Some(opens)) => format!(
                "It opens at {}, {}; until then visitors join and wait.\nThen {enter} a minute.",
                words::at(opens),
                words::ahead(opens, SystemClock.now())
            ),
            (RoomState::On, _) if room.observes() => {
                "Everybody passes to the shop, and the room counts who would have waited.".to_owned()
            }
            (RoomState::On, _) => format!("{enter} a minute."),
            (RoomState::Paused, None) => format!("Visitors join and wait, and nobody is let in until {on}."),
            (RoomState::Closed, _) => format!("Nobody new can join. Of those who wait, {enter} a minute."),
            (RoomState::ClosedPaused, _) => format!("Nobody new can join, and nobody is let in until {on}."),
            (RoomState::Ended, _) => format!("Everybody reads that it's over, until {on}."),
            (RoomState::Off, _) => format!("Everybody goes straight to the shop, until {on}."),
        }
    }

    pub(crate) fn for_scripts(&self) -> String {
        let Self { room, directory, .. } = self;
        let url = room.issuer();
        let mut greeting = json!({
            "waiting_room": format!("{url}/beekeeper"),
            "client_check": format!("{url}/client"),
            "room": room,
            "kept_in": directory,
            "demonstration_visitors": self.demonstration.map_or(0, |demonstration| demonstration.visitors),
        });
        if let Some(at) = self.monitored_at {
            greeting["metrics"] = metrics_url(at).into();
        }
        if let Some(file) = self.configured_in {
            greeting["configured_in"] = json!(file);
        }
        greeting.to_string()
    }
}

fn metrics_url(monitored_at: SocketAddr) -> String {
    format!("http://{monitored_at}/metrics")
}

impl DemoGreeting {
    fn text(self, room: &Room) -> String {
        let taken = self.taken.map_or_else(String::new, |port| {
            format!("Port {port} is taken, so the shop is at another one.\n")
        });
        let open = "Open the shop in a browser: its guard sends you to the waiting room first";
        if room.lets_straight_in() {
            return format!("{taken}{open}, which lets you straight in while nobody waits.");
        }
        if room.observes() {
            return format!("{taken}{open}, which lets everybody pass, and counts who would have waited.");
        }
        if self.visitors == 0 {
            return format!("{taken}{open}.");
        }
        let ahead = words::things(self.visitors.into(), "demonstration visitor");
        let wait = self.wait(room).map_or_else(String::new, |wait| format!(", so you wait about {wait}"));
        format!("{taken}{open}.\n{ahead} stand ahead of you there{wait}. Without them: --visitors 0.")
    }

    /// How long a newcomer waits. None if the room lets nobody in now.
    fn wait(self, room: &Room) -> Option<String> {
        let ahead = self.left.max(self.visitors.into());
        #[expect(clippy::cast_precision_loss, reason = "far fewer than 2^52 visitors")]
        let minutes = ahead as f64 / f64::from(room.rate().get());
        room.releases().then(|| words::span((minutes * self.minute.as_secs_f64()).max(1.0)))
    }

    /// Says that more people wait from before than the demonstration has visitors.
    pub(crate) fn left_line(self, as_typed: &str) -> Option<String> {
        (self.left > self.visitors.into()).then(|| {
            let waiting = words::things_do(self.left, "visitor", "wait");
            format!(
                "warning: {waiting} from before, and newcomers stand behind them. To empty the line: beekeeper reset {as_typed}"
            )
        })
    }
}

#[cfg(test)]
mod tests {
    use waitroom::fixture;

    use super::*;

    const DEMO: DemoGreeting =
        DemoGreeting { taken: None, visitors: 8, left: 0, minute: Duration::from_mins(1) };

    #[test]
    fn a_room_that_is_started_again_says_what_it_was_left_as() {
        let said = |room: &Room| {
            let greeting = LocalGreeting {
                room,
                as_typed: "--data /var/lib/beekeeper",
                is_new: false,
                directory: Path::new("/var/lib/beekeeper"),
                configured_in: None,
                shows_preview: false,
                monitored_at: None,
                demonstration: None,
            };
            greeting.text()
        };
        let on = said(&fixture::room(600));
        assert!(on.contains(" is open\n") && on.contains("600 visitors enter a minute. Ctrl-C"), "{on}");
        for (state, title) in [
            (RoomState::Paused, " is paused\n"),
            (RoomState::ClosedPaused, " is closed and paused\n"),
            (RoomState::Ended, " is over\n"),
            (RoomState::Off, " is off\n"),
        ] {
            let said = said(&Room { state, ..fixture::room(600) });
            assert!(said.contains(title) && !said.contains("600 visitors"), "{said}");
            assert!(said.contains("until `beekeeper on --data /var/lib/beekeeper`."), "{said}");
        }
        let mut observing = fixture::room(600);
        observing.settings.mode = waitroom::Mode::Observe;
        assert!(said(&observing).contains("Everybody passes"), "{}", said(&observing));
    }

    #[test]
    fn it_says_how_long_a_newcomer_waits() {
        let room = fixture::room(60);
        let said = DEMO.text(&room);
        assert!(
            said.contains("8 demonstration visitors stand ahead of you there, so you wait about 8 s."),
            "{said}"
        );
        let left = DemoGreeting { left: 90, ..DEMO };
        assert!(left.text(&room).contains("about 1 min 30 s"), "{}", left.text(&room));
        let warning = left.left_line("--data left").unwrap();
        assert!(
            warning.contains("90 visitors wait from before")
                && warning.ends_with("beekeeper reset --data left"),
            "{warning}"
        );
        let own = DemoGreeting { left: 8, ..DEMO };
        assert_eq!(own.left_line("--data left"), None, "those of the demonstration");
        let paused = Room { state: RoomState::Paused, ..fixture::room(60) };
        assert!(!DEMO.text(&paused).contains("wait about"), "nobody knows how long");
    }

    #[test]
    fn without_visitors_nobody_is_ahead() {
        let nobody = DemoGreeting { visitors: 0, taken: Some(8081), ..DEMO }.text(&fixture::room(60));
        assert!(nobody.starts_with("Port 8081 is taken") && !nobody.contains("ahead"), "{nobody}");
    }
}
