//! Every state of the page to click through: `/preview/`.
//!
//! The page asks for everything relative to itself, so below `/preview/<state>/` it finds a door and polls of
//! its own: answers that always say the same, about a visitor who does not exist.

use std::path::PathBuf;
use std::time::Duration;

use hyper::body::Incoming;
use hyper::header::{CONTENT_TYPE, LOCATION};
use hyper::{Request, StatusCode};
use page::Design;
use poll::{PollAnswer, VisitorState};
use waitroom::{LineStatus, Rate, Room, RoomState, Timestamp};

use crate::HttpResponse;
use crate::app::{finish, json, uncached};
use crate::files::Files;

/// Shows the design in a folder, read again whenever it is asked for; without one, ours.
#[derive(Debug)]
pub struct Preview(pub Option<PathBuf>);

/// What one visitor may see, and how they come to see it.
struct Scene {
    name: &'static str,
    about: &'static str,
    ticket: u64,
    answer: fn(&mut Room, &mut LineStatus) -> Poll,
}

/// What the page hears when it asks.
enum Poll {
    Waiting,
    Newcomer,
    Admitted,
    Busy,
    Nothing,
}

const MIDDLE: u64 = 7101;

const SCENES: &[Scene] = &[
    Scene {
        name: "waiting",
        about: "in the middle of the line",
        ticket: MIDDLE,
        answer: |_, _| Poll::Waiting,
    },
    Scene {
        name: "message",
        about: "the same, with a message from you",
        ticket: MIDDLE,
        answer: |room, _| {
            if let Ok(text) =
                "The \"Seal Stout\" is back in stock.\nThank you for waiting – it's worth it! 🦭".parse()
            {
                room.settings.message = text;
            }
            Poll::Waiting
        },
    },
    Scene { name: "soon", about: "almost there", ticket: 4301, answer: |_, _| Poll::Waiting },
    Scene {
        name: "slower",
        about: "the shop suffers, and the throttle holds the line back",
        ticket: MIDDLE,
        answer: |_, line| {
            line.slow = true;
            Poll::Waiting
        },
    },
    Scene {
        name: "paused",
        about: "you have paused the room",
        ticket: MIDDLE,
        answer: |room, _| {
            room.state = RoomState::Paused;
            Poll::Waiting
        },
    },
    Scene {
        name: "turn",
        about: "their turn: goes on to the shop",
        ticket: MIDDLE,
        answer: |_, _| Poll::Admitted,
    },
    Scene {
        name: "held",
        about: "their turn, and they do not look (takes a few seconds to come about here)",
        ticket: MIDDLE,
        answer: |_, _| Poll::Admitted,
    },
    Scene {
        name: "anew",
        about: "their old place is no longer valid",
        ticket: MIDDLE,
        answer: |_, _| Poll::Waiting,
    },
    Scene { name: "unheard", about: "the room does not answer", ticket: MIDDLE, answer: |_, _| Poll::Busy },
    Scene {
        name: "blocked",
        about: "the browser keeps cookies back",
        ticket: MIDDLE,
        answer: |_, _| Poll::Newcomer,
    },
    Scene { name: "finding", about: "before the first answer", ticket: MIDDLE, answer: |_, _| Poll::Nothing },
];

impl Preview {
    const SLOW_ANSWER: Duration = Duration::from_mins(1);

    /// `path` is what follows `/preview/`.
    pub(crate) async fn answer(
        &self,
        path: &str,
        room: &Room,
        now: Timestamp,
        request: &Request<Incoming>,
    ) -> Option<HttpResponse> {
        if path.is_empty() {
            return Some(html(StatusCode::OK, &index(room)));
        }
        let (scene, rest) = path.split_once('/')?;
        let scene = SCENES.iter().find(|known| known.name == scene)?;
        match rest {
            "polling" => Some(poll(scene, room, now).await),
            "beekeeper" if scene.name == "turn" => {
                Some(html(StatusCode::OK, include_str!("preview-shop.html")))
            }
            "beekeeper" => {
                let place = format!("wait/index.html#{}-{}", room.epoch, scene.ticket);
                Some(finish(uncached(StatusCode::FOUND).header(LOCATION, place), ""))
            }
            _ => self.file(rest.strip_prefix("wait/")?, room, request).await,
        }
    }

    async fn file(&self, name: &str, room: &Room, request: &Request<Incoming>) -> Option<HttpResponse> {
        let folder = self.0.clone();
        // Whoever designs a page saves it and presses reload: it is read each time, and the files are few.
        let read = move || folder.as_deref().map_or_else(|| Ok(Design::default()), Design::read);
        match tokio::task::spawn_blocking(read).await.ok()? {
            Ok(design) => Files::new(&design.page(&room.settings.title)).answer(name, request, "no-store"),
            Err(error) => {
                let response = uncached(StatusCode::INTERNAL_SERVER_ERROR);
                Some(finish(response.header(CONTENT_TYPE, "text/plain; charset=utf-8"), error.to_string()))
            }
        }
    }
}

async fn poll(scene: &Scene, room: &Room, now: Timestamp) -> HttpResponse {
    let mut room = Room { state: RoomState::On, ..room.clone() };
    let rate = Rate::new(300).unwrap_or(Rate::MIN);
    let mut line = LineStatus { served: 4100, waiting: 9120, rate, slow: false };
    let standing = match (scene.answer)(&mut room, &mut line) {
        Poll::Waiting => VisitorState::Waiting,
        Poll::Newcomer => VisitorState::Newcomer,
        Poll::Admitted => VisitorState::Admitted { until: now + room.settings.lifetimes.claim },
        Poll::Busy => return json(uncached(StatusCode::SERVICE_UNAVAILABLE), &()),
        Poll::Nothing => {
            tokio::time::sleep(Preview::SLOW_ANSWER).await;
            return json(uncached(StatusCode::SERVICE_UNAVAILABLE), &());
        }
    };
    json(uncached(StatusCode::OK), &PollAnswer::new(&room, &line, standing))
}

fn index(room: &Room) -> String {
    let link = |scene: &Scene| {
        // A place of another epoch is one that is no longer valid.
        let epoch = if scene.name == "anew" { "gone".into() } else { room.epoch.to_string() };
        let Scene { name, about, ticket, .. } = scene;
        format!("<li><a href=\"{name}/wait/index.html#{epoch}-{ticket}\">{name}</a>: {about}</li>\n")
    };
    let links = SCENES.iter().map(link).collect::<Vec<_>>().concat();
    include_str!("preview.html").replace("{{scenes}}", &links)
}

fn html(status: StatusCode, text: &str) -> HttpResponse {
    finish(uncached(status).header(CONTENT_TYPE, "text/html; charset=utf-8"), text.to_owned())
}
