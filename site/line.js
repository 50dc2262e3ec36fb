// What a poll's numbers mean for one visitor. Nothing here knows a clock, a page or a network, so all of it is
// tested with plain values.

export const MINUTE = 60_000;
const SOONEST_POLL = 5_000;
const LATEST_POLL = 5 * MINUTE;

/** Our place, from the fragment that the door sent us here with: `<epoch>-<ticket>`. */
export function place(fragment) {
  const found = /^#([a-z0-9]{4})-([1-9][0-9]{0,15})$/.exec(fragment);
  return found && { epoch: found[1], ticket: Number(found[2]) };
}

/** How many are ahead at most, and the milliseconds until our turn: no sooner and no later than. */
export function forecast(ticket, { served, waiting, rate }) {
  const ahead = Math.min(Math.max(0, ticket - served - 1), Math.max(0, waiting - 1));
  // Up to a third of the numbers were never handed out, so the line may be shorter than they say.
  const fewest = ahead - Math.floor(ahead / 3);
  const takes = (people) => Math.floor((people * MINUTE) / rate);
  // A window may have just begun: up to one more passes before somebody leaves.
  return { ahead, earliest: takes(fewest), latest: takes(ahead) + MINUTE };
}

/**
 * How long to wait before the next poll: a quarter of the forecast, from 5 s to 5 min, times the operator's
 * stretch. `random` spreads polls by a tenth either way, so that those who came together do not ask together.
 */
export function nextPoll(earliest, stretch, random) {
  return spread(between(SOONEST_POLL / 0.9, earliest / 4, LATEST_POLL / 1.1), random) * stretch;
}

/** How long to wait when there is no place to ask about. */
export function idlePoll(stretch, random) {
  return nextPoll(Infinity, stretch, random);
}

/**
 * How long to wait after so many polls in a row that were not answered, by somebody who usually waits `usual`.
 * A room in trouble is asked sooner than usual once, and then less often; up to a minute or the usual, never
 * for ever.
 */
export function retryIn(failures, usual, random) {
  const first = Math.max(SOONEST_POLL, usual / 2);
  return spread(Math.min(first * 2 ** (failures - 1), Math.max(MINUTE, usual)), random);
}

/**
 * The range of our turn to show next, as two instants. It narrows: what was shown stays true unless the forecast
 * leaves it by more than counting roughly explains. Then it moves, and if that is to later, `laterAt` keeps when,
 * because a page must not quietly take back what it said.
 */
export function narrow(shown, { earliest, latest }, now) {
  const next = { from: now + earliest, to: now + latest };
  if (!shown) return next;
  const tolerance = Math.max(MINUTE, 0.15 * (shown.to - now));
  if (next.to > shown.to + tolerance || next.from > shown.to) return { ...next, laterAt: now };
  const both = { from: Math.max(shown.from, next.from), to: Math.min(shown.to, next.to) };
  return { ...(both.from <= both.to ? both : next), laterAt: shown.laterAt };
}

/** How much of our way from joining to entering lies behind us, from 0 to 1. */
export function covered(start, ticket, served) {
  const way = ticket - start;
  return way <= 0 ? 1 : between(0, (served - start) / way, 1);
}

/** Which words fit. */
export function mood({ paused, slow }, { latest }) {
  if (paused) return "paused";
  if (slow) return "slower";
  return latest <= 2 * MINUTE ? "soon" : "waiting";
}

/** Whether the line has passed us by so much that it may have lost us: the door mends that. */
export function isPassed(ticket, { served, rate }) {
  return served > ticket + 2 * rate;
}

/** The marks that are worth interrupting somebody for, in people ahead. */
const MARKS = [10_000, 5_000, 2_000, 1_000, 500, 200, 100, 50, 20, 10, 5, 1];

/** Whether we have come past a mark since then. */
export function passedMark(before, ahead) {
  return MARKS.some((mark) => ahead <= mark && mark < before);
}

function spread(millis, random) {
  return millis * (0.9 + 0.2 * random);
}

function between(least, value, most) {
  return Math.min(Math.max(value, least), most);
}
