import assert from "node:assert/strict";
import test from "node:test";

import {
  MINUTE, forecast, idlePoll, isFar, isPassed, isScarce, lineAt, narrow, nextPoll, place, pollAroundOpening, progress, reachedMilestone,
  retryIn, waitingState,
} from "../line.js";

test("a place is read from a valid fragment only", () => {
  assert.deepEqual(place("#ab12-4711"), { epoch: "ab12", ticket: 4711 });
  for (const invalid of ["", "#", "#ab12", "#ab12-", "#ab12-0", "#ab12-01", "#AB12-1", "#ab123-1", "#ab12-1 ", "#ab12-1e3", "#ab12--1"]) {
    assert.equal(place(invalid), null, invalid);
  }
});

test("the forecast follows from the ticket, the status and the rate", () => {
  const line = { served: 4100, waiting: 9120, rate: 300 };
  const within = 120_000 / 1.1;
  assert.deepEqual(forecast(7101, line), { ahead: 3_000, earliest: 400_000, latest: 660_000, askIn: 300_000, within });
  assert.deepEqual(forecast(4101, line), { ahead: 0, earliest: 0, latest: MINUTE, askIn: 1_000, within });
  assert.equal(forecast(4000, line).ahead, 0, "already passed");
  assert.equal(forecast(9000, { ...line, waiting: 100 }).ahead, 99, "never more than are waiting");
  assert.equal(forecast(1, { served: 0, waiting: 0, rate: 1 }).ahead, 0);
  const largest = Number.MAX_SAFE_INTEGER;
  assert.equal(forecast(largest, { served: largest - 500, waiting: 9_000, rate: 270_000 }).ahead, 499);
});

test("the range is as wide as the line is out of order", () => {
  const line = { served: 4100, waiting: 9120, rate: 60, disorder: 600 };
  const range = (ticket, waiting = 9120) => {
    const { ahead, earliest, latest } = forecast(ticket, { ...line, waiting });
    return [ahead, earliest / MINUTE, latest / MINUTE];
  };
  assert.deepEqual(range(4101 + 2_700), [2_700, 20, 56], "a third fewer, ten minutes sooner or later");
  assert.deepEqual(range(4101 + 300), [300, 0, 16]);
  assert.deepEqual(range(3801), [0, 0, 6], "overdue, and still in what the line has shown");
  assert.deepEqual(range(3000), [0, 0, 1]);
  assert.deepEqual(range(4101 + 300, 361), [300, 0, 7], "no later than if everybody else went first");
});

test("it is worth asking after half of the time, and sooner while the throttle may let go", () => {
  const line = { served: 4100, waiting: 9120, rate: 300, slow: false };
  assert.equal(forecast(5101, line).askIn, 100_000);
  assert.equal(forecast(5101, { ...line, slow: true }).askIn, 1_000 * 200 / 6);
});

test("a page hears news within two minutes, and in a large line within five", () => {
  const longest = (waiting) => {
    const line = { served: 0, waiting, rate: 60 };
    return Math.round(nextPoll(forecast(1_000_000, line), 1, 1) / 1_000);
  };
  assert.deepEqual([10_000, 60_000, 90_000, 150_000, 1_000_000].map(longest), [120, 120, 180, 300, 300]);
});

test("a page whose turn comes within 16 s asks when it comes", () => {
  const line = { served: 4100, waiting: 9120, rate: 300, slow: false };
  const askIn = (seconds, slow) => forecast(4101 + 5 * seconds, { ...line, slow }).askIn;
  assert.deepEqual([17, 16, 7, 0].map((seconds) => askIn(seconds, false)), [8_500, 17_000, 8_000, 1_000]);
  assert.equal(askIn(12, true), 2_000, "the throttle may let go");
});

test("a page that the line has passed asks less often, down to every 50 s", () => {
  const line = { served: 4100, waiting: 9120, rate: 300 };
  const pauses = (ticket) => [0, 1].map((random) => Math.round(nextPoll(forecast(ticket, line), 1, random)));
  assert.deepEqual(pauses(4101), [5_000, 6_111], "next");
  assert.deepEqual(pauses(4100), [5_000, 6_111]);
  assert.deepEqual(pauses(4075), [18_000, 22_000], "5 s ago");
  assert.deepEqual(pauses(4035), [45_000, 55_000], "13 s ago");
  assert.deepEqual(pauses(1), [45_000, 55_000]);
});

test("the time between polls follows the forecast, is spread by 10%, and is stretched by the operator", () => {
  const range = (askIn, stretch) => [0, 1].map((random) => Math.round(nextPoll({ askIn }, stretch, random)));
  assert.deepEqual(range(0, 1), [5_000, 6_111]);
  assert.deepEqual(range(100_000, 1), [90_000, 110_000]);
  assert.deepEqual(range(10 * 60 * MINUTE, 1), [245_455, 300_000]);
  assert.deepEqual(range(10 * 60 * MINUTE, 12), [2_945_455, 3_600_000]);
  assert.equal(idlePoll(1, 1), 5 * MINUTE);
});

test("a room that does not answer is polled at random within a time that grows to a minute, and for ever", () => {
  const retries = (usual, random) =>
    [1, 2, 3, 4, 5, 50].map((failures) => Math.round(retryIn(failures, usual, random) / 1_000));
  assert.deepEqual(retries(0, 0), [0, 0, 0, 0, 0, 0]);
  assert.deepEqual(retries(0, 1), [10, 20, 40, 60, 60, 60]);
  assert.deepEqual(retries(6_000, 0), [3, 5, 5, 5, 5, 5]);
  assert.deepEqual(retries(6_000, 1), [10, 20, 40, 60, 60, 60]);
  assert.deepEqual(retries(300_000, 0.5), [150, 300, 300, 300, 300, 300], "no sooner than usual");
  assert.deepEqual(retries(3_600_000, 0.5), [1_800, 3_600, 3_600, 3_600, 3_600, 3_600], "as stretched as before");
});

test("a million visitors at 3,000 a minute poll fewer than 10,000 times a second at any time", () => {
  const [people, rate] = [1_000_000, 3_000];
  /** Polls a second after `failures` failed polls of everybody in a row, so long after the last answer. */
  const traffic = (served, failures, silent = 0) => {
    let polls = 0;
    for (let ticket = served + 1; ticket <= people; ticket += 1) {
      const expected = forecast(ticket, { served, waiting: people - served, rate });
      const usual = nextPoll({ ...expected, askIn: expected.askIn - silent / 2 }, 1, 0.5);
      polls += 1_000 / (failures ? retryIn(failures, usual, 0.5) : usual);
    }
    return polls;
  };
  let most = 0;
  for (let served = 0; served < people; served += 20_000) most = Math.max(most, traffic(served, 0));
  const [first, later] = [Math.max(traffic(0, 1), traffic(500_000, 1)), Math.max(traffic(0, 5), traffic(500_000, 5))];
  console.log(`at most ${Math.round(most)} polls a second; ${Math.round(first)} after a failure, ${Math.round(later)} after five`);
  assert.ok(Math.max(most, first, later) < 10_000);
  assert.ok(later <= most, "a room that fails gets no more polls than one that answers");
  const silent = Math.max(traffic(0, 9, 10 * MINUTE), traffic(500_000, 9, 10 * MINUTE));
  assert.ok(silent <= 1.25 * most, `only those whose turn is near meanwhile ask sooner: ${Math.round(silent)}, not ${Math.round(most)}`);
});

test("before an opening pages poll rarely, and then at a random moment after it", () => {
  const wait = (opensIn, askIn, random) => Math.round(pollAroundOpening(opensIn, { askIn }, 1, random));
  for (const random of [0, 0.5, 1]) assert.equal(wait(1_000 * MINUTE, 0, random), Math.round(idlePoll(1, random)));
  // The first in line ask within seconds, the last within five minutes.
  assert.deepEqual([0, 0.5, 1].map((random) => wait(MINUTE, 0, random) - MINUTE), [0, 3_056, 6_111]);
  assert.deepEqual([0, 0.5, 1].map((random) => wait(MINUTE, 60 * MINUTE, random) - MINUTE), [0, 150_000, 300_000]);
  assert.equal(pollAroundOpening(1_000 * MINUTE, { askIn: 0 }, 12, 1), 60 * MINUTE, "stretched");
});

test("a million visitors who watch a countdown poll fewer than 10,000 times a second at any time", () => {
  const [people, rate, opensAt] = [1_000_000, 3_000, 20 * MINUTE];
  let seed = 1;
  const random = () => (seed = (seed * 48_271) % 2_147_483_647) / 2_147_483_647;
  const polls = new Array(30 * 60).fill(0);
  for (let ticket = 1; ticket <= people; ticket += 10) {
    let at = random() * 10 * MINUTE; // They join in the ten minutes before.
    // Polls until the first one after the opening, and the one after that.
    for (let isOpen = false; ; isOpen = at > opensAt) {
      const expected = forecast(ticket, { served: 0, waiting: people, rate });
      if (Math.floor(at / 1_000) < polls.length) polls[Math.floor(at / 1_000)] += 10;
      if (isOpen) break;
      at += at < opensAt ? pollAroundOpening(opensAt - at, expected, 1, random()) : nextPoll(expected, 1, random());
    }
  }
  console.log(`at most ${Math.max(...polls)} polls a second around an opening`);
  assert.ok(Math.max(...polls) < 10_000);
});

test("a page knows by itself that the room has opened", () => {
  const line = { state: "paused", opens: 7, opensAt: 60_000, served: 0 };
  assert.equal(lineAt(line, 59_999), line);
  assert.deepEqual(lineAt(line, 60_000), { ...line, state: "on", opensAt: undefined });
  const on = { state: "on", served: 0 };
  assert.equal(lineAt(on, 60_000), on);
});

test("the range narrows", () => {
  const first = narrow(undefined, { earliest: 6 * MINUTE, latest: 10 * MINUTE }, 0);
  assert.deepEqual(first, { from: 6 * MINUTE, to: 10 * MINUTE });
  const second = narrow(first, { earliest: 4 * MINUTE, latest: 10 * MINUTE }, MINUTE);
  assert.deepEqual(second, { from: 5 * MINUTE, to: 10 * MINUTE, laterAt: undefined }, "a later end within the range changes nothing");
  const third = narrow(second, { earliest: 5 * MINUTE, latest: 7 * MINUTE }, 2 * MINUTE);
  assert.deepEqual(third, { from: 7 * MINUTE, to: 9 * MINUTE, laterAt: undefined });
});

test("the start of the range is always the latest news: an earlier turn is told, too", () => {
  const shown = { from: 6 * MINUTE, to: 10 * MINUTE };
  const next = narrow(shown, { earliest: 2 * MINUTE, latest: 8 * MINUTE }, MINUTE);
  assert.deepEqual(next, { from: 3 * MINUTE, to: 9 * MINUTE, laterAt: undefined });
});

test("the range moves to earlier silently, and to later only with laterAt set", () => {
  const shown = { from: 6 * MINUTE, to: 10 * MINUTE };
  const earlier = narrow(shown, { earliest: MINUTE, latest: 3 * MINUTE }, 0);
  assert.deepEqual(earlier, { from: MINUTE, to: 3 * MINUTE, laterAt: undefined });
  const later = narrow(shown, { earliest: 15 * MINUTE, latest: 25 * MINUTE }, 7);
  assert.deepEqual(later, { from: 15 * MINUTE + 7, to: 25 * MINUTE + 7, laterAt: 7 });
  assert.equal(narrow(later, { earliest: 14 * MINUTE, latest: 24 * MINUTE }, MINUTE).laterAt, 7);
});

test("the end of the range never moves to later without laterAt, whatever the room answers", () => {
  let seed = 1;
  const random = () => (seed = (seed * 48_271) % 2_147_483_647) / 2_147_483_647;
  let shown;
  for (let now = 0; now < 1_000 * MINUTE; now += MINUTE * random()) {
    const earliest = 100 * MINUTE * random();
    const next = narrow(shown, { earliest, latest: earliest + MINUTE + 50 * MINUTE * random() }, now);
    assert.ok(next.from <= next.to);
    assert.ok(!shown || next.laterAt === now || next.to <= shown.to, `${JSON.stringify(shown)} ${JSON.stringify(next)}`);
    shown = next;
  }
});

test("the progress goes from 0 to 1", () => {
  assert.equal(progress(100, 200, 100), 0);
  assert.equal(progress(100, 200, 150), 0.5);
  assert.equal(progress(100, 200, 250), 1);
  assert.equal(progress(200, 200, 150), 1, "first in line from the beginning");
});

test("the state shown follows the status and the forecast", () => {
  const far = { latest: 20 * MINUTE };
  assert.equal(waitingState({ state: "on", slow: false }, far), "waiting");
  assert.equal(waitingState({ state: "on", slow: true }, far), "slower");
  assert.equal(waitingState({ state: "paused", slow: true }, far), "paused");
  assert.equal(waitingState({ state: "paused", slow: true, opensAt: 7 }, far), "opening");
  assert.equal(waitingState({ state: "on", slow: true }, { latest: 2 * MINUTE }), "slower");
  assert.equal(waitingState({ state: "on", slow: false }, { latest: 2 * MINUTE }), "soon");
});

test("a visitor is warned whose place is beyond the stock", () => {
  assert.equal(isScarce({ stock: 200 }, { ahead: 200 }), true, "the 200 are ahead");
  assert.equal(isScarce({ stock: 200 }, { ahead: 199 }), false);
  assert.equal(isScarce({ stock: 0 }, { ahead: 0 }), true);
  assert.equal(isScarce({}, { ahead: 10_000 }), false, "a room without a stock");
  const near = { latest: MINUTE, ahead: 3 };
  assert.equal(waitingState({ state: "on", slow: false, stock: 3 }, near), "waiting", "not any moment now");
  assert.equal(waitingState({ state: "on", slow: false, stock: 4 }, near), "soon");
});

test("the room says which tickets the line has overtaken", () => {
  assert.equal(isPassed(100, { served: 9_000, passed: 100 }), false);
  assert.equal(isPassed(100, { served: 9_000, passed: 101 }), true);
  assert.equal(isPassed(100, { served: 9_000 }), false, "a room of an earlier version does not say it");
});

test("each milestone is reached once", () => {
  assert.equal(reachedMilestone(1_200, 1_000), true);
  assert.equal(reachedMilestone(1_000, 900), false);
  assert.equal(reachedMilestone(1_200, 90), true);
  assert.equal(reachedMilestone(1, 0), false);
  assert.equal(reachedMilestone(90, 150), false, "not when the number rises");
});

test("a turn is far as long as the line cannot have reached it, out of order as it is", () => {
  const line = { served: 4100, rate: 600, disorder: 300 };
  assert.equal(isFar(5000, line, 0), true, "869 ahead by the time that an edge has said so");
  assert.equal(isFar(5000, line, 26_000), true);
  assert.equal(isFar(5000, line, 27_000), false, "by then 600 or fewer");
  assert.equal(isFar(5000, { ...line, disorder: 0 }, 86_000), true);
  assert.equal(isFar(5000, { ...line, disorder: 0 }, 87_000), false);
  assert.equal(isFar(4000, line, 0), false, "the line is past it");
});
