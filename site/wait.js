// The waiting page's program. It polls the room, shows what the answer means for this visitor, and goes to the door
// when it is their turn. line.js computes, words.js translates, view.js changes the document, memory.js stores.

import * as bell from "./bell.js";
import {
  MINUTE, forecast, idlePoll, isPassed, lineAt, narrow, nextPoll, place, pollAroundOpening, progress, reachedMilestone,
  retryIn, waitingState,
} from "./line.js";
import * as memory from "./memory.js";
import * as view from "./view.js";
import { TEXTS, chooseLanguage, localeFor, translator } from "./words.js";

const DOOR = "../beekeeper";
const POLLING = "../polling";
/** A poll fails if it takes longer. */
const POLL_TIMEOUT = 20_000;
/** From showing "your turn" to leaving: enough for a screen reader to begin to say it. */
const TURN_SHOWN = 1_500;
/** The shortest time between two polls, however often the button is pressed. */
const MIN_POLL_GAP = 2_000;
/** If the page is still here so long after it went to the door, the visitor stopped the navigation. */
const LEAVE_TIMEOUT = 30_000;
/** How long the page explains a later turn or a new place. */
const EXPLAINED_FOR = 10 * MINUTE;

const room = document.title;
const ownPlace = place(location.hash);
const journey = ownPlace && memory.journey(ownPlace);

/** The texts in the visitor's language. */
let words;
let state;
let hint;
/** The last answer about this visitor's place. */
let line;
/** What screen readers announced last. */
let announced = { ahead: Infinity, message: "" };
/** Whether the visitor pressed the button. Then the answer is announced even if nothing changed. */
let isPressed = false;

let isPolling = false;
let isLeaving = false;
let failures = 0;
let polledAt = 0;
let nextAt = 0;
let lastWait = 0;
/** When the room last answered, in what time it was worth asking again, and the operator's stretch. */
let heard = { at: 0, askIn: 0, stretch: 0 };
/** Whether this page has given the door time to learn of a reset. */
let hasAwaitedDoor = false;
let timer;

async function poll() {
  if (isPolling || isLeaving) return;
  const elapsed = Date.now() - polledAt;
  if (elapsed >= 0 && elapsed < MIN_POLL_GAP) return schedulePoll(MIN_POLL_GAP - elapsed);
  isPolling = true;
  polledAt = Date.now();
  tick();
  let wait;
  try {
    wait = handle(await fetchPoll());
    failures = 0;
  } catch {
    failures += 1;
    wait = retryIn(failures, usualWait(), Math.random());
    // One failed poll is not shown. Somebody who may already enter needs no answer.
    if (state !== "held" && (failures > 1 || isPressed)) showState("unheard");
  }
  isPolling = false;
  isPressed = false;
  if (!isLeaving) schedulePoll(wait);
}

/** The time between two polls, if the room answered now: shorter and shorter, because the turn comes nearer. 0 at first. */
function usualWait() {
  return nextPoll({ ...heard, askIn: heard.askIn - (Date.now() - heard.at) / 2 }, heard.stretch, 0.5);
}

function schedulePoll(wait) {
  clearTimeout(timer);
  timer = setTimeout(poll, wait);
  nextAt = Date.now() + wait;
  lastWait = wait;
  tick();
}

async function fetchPoll() {
  const controller = new AbortController();
  const timeout = setTimeout(() => controller.abort(), POLL_TIMEOUT);
  try {
    const response = await fetch(POLLING, { cache: "no-store", signal: controller.signal });
    if (!response.ok) throw new Error(`the room answered ${response.status}`);
    // `until` and `opens` are in the server's time. The visitor's clock may be wrong.
    const serverNow = Date.parse(response.headers.get("date")) || Date.now();
    const answer = await response.json();
    const opensAt = answer.opens && Date.now() + (answer.opens - serverNow);
    return { ...answer, opensAt, serverNow };
  } finally {
    clearTimeout(timeout);
  }
}

/** Acts on a poll's answer and returns the time until the next poll. */
function handle(answer) {
  const now = Date.now();
  view.fill("heard", words.text("heard", { time: words.time(now) }));
  const { stretch = 1 } = answer;
  heard = { at: now, askIn: Infinity, stretch };
  if (answer.allow) return enter(answer);
  if (answer.join || ownPlace?.epoch !== answer.epoch) return rejoin(answer);
  line = answer;
  showPlace();
  memory.forgetTrips();
  const sinceCheck = Math.abs(Date.now() - memory.passedCheckAt());
  if (memory.keeps && isPassed(ownPlace.ticket, answer) && sinceCheck > 2 * MINUTE) {
    memory.keepPassedCheck(Date.now());
    leave("passed");
  }
  const expected = forecast(ownPlace.ticket, answer);
  const { opensAt } = lineAt(answer, now);
  Object.assign(heard, opensAt ? { askIn: expected.askIn + opensAt - now } : expected);
  if (opensAt) return pollAroundOpening(opensAt - now, expected, stretch, Math.random());
  return nextPoll(expected, stretch, Math.random());
}

/** The visitor has no place, or one that is no longer valid. The door gives a new one; if it did not, say why. */
function rejoin(answer) {
  const isExpired = ownPlace && ownPlace.epoch === answer.epoch;
  const trips = memory.trips().filter((why) => why !== "turn").length;
  // On AWS, a door may learn of a reset a second later than the polls. Until then it sends visitors back with the old place.
  const isOld = ownPlace && !isExpired;
  if (memory.keeps && isOld && trips === 1 && !hasAwaitedDoor) {
    hasAwaitedDoor = true;
    showState("finding");
    return nextPoll({ askIn: 0 }, answer.stretch, Math.random());
  }
  if (!memory.keeps || trips > (isOld ? 1 : 0)) {
    showState("blocked");
  } else if (isExpired && document.hidden) {
    // The visitor was admitted and did not enter in time. A new place waits until somebody looks at the page:
    // otherwise a forgotten tab would join again and again.
    showState("finding");
  } else {
    // Without a journey this browser never had the place: somebody sent the visitor a link that contains one.
    leave(journey?.start === undefined ? "new" : "anew");
  }
  return idlePoll(answer.stretch, Math.random());
}

/** It is the visitor's turn: goes to the door, or alerts a visitor who is not looking. */
function enter({ until, serverNow }) {
  const isSentBack = memory.trips().filter((why) => why === "turn").length > 2;
  const alertText = `${words.text("turn")} ${room}`;
  if (!document.hidden && !isSentBack) {
    setTimeout(() => leave("turn"), state === "held" ? 0 : TURN_SHOWN);
    // A page can be visible to the browser while nobody looks at it.
    if (showState("turn")) bell.ring(alertText);
    return MINUTE;
  }
  // Nobody looks, or the door keeps sending the visitor back: show a button and until when it works.
  const closesAt = until && Date.now() + (until - serverNow);
  const explanation = closesAt ? words.text("heldHint", { time: words.time(closesAt) }) : words.text("heldOpenHint");
  if (showState("held", explanation)) bell.ring(alertText);
  return idlePoll(1, Math.random());
}

function leave(why) {
  if (isLeaving) return;
  isLeaving = true;
  clearTimeout(timer);
  memory.addTrip(why);
  location.replace(DOOR);
  // The visitor may stop the navigation. Then the page goes on polling.
  timer = setTimeout(() => { isLeaving = false; poll(); }, LEAVE_TIMEOUT);
}

function showPlace() {
  const now = Date.now();
  line = lineAt(line, now);
  const expected = forecast(ownPlace.ticket, line);
  const next = waitingState(line, expected);
  const range = line.state === "paused" ? undefined : narrow(journey.range, expected, now);
  const isFirst = journey.start === undefined;
  const isReplaced = memory.trips().some((why) => why !== "new" && why !== "asked");
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
  view.fill("message", line.message);
  view.show("messageBox", line.message !== "");
  view.show("opens", isOpening);

  const isRecent = (at) => at !== undefined && now - at < EXPLAINED_FOR;
  const isLonger = (next === "waiting" || next === "soon") && isRecent(range.laterAt);
  const key = line.state !== "paused" && isRecent(anewAt) ? "anewHint" : isLonger ? "longerHint" : `${next}Hint`;
  const explanation = isOpening ? words.text("openingHint", { time: words.date(line.opens) }) : words.text(key);
  const numbers = `${words.text("ahead")} ${ahead}. ${words.text("when")}: ${when}.`;
  const isNewMessage = line.message && line.message !== announced.message;
  const message = isNewMessage ? `${words.text("message")}: ${line.message}` : "";
  const isDue = isPressed || reachedMilestone(announced.ahead, expected.ahead);
  if (!showState(next, explanation, `${numbers} ${message}`) && (isDue || message)) {
    view.announce(`${isDue ? numbers : ""} ${message}`);
  }
  announced = { ahead: isDue ? expected.ahead : announced.ahead, message: line.message };
}

/** Shows a state, and announces it if it or its explanation changed. Returns whether it did. */
function showState(next, explanation = words.text(`${next}Hint`), details = "") {
  // The time in the hint of "held" is computed from each poll and may differ by a minute: that is no change.
  const isChanged = next !== state || (explanation !== hint && next !== "held");
  const isTurn = next === "turn" || next === "held";
  [state, hint] = [next, explanation];
  view.setState(state);
  view.fill("state", words.text(state));
  view.fill("hint", hint);
  view.show("enter", isTurn);
  if (isTurn) view.moveFocus("polls", "enter");
  view.show("polls", !isTurn);
  view.show("keep", next !== "blocked");
  view.show("choices", !isTurn && next !== "blocked");
  if (isTurn || next === "blocked") view.show("place", false);
  view.setTab(isTurn || state === "paused" || state === "opening" ? `${words.text(state)} – ${room}` : room, isTurn);
  if (isChanged) view.announce(`${words.text(state)}. ${hint} ${details}`);
  return isChanged;
}

/** Updates the countdowns and the time until the turn, once a second. Screen readers do not announce them. */
function tick() {
  const now = Date.now();
  if (line?.opensAt > now) view.fill("countdown", words.opensIn(line.opensAt - now));
  else if (state === "opening") showPlace();
  if (line && journey.range) view.fill("when", words.when(journey.range, now));
  // The machine slept, or its clock was changed.
  const isWrong = now > nextAt + MIN_POLL_GAP || nextAt - now > lastWait + MIN_POLL_GAP;
  if (isWrong && timer !== undefined && !isPolling && !isLeaving) return void poll();
  const countdown = () => words.text("next", { countdown: words.countdown(nextAt - Date.now()) });
  view.fill("next", isPolling ? words.text("checking") : countdown());
}

function start() {
  const preferred = navigator.languages?.length ? navigator.languages : [navigator.language];
  const language = chooseLanguage(preferred);
  words = translator(TEXTS[language], localeFor(language, preferred));
  view.translate(language, words);
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

  addEventListener("online", poll);
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

start();
