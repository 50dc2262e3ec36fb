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
use routes::respond::{HttpResponse, finish, html, json, text, uncached};

/// Shows the custom page in this folder, read again for each request, or the built-in page.
#[derive(Debug)]
pub struct Preview(pub Option<PathBuf>);

/// One state of the page, and the answers that lead to it.
struct Scene {
    name: &'static str,
    about: &'static str,
    ticket: u64,
    answer: SceneAnswer,
}

/// How a poll of the page is answered.
enum SceneAnswer {
    /// Of this room, with this status, at this time.
    Waiting(fn(&mut Room, &mut LineStatus, Timestamp)),
    Newcomer,
    /// Of a room in this state.
    TooLate(RoomState),
    Admitted,
    Busy,
    /// Answers only after [`Preview::SLOW_ANSWER`].
    Late,
}

const MIDDLE: u64 = 7101;
/// In the scene `anew`, the line has overtaken this ticket. So the page goes to the door, which gives it the scene's ticket.
const OVERTAKEN: u64 = 4001;

const SCENES: &[Scene] = &[
    scene("waiting", "in the middle of the line", SceneAnswer::Waiting(|_, _, _| {})),
    scene(
        "message",
        "the same, with a message from you",
        SceneAnswer::Waiting(|room, _, _| {
            let text = "The \"Seal Stout\" is back in stock.\nThank you for waiting – it's worth it! 🦭";
            room.settings.message = text.parse().unwrap_or_default();
        }),
    ),
    scene(
        "vague",
        "few are released, and the line is far out of order, as SQS's may be",
        SceneAnswer::Waiting(|_, line, _| {
            (line.rate, line.disorder) = (Rate::new(60).unwrap_or(Rate::MIN), 600);
        }),
    ),
    scene(
        "scarce",
        "more people are ahead than will be let in",
        SceneAnswer::Waiting(|room, line, _| {
            if let Ok(size) = 5000.try_into() {
                room.sell(size);
            }
            line.left = Some(200);
        }),
    ),
    Scene { ticket: 4301, ..scene("soon", "almost there", SceneAnswer::Waiting(|_, _, _| {})) },
    scene(
        "slower",
        "the shop is slow, and the throttle holds the rate down",
        SceneAnswer::Waiting(|_, line, _| line.slow = true),
    ),
    scene(
        "paused",
        "you have paused the room",
        SceneAnswer::Waiting(|room, _, _| room.state = RoomState::Paused),
    ),
    scene(
        "opening",
        "you have set when the room opens",
        SceneAnswer::Waiting(|room, _, now| {
            // A full hour, so that every poll gives the same time.
            let hour = Duration::from_hours(1).as_secs() * 1000;
            room.open_at(Timestamp::from_millis((now.as_millis() / hour + 3) * hour));
        }),
    ),
    scene(
        "closed",
        "you have closed the room, and they have no place",
        SceneAnswer::TooLate(RoomState::Closed),
    ),
    scene("ended", "you have ended the room", SceneAnswer::TooLate(RoomState::Ended)),
    scene("turn", "it is their turn: the page goes to the shop", SceneAnswer::Admitted),
    scene(
        "held",
        "it is their turn, but the page is in the background (appears after a few seconds)",
        SceneAnswer::Admitted,
    ),
    scene(
        "anew",
        "their old place is no longer valid",
        SceneAnswer::Waiting(|_, line, _| line.overtaken = OVERTAKEN + 1),
    ),
    scene("unheard", "the room does not answer", SceneAnswer::Busy),
    scene("blocked", "the browser blocks cookies", SceneAnswer::Newcomer),
    scene("finding", "before the first answer", SceneAnswer::Late),
];

/// A scene in the middle of the line.
const fn scene(name: &'static str, about: &'static str, answer: SceneAnswer) -> Scene {
    Scene { name, about, ticket: MIDDLE, answer }
}

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
    // A scene is an answer to a poll.
    room.settings.edge = false;
    room.turn(RoomState::On);
    let rate = Rate::new(300).unwrap_or(Rate::MIN);
    let mut line =
        LineStatus { reached: 4100, overtaken: 0, disorder: 0, waiting: 9120, rate, slow: false, left: None };
    let visitor = match scene.answer {
        SceneAnswer::Waiting(adapt) => {
            adapt(&mut room, &mut line, now);
            VisitorState::Waiting
        }
        SceneAnswer::TooLate(state) => {
            room.turn(state);
            let text = "All 5,000 tickets are gone. Thank you for waiting! The next sale is in May.";
            room.notice.text = text.parse().unwrap_or_default();
            room.notice.link = Some(room.settings.shop.clone());
            VisitorState::Newcomer
        }
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
