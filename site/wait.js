// The waiting page: asks how the line stands, as often as the place warrants, and moves on when it is our turn.

const DOOR = "../beekeeper";
const MINUTE = 60_000;

const show = (id, text) => { document.getElementById(id).textContent = text; };

/** Our place, from the fragment that the door sent us here with: `<epoch>-<ticket>`. */
export function place(fragment) {
  const found = /^#([a-z0-9]{4})-([1-9][0-9]{0,15})$/.exec(fragment);
  return found && { epoch: found[1], ticket: Number(found[2]) };
}

/** How many are ahead at most, and the milliseconds until our turn, from and to. */
export function forecast(ticket, line) {
  const ahead = Math.min(Math.max(0, ticket - line.served - 1), Math.max(0, line.waiting - 1));
  const takes = (people) => (people * MINUTE) / line.rate;
  return { ahead, earliest: takes(ahead - Math.floor(ahead / 3)), latest: takes(ahead) + MINUTE };
}

/** A quarter of the forecast, from 5 s to 5 min, spread by a tenth so that nobody asks in step. */
export function nextPoll(earliest, random) {
  const within = (millis) => Math.min(Math.max(millis, 5_000), 5 * MINUTE);
  return within(within(earliest / 4) * (0.9 + 0.2 * random));
}

export function when({ earliest, latest }) {
  const [from, to] = [Math.round(earliest / MINUTE), Math.ceil(latest / MINUTE)];
  if (from < 1) return "any moment now, within " + to + (to === 1 ? " minute" : " minutes");
  return "in about " + from + " to " + to + " minutes";
}

let failures = 0;
let timer;

async function poll() {
  clearTimeout(timer);
  let wait = Math.min(5_000 * 2 ** failures, MINUTE);
  try {
    const response = await fetch("../polling", { cache: "no-store" });
    if (!response.ok) throw new Error("status " + response.status);
    const line = await response.json();
    failures = 0;
    wait = heard(line);
  } catch {
    failures += 1;
    show("state", "The room did not answer just now. Your place is kept; trying again.");
  }
  if (wait !== undefined) timer = setTimeout(poll, wait * (0.9 + 0.2 * Math.random()));
}

/** Takes in an answer. Returns how long to wait before the next question; nothing when we leave. */
function heard(line) {
  const ours = place(location.hash);
  if (line.allow) {
    show("state", "It is your turn.");
    location.replace(DOOR);
    return undefined;
  }
  if (line.join || !ours || ours.epoch !== line.epoch) {
    // One trip to the door mends a lost or outdated place. If it does not, the browser keeps our cookie back.
    if (sessionStorage.getItem("mended") === null) {
      sessionStorage.setItem("mended", "once");
      location.replace(DOOR);
      return undefined;
    }
    show("state", "This browser does not keep cookies for this page, so it cannot keep a place for you. Allow cookies and reload.");
    return MINUTE;
  }
  sessionStorage.removeItem("mended");
  const ahead = forecast(ours.ticket, line);
  document.getElementById("place").hidden = false;
  show("ticket", ours.ticket.toLocaleString());
  show("ahead", ahead.ahead.toLocaleString());
  show("when", line.paused ? "when the line moves again" : when(ahead));
  show("state", line.paused
    ? "The line is paused for a moment. Your place is kept."
    : "You are in line. This page lets you in when it is your turn.");
  document.getElementById("message").hidden = !line.message;
  show("message", line.message);
  show("heard", "Last heard from the room at " + new Date().toLocaleTimeString() + ".");
  return nextPoll(ahead.earliest, Math.random());
}

if (typeof document !== "undefined") {
  addEventListener("online", poll);
  document.addEventListener("visibilitychange", () => { if (!document.hidden) poll(); });
  poll();
}
