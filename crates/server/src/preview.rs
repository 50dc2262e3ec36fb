//! `/preview/`: the page in every state, for its designer.
//!
//! All URLs in the page are relative. So a page below `/preview/<scene>/` uses a door and a poll there, which give
//! constant answers about a visitor who does not exist.

use std::path::PathBuf;
use std::time::Duration;

use hyper::body::Incoming;
use hyper::header::LOCATION;
use hyper::{Request, Response, StatusCode};
use page::Design;
use poll::{PollAnswer, VisitorState};
use waitroom::{LineStatus, Rate, Room, RoomState, Timestamp};

use crate::files::Files;
use crate::respond::{HttpResponse, finish, html, json, text, uncached};

/// Shows the custom page in this folder, read again for each request, or the built-in page.
#[derive(Debug)]
pub struct Preview(pub Option<PathBuf>);

/// One state of the page, and the answers that lead to it.
struct Scene {
    name: &'static str,
    about: &'static str,
    ticket: u64,
    /// Adapts the room and the status at this time, and says how the poll answers.
    answer: fn(&mut Room, &mut LineStatus, Timestamp) -> SceneAnswer,
}

/// How a poll of the page is answered.
enum SceneAnswer {
    Waiting,
    Newcomer,
    Admitted,
    Busy,
    /// Answers only after [`Preview::SLOW_ANSWER`].
    Late,
}

const MIDDLE: u64 = 7101;
/// In the scene `anew`, the line has overtaken this ticket. So the page goes to the door, which gives it the scene's ticket.
const OVERTAKEN: u64 = 4001;

const SCENES: &[Scene] = &[
    Scene {
        name: "waiting",
        about: "in the middle of the line",
        ticket: MIDDLE,
        answer: |_, _, _| SceneAnswer::Waiting,
    },
    Scene {
        name: "message",
        about: "the same, with a message from you",
        ticket: MIDDLE,
        answer: |room, _, _| {
            if let Ok(text) =
                "The \"Seal Stout\" is back in stock.\nThank you for waiting – it's worth it! 🦭".parse()
            {
                room.settings.message = text;
            }
            SceneAnswer::Waiting
        },
    },
    Scene {
        name: "vague",
        about: "few are released, and the line is far out of order, as SQS's may be",
        ticket: MIDDLE,
        answer: |_, line, _| {
            (line.rate, line.disorder) = (Rate::new(60).unwrap_or(Rate::MIN), 600);
            SceneAnswer::Waiting
        },
    },
    Scene { name: "soon", about: "almost there", ticket: 4301, answer: |_, _, _| SceneAnswer::Waiting },
    Scene {
        name: "slower",
        about: "the shop is slow, and the throttle holds the rate down",
        ticket: MIDDLE,
        answer: |_, line, _| {
            line.slow = true;
            SceneAnswer::Waiting
        },
    },
    Scene {
        name: "paused",
        about: "you have paused the room",
        ticket: MIDDLE,
        answer: |room, _, _| {
            room.state = RoomState::Paused;
            SceneAnswer::Waiting
        },
    },
    Scene {
        name: "opening",
        about: "you have set when the room opens",
        ticket: MIDDLE,
        answer: |room, _, now| {
            // A full hour, so that every poll gives the same time.
            let hour = Duration::from_hours(1).as_secs() * 1000;
            room.open_at(Timestamp::from_millis((now.as_millis() / hour + 3) * hour));
            SceneAnswer::Waiting
        },
    },
    Scene {
        name: "turn",
        about: "it is their turn: the page goes to the shop",
        ticket: MIDDLE,
        answer: |_, _, _| SceneAnswer::Admitted,
    },
    Scene {
        name: "held",
        about: "it is their turn, but the page is in the background (appears after a few seconds)",
        ticket: MIDDLE,
        answer: |_, _, _| SceneAnswer::Admitted,
    },
    Scene {
        name: "anew",
        about: "their old place is no longer valid",
        ticket: MIDDLE,
        answer: |_, line, _| {
            line.overtaken = OVERTAKEN + 1;
            SceneAnswer::Waiting
        },
    },
    Scene {
        name: "unheard",
        about: "the room does not answer",
        ticket: MIDDLE,
        answer: |_, _, _| SceneAnswer::Busy,
    },
    Scene {
        name: "blocked",
        about: "the browser blocks cookies",
        ticket: MIDDLE,
        answer: |_, _, _| SceneAnswer::Newcomer,
    },
    Scene {
        name: "finding",
        about: "before the first answer",
        ticket: MIDDLE,
        answer: |_, _, _| SceneAnswer::Late,
    },
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
            return Some(html(Response::builder(), index(room)));
        }
        let (scene, rest) = path.split_once('/')?;
        let scene = SCENES.iter().find(|known| known.name == scene)?;
        match rest {
            "polling" => Some(poll(scene, room, now).await),
            "beekeeper" if scene.name == "turn" => {
                Some(html(Response::builder(), styled(include_str!("preview-shop.html"))))
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
        // Read for each request, so that a reload shows what the designer has just saved.
        let read = move || folder.as_deref().map_or_else(|| Ok(Design::default()), Design::read);
        match tokio::task::spawn_blocking(read).await.ok()? {
            Ok(design) => Files::new(&design.page(&room.settings.title)).answer(name, request),
            Err(error) => Some(text(StatusCode::INTERNAL_SERVER_ERROR, error.to_string())),
        }
    }
}

async fn poll(scene: &Scene, room: &Room, now: Timestamp) -> HttpResponse {
    let mut room = room.clone();
    room.turn(RoomState::On);
    let rate = Rate::new(300).unwrap_or(Rate::MIN);
    let mut line = LineStatus { reached: 4100, overtaken: 0, disorder: 0, waiting: 9120, rate, slow: false };
    let visitor = match (scene.answer)(&mut room, &mut line, now) {
        SceneAnswer::Waiting => VisitorState::Waiting,
        SceneAnswer::Newcomer => VisitorState::Newcomer,
        SceneAnswer::Admitted => VisitorState::Admitted { until: now + room.settings.lifetimes.admission },
        SceneAnswer::Busy => return json(uncached(StatusCode::SERVICE_UNAVAILABLE), &()),
        SceneAnswer::Late => {
            tokio::time::sleep(Preview::SLOW_ANSWER).await;
            return json(uncached(StatusCode::SERVICE_UNAVAILABLE), &());
        }
    };
    json(Response::builder(), &PollAnswer::new(&room, &line, visitor))
}

fn index(room: &Room) -> String {
    let link = |scene: &Scene| {
        let Scene { name, about, ticket, .. } = scene;
        let (epoch, ticket) = (room.epoch, if *name == "anew" { OVERTAKEN } else { *ticket });
        format!("<li><a href=\"{name}/wait/index.html#{epoch}-{ticket}\">{name}</a>: {about}</li>\n")
    };
    let links = SCENES.iter().map(link).collect::<Vec<_>>().concat();
    styled(include_str!("preview.html")).replace("{{scenes}}", &links)
}

fn styled(html: &str) -> String {
    html.replace("{{style}}", page::STYLE)
}
