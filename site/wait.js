// The waiting page: asks how the line stands, as often as the place warrants, says what the answer means, and
// moves on when it is our turn. line.js has the arithmetic, words.js the language, view.js the page.

import * as bell from "./bell.js";
import {
  MINUTE, covered, forecast, idlePoll, isPassed, mood, narrow, nextPoll, passedMark, place, retryIn,
} from "./line.js";
import * as memory from "./memory.js";
import * as view from "./view.js";
import { choose, localeFor, words } from "./words.js";

const DOOR = "../beekeeper";
const POLLING = "../polling";
/** An answer that takes longer is not worth waiting for. */
const PATIENCE = 20_000;
/** Long enough for a screen reader to begin to say that it is our turn. */
const FAREWELL = 1_500;
/** Somebody who presses the button again and again does not ask more often than this. */
const BREATH = 2_000;
/** Whoever is still here so long after leaving has pressed Stop. */
const DEPARTURE = 30_000;
/** For so long the page says that something took another turn than it had said. */
const EXPLAINED = 10 * MINUTE;

const room = document.title;
const ours = place(location.hash);
const journey = ours && memory.journey(ours);

/** The words of the visitor's language, once they are here. */
let say;
let state;
let hint;
/** What a screen reader was last told. */
let spoken = { ahead: Infinity, message: "" };
/** Whoever pressed the button is told what came of it. */
let isPressed = false;

let isAsking = false;
let isLeaving = false;
let failures = 0;
let askedAt = 0;
let nextAt = 0;
let lastWait = 0;
/** How long we wait while the room answers. */
let usualWait = 0;
let timer;

async function poll() {
  if (isAsking || isLeaving) return;
  const rested = Date.now() - askedAt;
  if (rested >= 0 && rested < BREATH) return pollIn(BREATH - rested);
  isAsking = true;
  askedAt = Date.now();
  tick();
  let wait;
  try {
    wait = heard(await ask());
    usualWait = wait;
    failures = 0;
  } catch {
    failures += 1;
    wait = retryIn(failures, usualWait, Math.random());
    // A single question that got lost is nobody's worry, and the way in stays open without an answer.
    if (state !== "held" && (failures > 1 || isPressed)) become("unheard");
  }
  isAsking = false;
  isPressed = false;
  if (!isLeaving) pollIn(wait);
}

function pollIn(wait) {
  clearTimeout(timer);
  timer = setTimeout(poll, wait);
  nextAt = Date.now() + wait;
  lastWait = wait;
  tick();
}

async function ask() {
  const limit = new AbortController();
  const giveUp = setTimeout(() => limit.abort(), PATIENCE);
  try {
    const response = await fetch(POLLING, { cache: "no-store", signal: limit.signal });
    if (!response.ok) throw new Error(`the room answered ${response.status}`);
    // The visitor's clock may be wrong; claims end by the server's.
    const serverNow = Date.parse(response.headers.get("date")) || Date.now();
    return { ...(await response.json()), serverNow };
  } finally {
    clearTimeout(giveUp);
  }
}

/** Takes in an answer, and returns how long to wait before the next question. */
function heard(answer) {
  view.fill("heard", say.say("heard", { time: say.time(Date.now()) }));
  if (answer.allow) return ourTurn(answer);
  if (answer.join || ours?.epoch !== answer.epoch) return mend(answer);
  stillWaiting(answer);
  memory.forgetTrips();
  if (memory.keeps && isPassed(ours.ticket, answer) && Math.abs(Date.now() - memory.lastDoubt()) > 2 * MINUTE) {
    memory.keepDoubt(Date.now());
    leave("passed");
  }
  return nextPoll(forecast(ours.ticket, answer).earliest, answer.stretch, Math.random());
}

/** No place, or one that is no longer valid. One trip to the door mends that; if it does not, we say why. */
function mend(answer) {
  const isOver = ours && ours.epoch === answer.epoch;
  if (!memory.keeps || memory.trips().some((why) => why !== "turn")) {
    become("blocked");
  } else if (isOver && document.hidden) {
    // A claim that nobody used. A new place is for somebody who looks, or a forgotten tab would stand in line
    // again and again.
    become("finding");
  } else {
    // Somebody to whom a link with a place was sent never had it.
    leave(journey?.start === undefined ? "new" : "anew");
  }
  return idlePoll(answer.stretch, Math.random());
}

function ourTurn({ until, serverNow }) {
  const wentInVain = memory.trips().filter((why) => why === "turn").length > 2;
  const call = `${say.say("turn")} ${room}`;
  if (!document.hidden && !wentInVain) {
    setTimeout(() => leave("turn"), state === "held" ? 0 : FAREWELL);
    // The page may be seen by nobody all the same.
    if (become("turn")) bell.ring(call);
    return MINUTE;
  }
  // Nobody looks, or the door keeps sending us back: the way in stays open.
  const closes = until && Date.now() + (until - serverNow);
  if (become("held", closes ? say.say("heldHint", { time: say.time(closes) }) : say.say("heldOpenHint"))) bell.ring(call);
  return idlePoll(1, Math.random());
}

function leave(why) {
  if (isLeaving) return;
  isLeaving = true;
  clearTimeout(timer);
  memory.addTrip(why);
  location.replace(DOOR);
  // Still here, because somebody pressed Stop: then we go on waiting.
  timer = setTimeout(() => { isLeaving = false; poll(); }, DEPARTURE);
}

function stillWaiting(line) {
  const now = Date.now();
  const ahead = forecast(ours.ticket, line);
  const mode = mood(line, ahead);
  const range = line.paused ? undefined : narrow(journey.range, ahead, now);
  const isFirst = journey.start === undefined;
  const isMended = memory.trips().some((why) => why !== "new" && why !== "asked");
  const anewAt = isFirst && isMended ? now : journey.anewAt;
  const start = journey.start ?? line.served;
  const share = Math.max(journey.share ?? 0, covered(start, ours.ticket, line.served));
  Object.assign(journey, { range, anewAt, start, share });
  memory.keepJourney(journey);

  const when = range ? say.when(range, now) : say.say("whenPaused");
  const number = say.number(ahead.ahead);
  view.fill("ticket", say.number(ours.ticket));
  view.fill("ahead", number);
  view.fill("when", when);
  view.setBar(share);
  view.show("place", true);
  view.fill("message", line.message);
  view.show("notice", line.message !== "");

  const isRecent = (at) => at !== undefined && now - at < EXPLAINED;
  const isLonger = (mode === "waiting" || mode === "soon") && isRecent(range.laterAt);
  const key = !line.paused && isRecent(anewAt) ? "anewHint" : isLonger ? "longerHint" : `${mode}Hint`;
  const facts = `${say.say("ahead")} ${number}. ${say.say("when")}: ${when}.`;
  const news = line.message && line.message !== spoken.message ? `${say.say("message")}: ${line.message}` : "";
  const isMark = isPressed || passedMark(spoken.ahead, ahead.ahead);
  if (!become(mode, say.say(key), `${facts} ${news}`) && (isMark || news)) {
    view.announce(`${isMark ? facts : ""} ${news}`);
  }
  spoken = { ahead: isMark ? ahead.ahead : spoken.ahead, message: line.message };
}

/** Puts the page into a state, and returns whether it is another than before. What is new is also spoken. */
function become(next, explanation = say.say(`${next}Hint`), facts = "") {
  const isAnother = next !== state;
  // Until when the way in stays open is reckoned anew each time, and a minute more or less is no news.
  const isNews = isAnother || (explanation !== hint && next !== "held");
  const isTurn = next === "turn" || next === "held";
  [state, hint] = [next, explanation];
  view.setState(state);
  view.fill("state", say.say(state));
  view.fill("hint", hint);
  view.show("enter", isTurn);
  if (isTurn) view.handOver("polls", "enter");
  view.show("polls", !isTurn);
  view.show("keep", next !== "blocked");
  view.show("choices", !isTurn && next !== "blocked");
  if (isTurn || next === "blocked") view.show("place", false);
  view.setTab(isTurn || state === "paused" ? `${say.say(state)} – ${room}` : room, isTurn);
  if (isNews) view.announce(`${say.say(state)}. ${hint} ${facts}`);
  return isNews;
}

/** The seconds until the next question: seen, and not spoken. */
function tick() {
  const now = Date.now();
  // The machine slept, or its clock was set.
  const isAmiss = now > nextAt + BREATH || nextAt - now > lastWait + BREATH;
  if (isAmiss && timer !== undefined && !isAsking && !isLeaving) return void poll();
  const text = isAsking ? say.say("checking") : say.say("next", { countdown: say.countdown(nextAt - Date.now()) });
  view.fill("next", text);
}

async function begin() {
  const preferred = navigator.languages?.length ? navigator.languages : [navigator.language];
  const language = choose(preferred);
  const { default: texts } = await import(`./text-${language}.js`);
  say = words(texts, localeFor(language, preferred));
  view.speak(language, say);
  become("finding");

  view.onPress("check", () => {
    isPressed = true;
    // Perhaps cookies are allowed by now: only the door can tell, and a press is no loop.
    if (state === "blocked") leave("asked");
    else poll();
  });
  view.onPress("enter", () => {
    isLeaving = false; // The way may have been stopped.
    leave("turn");
  });
  bell.restore();
  view.show("soundChoice", bell.canSound);
  view.show("notifyChoice", bell.canNotify);
  view.onTick("sound", bell.isOn("sound"), bell.setSound);
  view.onTick("notify", bell.isOn("notify"), async (isWanted) => {
    const isOn = await bell.setNotify(isWanted);
    view.fill("notifyRefused", isWanted && !isOn ? say.say("notifyRefused") : "");
    return isOn;
  });

  addEventListener("online", poll);
  addEventListener("pageshow", ({ persisted }) => {
    // Back from the shop: the browser brings the page as it was when it left.
    if (!persisted) return;
    [isLeaving, isAsking] = [false, false];
    poll();
  });
  document.addEventListener("visibilitychange", () => { if (!document.hidden) poll(); });
  setInterval(tick, 1_000);
  poll();
}

// Without its words the page can say nothing: the fallback in the page offers a way, and we try again.
begin().catch(() => setTimeout(() => location.reload(), retryIn(3, 0, Math.random())));
