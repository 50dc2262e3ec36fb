// What a browser does in a room: what it asks for next, when, and what the page shows meanwhile. Without clock, chance, storage
// and network: those are arguments. `page::visitor` is the same in Rust, and test/visitor-cases.json holds for both.
// All times are in milliseconds.

import { MINUTE, forecast, idlePoll, isFar, isPassed, nextPoll, pollAroundOpening, retryIn } from "./line.js";

/** From showing "your turn" to leaving: enough for a screen reader to begin to say it. */
const TURN_SHOWN = 1_500;
/** Who was overtaken asks the door at most so often. */
const DOOR_ASKED_WITHIN = 2 * MINUTE;
/** Whom the door sends back more often than that at their turn is held. */
const MOST_TURNS = 2;
/** An edge whose room does not answer goes on with what it said last. Pages believe it for so long. */
const BELIEVED_FOR = 2 * MINUTE;
/** Behind an edge, a page asks for its own answer at least so often: the operator may have let its visitor in by hand. */
const OWN_ANSWER_WITHIN = 10 * MINUTE;

/**
 * A poll's answer with its instants by the visitor's own clock, which may be wrong. The room's says `roomNow` at this time. Only what
 * an edge says has an age.
 */
export function byOwnClock(answer, roomNow, now) {
  const own = (at) => at && now + (at - roomNow);
  return { ...answer, opensAt: own(answer.opens), closesAt: own(answer.until), age: Math.max(0, roomNow - (answer.at ?? roomNow)) };
}

/**
 * What follows from a poll's answer for a visitor with this `place`, if the page's URL has one. Changes what the tab has `kept`
 * over reloads, and what the `page` knows until the next one, which is nothing at first. Returns what the page `shows`, if that
 * changes, and `after` which time it polls, or goes to the door, if there is a reason `why`. A poll that is `shared` asks only how
 * the line stands.
 */
export function hear(tab, answer, moment) {
  tab.page.ownAt = moment.now;
  return goOn(tab, answer, moment);
}

/**
 * The same for how the line stands, which an edge says to everybody who waits. If there may be more to know for this visitor, the
 * page asks for its own answer at once.
 */
export function hearShared(tab, answer, moment) {
  const { place, page } = tab;
  const { age } = answer;
  const waits = !answer.allow && !isAway(answer) && hasPlace(place, answer);
  const isNews = Number.isFinite(answer.at) && age <= BELIEVED_FOR && moment.now - age >= page.heard.saidAt;
  return waits && isNews && isFar(place.ticket, answer, age) ? goOn(tab, answer, moment) : { after: 0 };
}

const isAway = ({ late, state }) => late || state === "ended";
const hasPlace = (place, { join, epoch }) => !join && place?.epoch === epoch;

function goOn({ place, kept, page }, answer, { now, chance, keeps, isHidden, isHeld }) {
  const { stretch = 1, age } = answer;
  // When the page heard of the room, from when that is, in what time it was worth asking again, and the operator's stretch.
  const heard = { at: now, saidAt: now - age, askIn: 0, stretch };
  const step = answer.allow ? enter() : isAway(answer) ? turnAway() : hasPlace(place, answer) ? wait() : rejoin();
  page.heard = heard;
  return step;

  /** It is the visitor's turn: goes to the door, unless nobody looks or the door keeps sending the visitor back. */
  function enter() {
    const turns = kept.trips.filter((why) => why === "turn").length;
    if (isHidden || turns > MOST_TURNS) return idle("held");
    return { after: isHeld ? 0 : TURN_SHOWN, shows: "turn", why: "turn" };
  }

  /** The visitor comes too late. If it goes on after all, a poll says so: who has a place has it again, and others join. */
  function turnAway() {
    kept.trips = [];
    return idle(answer.state === "ended" ? "ended" : "closed");
  }

  /** The visitor has no place, or one that is no longer valid. The door gives a new one; if it did not, the page says why. */
  function rejoin() {
    const isExpired = place?.epoch === answer.epoch;
    const trips = kept.trips.filter((why) => why !== "turn").length;
    // On AWS, a door may learn of a reset, or that newcomers may join again, a second later than the polls. Until then it sends
    // visitors back with the old place, or without one.
    if (keeps && !isExpired && trips === 1 && !page.isDoorAwaited) {
      page.isDoorAwaited = true;
      return { after: nextPoll(heard, stretch, chance()), shows: "finding" };
    }
    if (!keeps || trips > (isExpired ? 0 : 1)) return idle("blocked");
    // The visitor was admitted and did not enter in time. A new place waits until somebody looks at the page: otherwise a
    // forgotten tab would join again and again.
    return isExpired && isHidden ? idle("finding") : { after: 0, why: "anew" };
  }

  function wait() {
    const expected = forecast(place.ticket, answer);
    expected.askIn = Math.max(0, expected.askIn - age);
    const opensIn = answer.opensAt - now;
    const isOpening = opensIn > 0;
    Object.assign(heard, isOpening ? { askIn: expected.askIn + opensIn } : expected);
    kept.trips = [];
    // A browser that keeps nothing could not tell when it asked last.
    if (keeps && isPassed(place.ticket, answer) && Math.abs(now - kept.passedCheck) > DOOR_ASKED_WITHIN) {
      kept.passedCheck = now;
      return { after: 0, shows: "line", why: "passed" };
    }
    const after = isOpening ? pollAroundOpening(opensIn, expected, stretch, chance()) : nextPoll(expected, stretch, chance());
    const moves = Math.max(0, isOpening ? after - opensIn : after);
    const isOwnDue = now + after - page.ownAt > OWN_ANSWER_WITHIN;
    return { after, shows: "line", shared: answer.edge === true && !isOwnDue && isFar(place.ticket, answer, moves + age) };
  }

  /** Nothing is expected of the room, so the page asks seldom. */
  function idle(shows) {
    heard.askIn = Infinity;
    return { after: idlePoll(stretch, chance()), shows };
  }
}

/** What follows from no answer, or one that cannot be used, for the `refusals`th time in a row. */
export function refused({ heard }, refusals, now, random) {
  // The time between two polls, if the room answered now: shorter and shorter, because the turn comes nearer. 0 at first.
  const usual = heard ? nextPoll({ ...heard, askIn: heard.askIn - (now - heard.at) / 2 }, heard.stretch, 0.5) : 0;
  return { after: retryIn(refusals, usual, random) };
}
