use std::net::SocketAddr;

use document::words;
use waitroom::RoomId;

use crate::answer::ask;

/// The room and the guard of a shop that run as services on this machine.
#[derive(Debug)]
pub struct ShopServices {
    pub room: RoomId,
    /// How a command names it.
    pub as_typed: String,
    /// The host names of shop and room.
    pub shop_host: String,
    pub room_host: String,
    /// The room's URL, without a slash at the end.
    pub url: String,
    /// The ports that the URLs of shop and room name, where they aren't the usual one.
    pub ports: [Option<u16>; 2],
    pub room_listens: SocketAddr,
    pub guard_listens: SocketAddr,
    pub guard_monitor: Option<SocketAddr>,
    /// What the services would do wrong behind this nginx.
    pub warnings: Vec<String>,
}

/// Why the shop has fewer visitors behind the guard than before, and whom it hasn't.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{because}")]
pub struct NotReady {
    pub because: String,
    /// Also those with a session: nginx asks the guard about everybody.
    pub keeps_everybody_out: bool,
    /// What a person types first.
    pub command: &'static str,
}

/// Says which program has a port.
const WHOSE_PORT: &str = "sudo ss -ltnp";

impl NotReady {
    fn guard(because: String) -> Self {
        Self { because, keeps_everybody_out: true, command: "sudo systemctl restart beekeeper-guard" }
    }

    fn room(because: String) -> Self {
        Self { because, keeps_everybody_out: false, command: "sudo systemctl restart beekeeper" }
    }
}

impl ShopServices {
    /// What would keep visitors out of the shop behind the guard now, if anything does. Whoever keeps everybody out is told first.
    pub(crate) fn not_ready(&self) -> Option<NotReady> {
        let guard = self.guard_not_ready();
        if guard.as_ref().is_some_and(|guard| guard.keeps_everybody_out) {
            return guard;
        }
        self.room_not_ready().or(guard)
    }

    /// Why the room would let nobody new in, if so.
    pub(crate) fn room_not_ready(&self) -> Option<NotReady> {
        let room = self.room_listens;
        match ask(room, "/polling", "") {
            Ok(answer) if answer.status == 200 => None,
            Ok(answer) if answer.status == 503 => {
                let because = format!("the room at {room} answers nobody just now");
                Some(NotReady {
                    command: "sudo journalctl --unit beekeeper --lines 10",
                    ..NotReady::room(because)
                })
            }
            Ok(answer) => {
                let because = format!("{room} answers {} and is not the room", answer.status);
                Some(NotReady { command: WHOSE_PORT, ..NotReady::room(because) })
            }
            Err(error) => Some(NotReady::room(format!("the room does not answer at {room}: {error}"))),
        }
    }

    /// Why the guard would let nobody in, if so. nginx asks it in the same way.
    pub(crate) fn guard_not_ready(&self) -> Option<NotReady> {
        let guard = self.guard_listens;
        let about = "X-Forwarded-Method: GET\r\nX-Forwarded-Uri: /\r\n";
        match ask(guard, "/auth-request", about) {
            Ok(answer) => {
                let door =
                    answer.header("x-beekeeper-location").and_then(|door| door.split_once("/beekeeper"));
                match door {
                    Some((url, _)) if url == self.url => {}
                    Some((url, _)) => {
                        let because =
                            format!("the guard at {guard} is still for {url}, and not for {}", self.url);
                        return Some(NotReady::guard(because));
                    }
                    None => {
                        let because =
                            format!("{guard} answers {} and is not the guard of {}", answer.status, self.url);
                        return Some(NotReady { command: WHOSE_PORT, ..NotReady::guard(because) });
                    }
                }
            }
            Err(error) => {
                return Some(NotReady::guard(format!("the guard does not answer at {guard}: {error}")));
            }
        }
        let health = ask(self.guard_monitor?, "/healthz", "").ok()?;
        let because = format!("the guard is not ready yet: {}", health.body.trim());
        let command = "sudo journalctl --unit beekeeper --unit beekeeper-guard --lines 10";
        (health.status != 200).then_some(NotReady { because, keeps_everybody_out: false, command })
    }

    fn poll(&self) -> serde_json::Value {
        let poll = ask(self.room_listens, "/polling", "").map(|answer| answer.body).unwrap_or_default();
        serde_json::from_str(&poll).unwrap_or_default()
    }

    /// What is lost when the setup is taken out.
    pub fn without_setup(&self) -> String {
        let (shop, room) = (&self.shop_host, &self.room_host);
        // A room that is off, or not there, doesn't say how many.
        let who = match self.poll()["waiting"].as_u64() {
            None | Some(0) => String::new(),
            Some(waiting) => {
                format!(
                    ": {} there, and can't come in any more",
                    words::things_do(waiting, "visitor", "wait")
                )
            }
        };
        format!("this takes the guard off {shop}, and {room} out of nginx{who}")
    }

    /// What the room does with the shop's visitors now.
    pub(crate) fn room_says(&self) -> &'static str {
        let poll = self.poll();
        if poll["allow"] == true {
            "the room is off and sends everybody on to the shop at once"
        } else if poll["state"] == "paused" {
            "the room is paused, so nobody enters the shop before it is on"
        } else if poll["late"] == true {
            "the room turns newcomers away, so nobody new enters the shop before it is on"
        } else {
            "the room is on, so everybody waits in line first"
        }
    }
}
