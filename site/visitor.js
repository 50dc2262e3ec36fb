// What a browser does in a room: what it asks for next, when, and what the page shows meanwhile. Without clock, chance, storage
// and network: those are arguments. `page::visitor` is the same in Rust, and test/visitor-cases.json holds for both.
// All times are in milliseconds.

import { MINUTE, forecast, idlePoll, isFar, isOwnDue, isPassed, nextPoll, pollAroundOpening, retryIn } from "./line.js";

/** From showing "your turn" to leaving: enough for a screen reader to begin to say it. */
const TURN_SHOWN = 1_500;
/** Who was overtaken asks the door at most so often. */
const DOOR_ASKED_WITHIN = 2 * MINUTE;
/** Whom the door sends back more often than that at their turn is held. */
const MOST_TURNS = 2;
/** An edge whose room does not answer goes on with what it said last. Pages believe it for so long. */
const BELIEVED_FOR = 2 * MINUTE;

/** A poll's answer with its instants by the visitor's own clock, which may be wrong. The room's says `roomNow` at this time. */
export function byOwnClock(answer, roomNow, now) {
  const own = (at) => at && now + (at - roomNow);
  return { ...answer, opensAt: own(answer.opens), closesAt: own(answer.until), age: roomNow - answer.at };
}

/**
 * What follows from a poll's answer for a visitor with this `place`, if the page's URL has one. Changes what the tab has `kept`
 * over reloads, and what the `page` knows until the next one, which is nothing at first. Returns what the page `shows`, if that
 * changes, and `after` which time it polls, or goes to the door, if there is a reason `why`. A poll that is `shared` asks only how
 * the line stands.
 */
export function hear({ place, kept, page }, answer, { now, chance, keeps, isHidden, isHeld }) {
  const { stretch = 1 } = answer;
  // When the room last answered, in what time it was worth asking again, and the operator's stretch.
  const heard = { at: now, askIn: 0, stretch };
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
    const shared = answer.edge === true && isFar(place.ticket, answer, moves) && !isOwnDue(place.ticket, now, after);
    return { after, shows: "line", shared };
  }

  /** Nothing is expected of the room, so the page asks seldom. */
  function idle(shows) {
    heard.askIn = Infinity;
    return { after: idlePoll(stretch, chance()), shows };
  }
}

/**
 * What follows from how the line stands, which an edge says to everybody who waits. If there is more to know for this visitor, the
 * page asks for its own answer at once.
 */
export function hearShared(tab, answer, moment) {
  const { place } = tab;
  const waits = !answer.allow && !isAway(answer) && hasPlace(place, answer);
  const isAll = waits && !(answer.age > BELIEVED_FOR) && isFar(place.ticket, answer, 0);
  return isAll ? hear(tab, answer, moment) : { after: 0 };
}

const isAway = ({ late, state }) => late || state === "ended";
const hasPlace = (place, { join, epoch }) => !join && place?.epoch === epoch;

/** What follows from no answer, or one that cannot be used, for the `refusals`th time in a row. */
export function refused({ heard }, refusals, now, random) {
  // The time between two polls, if the room answered now: shorter and shorter, because the turn comes nearer. 0 at first.
  const usual = heard ? nextPoll({ ...heard, askIn: heard.askIn - (now - heard.at) / 2 }, heard.stretch, 0.5) : 0;
  return { after: retryIn(refusals, usual, random) };
}
