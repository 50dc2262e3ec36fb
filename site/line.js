// The page's arithmetic: what a poll's numbers mean for one visitor. Pure functions without clock, document or network,
// so that tests need only plain values. All times are in milliseconds.

export const MINUTE = 60_000;
const MIN_POLL_INTERVAL = 5_000;
const MAX_POLL_INTERVAL = 5 * MINUTE;
const FIRST_RETRY = 10_000;
/** Everybody who waits asks at least so often, so that they soon hear of another rate, a pause or a message. */
const NEWS_WITHIN = 2 * MINUTE;
/** In a large line less often: for that alone, up to 150,000 pages together poll about 550 times a second. */
const NEWS_PER_PERSON = 2;
/** A page whose turn is so near polls when it comes, and not before. */
const NEAR = 16_000;
/** The room publishes how far its line is every two seconds: half of that on average passes until polls know it. */
const PUBLISHED_AFTER = 1_000;
/** A page whose turn is overdue polls at least so often. */
const MAX_OVERDUE_INTERVAL = 50_000;
/** The line may have moved so long by the time that the page hears of it. */
const ON_ITS_WAY = 3_000;

/** The visitor's place, from the fragment of the door's redirect: `#<epoch>-<ticket>`. */
export function place(fragment) {
  const found = /^#([a-z0-9]{4})-([1-9][0-9]{0,15})$/.exec(fragment);
  return found && { epoch: found[1], ticket: Number(found[2]) };
}

/**
 * How many are ahead at most, the earliest and latest time until this visitor's turn, `askIn`, the time until it is worth asking
 * again, and `within`, in which everybody asks for news.
 */
export function forecast(ticket, { served, waiting, rate, slow, disorder = 0 }) {
  const count = (numbers) => Math.min(Math.max(0, numbers), Math.max(0, waiting - 1));
  const ahead = count(ticket - served - 1);
  // Up to a third of the tickets were never given to anybody, so the line may be shorter. And this visitor may be as far from
  // their turn as the line has shown with others. A room of an earlier version does not say how far.
  const fewestAhead = Math.max(0, ahead - Math.floor(ahead / 3) - disorder);
  const mostAhead = count(ticket - served - 1 + disorder);
  const takes = (people) => Math.floor((people * MINUTE) / rate);
  // The line is past this ticket, but is not in order. The longer this is ago, the less likely the turn comes just now.
  const overdue = Math.min(4 * takes(Math.max(0, served - ticket)), MAX_OVERDUE_INTERVAL);
  const within = clamp(NEWS_WITHIN, waiting * NEWS_PER_PERSON, MAX_POLL_INTERVAL) / 1.1;
  const askIn = Math.max(askAgain(takes(ahead), slow), overdue);
  // A window may have just begun. Then up to one more minute passes before the next visitor is released.
  return { ahead, earliest: takes(fewestAhead), latest: takes(mostAhead) + MINUTE, askIn, within };
}

/** The time until it is worth asking again, if the turn comes in `left`. */
function askAgain(left, slow) {
  // The throttle may let go at any minute, and then the line moves several times as fast.
  if (slow) return left / 6;
  // Half of the time: so the turn is not missed if the operator doubles the rate meanwhile.
  return left > NEAR ? left / 2 : left + PUBLISHED_AFTER;
}

/**
 * The time until the next poll: when it is worth asking, between 5 s and 5 min, or sooner for news, times the operator's
 * stretch. `random` moves it by up to 10% either way, so that visitors who joined together do not poll together.
 */
export function nextPoll({ askIn, within = Infinity }, stretch, random) {
  return spread(clamp(MIN_POLL_INTERVAL / 0.9, Math.min(askIn, within), MAX_POLL_INTERVAL / 1.1), random) * stretch;
}

/** The time until the next poll of a page that has no place in line. */
export function idlePoll(stretch, random) {
  return nextPoll({ askIn: Infinity }, stretch, random);
}

/**
 * The time until the next poll before an opening, which is `opensIn` away. While that is longer than the usual time, pages
 * poll as those without a place do: only for news. The last poll before the opening is followed by one at a random moment
 * after it, within the time between two polls then. So the polls of everybody who watches the same countdown stay spread.
 */
export function pollAroundOpening(opensIn, expected, stretch, random) {
  const usual = idlePoll(stretch, random);
  return opensIn > usual ? usual : opensIn + random * nextPoll(expected, stretch, 1);
}

/**
 * The line at `now`: a room that was to open by then is on. `opensAt` is when, by the visitor's own clock. Pages need no poll
 * to know it.
 */
export function lineAt(line, now) {
  return line.opensAt === undefined || line.opensAt > now ? line : { ...line, state: "on", opensAt: undefined };
}

/**
 * The time until the next poll after `failures` failed polls in a row: at random within a time that doubles up to a minute,
 * so that those who were refused together do not come again together. A page that would not have polled so soon, because
 * its `usual` time is longer, waits half of that, and then all of it: a room that fails gets no more polls than one that
 * answers. The page never gives up.
 */
export function retryIn(failures, usual, random) {
  const doubled = 2 ** (failures - 1);
  const within = Math.min(FIRST_RETRY * doubled, MINUTE);
  return Math.max(random * within, spread(Math.min((usual / 2) * doubled, usual), random));
}

/**
 * The range to show next for this visitor's turn, as two instants. Its end never moves to later, so that what was shown stays
 * true, unless the forecast leaves it by more than rough counting explains: a minute, or 15% of the time left. `laterAt` is
 * when it last did, so that the page can say so. Its start is the forecast's: nobody minds an earlier turn, but has to know.
 */
export function narrow(shown, { earliest, latest }, now) {
  const next = { from: now + earliest, to: now + latest };
  if (!shown) return next;
  const tolerance = Math.max(MINUTE, 0.15 * (shown.to - now));
  if (next.to > shown.to + tolerance || next.from > shown.to) return { ...next, laterAt: now };
  return { from: next.from, to: Math.min(shown.to, next.to), laterAt: shown.laterAt };
}

/** How far the line has come from `start`, when the page first saw it, to this ticket: from 0 to 1. */
export function progress(start, ticket, served) {
  const distance = ticket - start;
  return distance <= 0 ? 1 : clamp(0, (served - start) / distance, 1);
}

/** Whether nobody is released for now. */
export function isPaused({ state }) {
  return state === "paused" || state === "closed-paused";
}

/** Whether so many are ahead that nothing may be left when it is this visitor's turn. */
export function isScarce({ stock = Infinity }, { ahead }) {
  return stock <= ahead;
}

/**
 * Whether this ticket's turn cannot have come when the line has moved on `after` so long, although it is out of order: by twice as
 * much as it has shown.
 */
export function isFar(ticket, { served, rate, disorder = 0 }, after) {
  const reached = served + (rate * (after + ON_ITS_WAY)) / MINUTE;
  return ticket - reached - 1 > 2 * disorder;
}

/** The state to show while the visitor waits. */
export function waitingState(line, expected) {
  const { slow, opensAt } = line;
  if (isPaused(line)) return opensAt === undefined ? "paused" : "opening";
  if (slow) return "slower";
  return expected.latest <= 2 * MINUTE && !isScarce(line, expected) ? "soon" : "waiting";
}

/** Whether the line has passed this ticket by, so that the door should be asked about it. */
export function isPassed(ticket, { passed }) {
  return ticket < passed;
}

/** How many are ahead when a screen reader announces it. */
const MILESTONES = [10_000, 5_000, 2_000, 1_000, 500, 200, 100, 50, 20, 10, 5, 1];

/** Whether a milestone lies between the two numbers of people ahead. */
export function reachedMilestone(before, ahead) {
  return MILESTONES.some((milestone) => ahead <= milestone && milestone < before);
}

function spread(millis, random) {
  return millis * (0.9 + 0.2 * random);
}

function clamp(least, value, most) {
  return Math.min(Math.max(value, least), most);
}
