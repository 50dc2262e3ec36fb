// The waiting page's program. It polls the room, shows what the answer means for this visitor, and goes to the door
// when it is their turn. visitor.js decides what is next, line.js computes, words.js translates, view.js changes the document,
// memory.js stores.

import * as bell from "./bell.js";
import {
  MINUTE, forecast, isPaused, isScarce, lineAt, narrow, place, progress, reachedMilestone, waitingState,
} from "./line.js";
import * as memory from "./memory.js";
import * as view from "./view.js";
import { byOwnClock, hear, hearShared, refused } from "./visitor.js";
import { TEXTS, chooseLanguage, localeFor, translator } from "./words.js";

const DOOR = "../beekeeper";
const POLLING = "../polling";
/** How the line stands, the same for everybody: what an edge in front of the room keeps for a second. */
const STATUS = "../status";
/** A poll fails if it takes longer. */
const POLL_TIMEOUT = 20_000;
/** An edge has its answer by then, or it has none. */
const EDGE_TIMEOUT = 3_000;
/** The shortest time between two polls, however often the button is pressed. */
const MIN_POLL_GAP = 2_000;
/**
 * If the page is still here so long after it went to the door, the visitor stopped the navigation. Before a slow shop has answered, or
 * a proxy in its place after the usual minute, another trip would cancel that request and send a second one.
 */
const LEAVE_TIMEOUT = 90_000;
/** How long the page explains a later turn or a new place. */
const EXPLAINED_FOR = 10 * MINUTE;

const room = document.title;
const ownPlace = place(location.hash);
const journey = ownPlace && memory.journey(ownPlace);
/** Whether the tab comes from the door, which knows this browser's place. */
const isFromDoor = memory.inTab().trips.length > 0;

/** The texts in the visitor's language. */
let words;
let state;
/** Whether it says all that there is to know: that the visitor may enter, or why they have no place. */
let isSettled = false;
/** What the hint means that is shown. */
let hint;
/** The last answer about this visitor's place. */
let line;
/** What screen readers announced last. */
let announced = { ahead: Infinity, message: "" };
/** Whether the visitor pressed the button. Then the answer is announced even if nothing changed. */
let isPressed = false;

let isPolling = false;
let isLeaving = false;
/** How often in a row the room refused a poll, or an edge. */
let refusals = 0;
let wasShared = false;
let polledAt = 0;
/** How far the room's clock is ahead of the visitor's. What an edge says may have the time of an older answer. */
let clockAhead;
/** What is next, when, and after which time: a poll, or a trip to the door if there is a reason `why`. */
let planned = { at: 0, after: 0 };
/** What visitor.js knows until a reload. */
const page = {};
let timer;

/** Asks the room, or how the line stands if that is enough. */
async function poll(isShared = false) {
  // "Your turn" is shown, and then the page goes to the door, whatever happens meanwhile.
  if (isPolling || isLeaving || planned.why) return;
  const elapsed = Date.now() - polledAt;
  if (elapsed >= 0 && elapsed < MIN_POLL_GAP) return schedule({ after: MIN_POLL_GAP - elapsed });
  isPolling = true;
  if (!isShared) polledAt = Date.now();
  tick();
  let step;
  try {
    const answer = await (isShared ? fetchStatus() : fetchPoll());
    const kept = memory.inTab();
    const { trips } = kept;
    const moment = {
      now: Date.now(), chance: Math.random, keeps: memory.keeps, isHidden: document.hidden, isHeld: state === "held",
    };
    // Whoever pressed the button meanwhile asked for themselves.
    const isAskedAgain = isShared && isPressed;
    step = isAskedAgain ? { after: 0 } : (isShared ? hearShared : hear)({ place: ownPlace, kept, page }, answer, moment);
    // This URL has another place than the browser: somebody sent it, or another tab has joined again. The door knows which is valid.
    const isNew = isFromDoor && journey?.start === undefined;
    const isOthers = step.shows === "line" && !isNew && trips.length === 0 && memory.hasOther(ownPlace);
    if (isOthers) step = { after: 0, why: "asked" };
    memory.keepInTab(kept);
    show(step.shows, answer, trips);
    refusals = 0;
  } catch {
    refusals = isShared === wasShared ? refusals + 1 : 1;
    wasShared = isShared;
    // An edge that has no answer twice is gone, and who presses the button asks for themselves.
    const isEdgeGone = isShared && (refusals > 1 || isPressed);
    if (isEdgeGone) refusals = 0;
    // What cannot be shown is done all the same.
    step ??= isEdgeGone ? { after: 0 } : { ...refused(page, refusals, Date.now(), Math.random()), shared: isShared };
    // One failed poll is not shown.
    if (!isSettled && !isShared && (refusals > 1 || isPressed)) showState("unheard", ownPlace ? undefined : "");
  }
  isPolling = false;
  isPressed &&= isShared;
  if (isLeaving) return;
  if (step.why && step.after === 0) leave(step.why);
  else schedule(step);
}

function schedule(step) {
  clearTimeout(timer);
  timer = setTimeout(goOn, step.after);
  planned = { ...step, at: Date.now() + step.after };
  tick();
}

function goOn() {
  // Later than planned, much may have happened: the machine slept.
  const isInTime = Date.now() <= planned.at + MIN_POLL_GAP;
  if (planned.why) leave(planned.why);
  else poll(planned.shared && isInTime && clockAhead !== undefined);
}

async function fetchPoll() {
  const { headers, answer } = await fetchAnswer(POLLING, POLL_TIMEOUT, { cache: "no-store" });
  const date = Date.parse(headers.get("date"));
  clockAhead = Number.isNaN(date) ? undefined : date - Date.now();
  return inTime(answer);
}

async function fetchStatus() {
  return inTime((await fetchAnswer(STATUS, EDGE_TIMEOUT, { credentials: "omit" })).answer);
}

const inTime = (answer) => byOwnClock(answer, Date.now() + (clockAhead ?? 0), Date.now());

async function fetchAnswer(path, patience, options) {
  const controller = new AbortController();
  const timeout = setTimeout(() => controller.abort(), patience);
  try {
    const response = await fetch(path, { ...options, signal: controller.signal });
    if (!response.ok) throw new Error(`the room answered ${response.status}`);
    return { headers: response.headers, answer: await response.json() };
  } finally {
    clearTimeout(timeout);
  }
}

/** Shows what an answer means for this visitor. `trips` are those to the door that it ended. */
function show(shows, answer, trips) {
  view.fill("heard", words.text("heard", { time: words.time(Date.now()) }));
  if (shows) showMessage(answer);
  if (shows === "line") {
    line = answer;
    showPlace(trips);
  } else if (shows === "turn" || shows === "held") {
    const wasHeld = state === "held";
    const isTold = showState(shows, shows === "held" ? untilWhen(answer) : undefined);
    // Also at the turn: a page can be visible to the browser while nobody looks at it. Who was held has heard it.
    if (isTold && !wasHeld) bell.ring(`${words.text("turn")} ${room}`);
  } else if (shows === "closed" || shows === "ended") {
    showState(shows, undefined, answer.message, answer.message);
  } else if (shows) {
    showState(shows);
  }
}

/** What the operator says, if anything, with the link for those who come too late. */
function showMessage({ message = "", link }) {
  view.fill("message", message);
  view.show("messageBox", message);
  view.setLink(link, link && words.text("link", { site: new URL(link).host }));
}

/** Nobody looks, or the door keeps sending the visitor back: there is a button, and this says until when it works. */
function untilWhen({ closesAt }) {
  return closesAt ? words.text("heldHint", { time: words.time(closesAt, Date.now()) }) : words.text("heldOpenHint");
}

function leave(why) {
  if (isLeaving) return;
  isLeaving = true;
  planned.why = undefined;
  clearTimeout(timer);
  const kept = memory.inTab();
  // Without a journey this browser never had the place: somebody sent the visitor a link that contains one.
  kept.trips.push(why === "anew" && journey?.start === undefined ? "new" : why);
  memory.keepInTab(kept);
  location.replace(DOOR);
  // The visitor may stop the navigation. Then the page goes on polling.
  timer = setTimeout(() => { isLeaving = false; poll(); }, LEAVE_TIMEOUT);
}

function showPlace(trips = []) {
  const now = Date.now();
  line = lineAt(line, now);
  const expected = forecast(ownPlace.ticket, line);
  const next = waitingState(line, expected);
  const range = isPaused(line) ? undefined : narrow(journey.range, expected, now);
  const isFirst = journey.start === undefined;
  const isReplaced = trips.some((why) => why !== "new" && why !== "asked");
  const anewAt = isFirst && isReplaced ? now : journey.anewAt;
  const start = journey.start ?? line.served;
  // The bar never goes back.
  const share = Math.max(journey.share ?? 0, progress(start, ownPlace.ticket, line.served));
  Object.assign(journey, { range, anewAt, start, share });
  memory.keepJourney(journey);

  const isOpening = next === "opening";
  const unknown = isOpening ? words.whenOpening(expected.latest) : words.text("whenPaused");
  const when = range ? words.when(range, now) : unknown;
  const ahead = words.number(expected.ahead);
  view.fill("ticket", words.number(ownPlace.ticket));
  view.fill("ahead", ahead);
  view.fill("when", when);
  view.setBar(share);
  view.show("place", true);

  // Not for longer if the visitor's clock is set back.
  const isRecent = (at) => at !== undefined && Math.abs(now - at) < EXPLAINED_FOR;
  const isLonger = (next === "waiting" || next === "soon") && isRecent(range.laterAt);
  const key = !isPaused(line) && isRecent(anewAt) ? "anewHint" : isLonger ? "longerHint" : `${next}Hint`;
  const usual = isOpening ? words.text("openingHint", { time: words.date(line.opens) }) : words.text(key);
  const scarce = isScarce(line, expected) && words.text("scarceHint", { left: words.number(line.stock), ahead });
  // While nobody is let in, the visitor reads why, too.
  const explanation = scarce ? (isPaused(line) ? `${usual} ${scarce}` : scarce) : usual;
  const numbers = `${words.text("ahead")} ${ahead}. ${words.text("when")}: ${when}.`;
  const isNewMessage = line.message && line.message !== announced.message;
  const message = isNewMessage ? `${words.text("message")}: ${line.message}` : "";
  const isDue = isPressed || reachedMilestone(announced.ahead, expected.ahead);
  // The numbers are the answer, without the state.
  isPressed = false;
  // Its numbers change with nearly every poll.
  const meaning = scarce ? `${usual} scarce` : usual;
  if (!showState(next, explanation, `${numbers} ${message}`, meaning) && (isDue || message)) {
    view.announce(`${isDue ? numbers : ""} ${message}`);
  }
  announced = { ahead: isDue ? expected.ahead : announced.ahead, message: line.message };
}

/** Shows a state, and announces it if the visitor asked, or if it or the `meaning` of its explanation changed. Returns whether it did. */
function showState(next, explanation = words.text(`${next}Hint`), details = "", meaning = explanation) {
  // The time in the hint of "held" is computed from each poll and may differ by a minute: that is no change.
  const isChanged = next !== state || (meaning !== hint && next !== "held");
  const isTurn = next === "turn" || next === "held";
  const isAway = next === "closed" || next === "ended";
  isSettled = isTurn || isAway || next === "blocked";
  const isInLine = ownPlace && !isSettled;
  [state, hint] = [next, meaning];
  view.setState(state);
  view.fill("state", words.text(state));
  view.fill("hint", explanation);
  view.show("enter", isTurn);
  if (isTurn) view.moveFocus("polls", "enter");
  view.show("polls", !isTurn);
  view.show("keep", isInLine);
  view.show("choices", isInLine);
  bell.setWaiting(isInLine || next === "turn");
  if (!isInLine) view.show("place", false);
  // While the room does not answer, its opening still comes nearer.
  if (next !== "unheard") view.show("opens", next === "opening");
  view.setTab(isTurn || isAway || state === "paused" || state === "opening" ? `${words.text(state)} – ${room}` : room, isTurn);
  if (isChanged || isPressed) view.announce(`${words.text(state)}. ${explanation} ${details}`);
  return isChanged;
}

/** Updates the countdowns and the time until the turn, once a second. Screen readers do not announce them. */
function tick() {
  const now = Date.now();
  if (line?.opensAt > now) view.fill("countdown", words.opensIn(line.opensAt - now));
  else if (state === "opening") showPlace();
  else if (line && state === "unheard" && !(journey.range?.to > now)) {
    // What was said last has passed, the opening too, and nothing is known until the room answers.
    view.show("opens", false);
    view.fill("when", words.text("whenPaused"));
  } else if (line && journey.range) view.fill("when", words.when(journey.range, now));
  // The machine slept, or its clock was changed.
  const isWrong = now > planned.at + MIN_POLL_GAP || planned.at - now > planned.after + MIN_POLL_GAP;
  if (isWrong && timer !== undefined && !isPolling && !isLeaving) return void goOn();
  const countdown = () => words.text("next", { countdown: words.countdown(planned.at - Date.now()) });
  view.fill("next", isPolling ? words.text("checking") : countdown());
}

function start() {
  const preferred = navigator.languages?.length ? navigator.languages : [navigator.language];
  const language = chooseLanguage(preferred);
  words = translator(TEXTS[language], localeFor(language, preferred));
  view.translate(language, words);
  showMessage({});
  showState("finding");

  view.onPress("check", () => {
    isPressed = true;
    // The visitor may have allowed cookies meanwhile. Only the door can tell. A press cannot make a redirect loop.
    if (state === "blocked") leave("asked");
    else poll();
  });
  view.onPress("enter", () => {
    isLeaving = false; // The visitor may have stopped the first attempt.
    leave("turn");
  });
  bell.restore();
  view.show("soundChoice", bell.canSound);
  view.show("notifyChoice", bell.canNotify);
  view.onTick("sound", bell.isOn("sound"), bell.setSound);
  view.onTick("notify", bell.isOn("notify"), async (isWanted) => {
    const isOn = await bell.setNotify(isWanted);
    view.fill("notifyRefused", isWanted && !isOn ? words.text("notifyRefused") : "");
    return isOn;
  });

  addEventListener("online", () => poll());
  addEventListener("pageshow", ({ persisted }) => {
    // The visitor came back from the shop, and the browser restored the page as it was when it left.
    if (!persisted) return;
    [isLeaving, isPolling] = [false, false];
    poll();
  });
  document.addEventListener("visibilitychange", () => { if (!document.hidden) poll(); });
  setInterval(tick, 1_000);
  poll();
}

// A page that its browser makes ahead is nobody's yet, and the door gives it no place. It would ask the door in a circle.
if (document.prerendering) document.addEventListener("prerenderingchange", start);
else start();
