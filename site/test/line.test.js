import assert from "node:assert/strict";
import test from "node:test";

import { MINUTE, covered, forecast, idlePoll, isPassed, mood, narrow, nextPoll, passedMark, place, retryIn } from "../line.js";

test("a place is read from the fragment, and nothing else is one", () => {
  assert.deepEqual(place("#ab12-4711"), { epoch: "ab12", ticket: 4711 });
  for (const none of ["", "#", "#ab12", "#ab12-", "#ab12-0", "#ab12-01", "#AB12-1", "#ab123-1", "#ab12-1 ", "#ab12-1e3", "#ab12--1"]) {
    assert.equal(place(none), null, none);
  }
});

test("place and time follow from the number and the rate", () => {
  const line = { served: 4100, waiting: 9120, rate: 300 };
  assert.deepEqual(forecast(7101, line), { ahead: 3_000, earliest: 400_000, latest: 660_000 });
  assert.deepEqual(forecast(4101, line), { ahead: 0, earliest: 0, latest: MINUTE });
  assert.equal(forecast(4000, line).ahead, 0, "already passed");
  assert.equal(forecast(9000, { ...line, waiting: 100 }).ahead, 99, "never more than wait");
  assert.equal(forecast(1, { served: 0, waiting: 0, rate: 1 }).ahead, 0);
  const largest = Number.MAX_SAFE_INTEGER;
  assert.equal(forecast(largest, { served: largest - 500, waiting: 9_000, rate: 270_000 }).ahead, 499);
});

test("polls come as the place warrants, never in step, and the operator stretches them", () => {
  const range = (earliest, stretch) => [0, 1].map((random) => Math.round(nextPoll(earliest, stretch, random)));
  assert.deepEqual(range(0, 1), [5_000, 6_111]);
  assert.deepEqual(range(400_000, 1), [90_000, 110_000]);
  assert.deepEqual(range(10 * 60 * MINUTE, 1), [245_455, 300_000]);
  assert.deepEqual(range(10 * 60 * MINUTE, 12), [2_945_455, 3_600_000]);
  assert.equal(idlePoll(1, 1), 5 * MINUTE);
});

test("a room that does not answer is asked less and less, but for ever", () => {
  const retries = (usual) => [1, 2, 3, 4, 5, 50].map((failures) => Math.round(retryIn(failures, usual, 0.5) / 1_000));
  assert.deepEqual(retries(0), [5, 10, 20, 40, 60, 60]);
  assert.deepEqual(retries(5_000), [5, 10, 20, 40, 60, 60]);
  assert.deepEqual(retries(300_000), [150, 300, 300, 300, 300, 300]);
  assert.deepEqual(retries(3_600_000), [1_800, 3_600, 3_600, 3_600, 3_600, 3_600], "stretched as it was");
});

test("a million in line at 3,000 a minute ask fewer than 10,000 times a second, at every moment", () => {
  const [people, rate] = [1_000_000, 3_000];
  /** Polls a second while the room answers, and while it has not answered so many times in a row. */
  const traffic = (served, failures) => {
    let polls = 0;
    for (let ticket = served + 1; ticket <= people; ticket += 1) {
      const { earliest } = forecast(ticket, { served, waiting: people - served, rate });
      const usual = nextPoll(earliest, 1, 0.5);
      polls += 1_000 / (failures ? retryIn(failures, usual, 0.5) : usual);
    }
    return polls;
  };
  let most = 0;
  for (let served = 0; served < people; served += 20_000) most = Math.max(most, traffic(served, 0));
  const [first, later] = [Math.max(traffic(0, 1), traffic(500_000, 1)), Math.max(traffic(0, 5), traffic(500_000, 5))];
  console.log(`at most ${Math.round(most)} polls a second; ${Math.round(first)} after a failure, ${Math.round(later)} after five`);
  assert.ok(Math.max(most, first, later) < 10_000);
  assert.ok(later <= most, "a room in trouble is not asked more than one that answers");
});

test("the range narrows", () => {
  const first = narrow(undefined, { earliest: 6 * MINUTE, latest: 10 * MINUTE }, 0);
  assert.deepEqual(first, { from: 6 * MINUTE, to: 10 * MINUTE });
  const second = narrow(first, { earliest: 4 * MINUTE, latest: 10 * MINUTE }, MINUTE);
  assert.deepEqual(second, { from: 6 * MINUTE, to: 10 * MINUTE, laterAt: undefined }, "roughly counted is no news");
  const third = narrow(second, { earliest: 5 * MINUTE, latest: 7 * MINUTE }, 2 * MINUTE);
  assert.deepEqual(third, { from: 7 * MINUTE, to: 9 * MINUTE, laterAt: undefined });
});

test("it moves to earlier freely, and to later only with a word that lasts", () => {
  const shown = { from: 6 * MINUTE, to: 10 * MINUTE };
  const earlier = narrow(shown, { earliest: MINUTE, latest: 3 * MINUTE }, 0);
  assert.deepEqual(earlier, { from: MINUTE, to: 3 * MINUTE, laterAt: undefined });
  const later = narrow(shown, { earliest: 15 * MINUTE, latest: 25 * MINUTE }, 7);
  assert.deepEqual(later, { from: 15 * MINUTE + 7, to: 25 * MINUTE + 7, laterAt: 7 });
  assert.equal(narrow(later, { earliest: 14 * MINUTE, latest: 24 * MINUTE }, MINUTE).laterAt, 7);
});

test("whatever the room answers, what is shown ends later only with a word", () => {
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

test("the way goes from nothing to all", () => {
  assert.equal(covered(100, 200, 100), 0);
  assert.equal(covered(100, 200, 150), 0.5);
  assert.equal(covered(100, 200, 250), 1);
  assert.equal(covered(200, 200, 150), 1, "first in line from the beginning");
});

test("each mood has its hour", () => {
  const far = { latest: 20 * MINUTE };
  assert.equal(mood({ paused: false, slow: false }, far), "waiting");
  assert.equal(mood({ paused: false, slow: true }, far), "slower");
  assert.equal(mood({ paused: true, slow: true }, far), "paused");
  assert.equal(mood({ paused: false, slow: true }, { latest: 2 * MINUTE }), "slower");
  assert.equal(mood({ paused: false, slow: false }, { latest: 2 * MINUTE }), "soon");
});

test("only a line that is far past us may have lost us", () => {
  assert.equal(isPassed(100, { served: 700, rate: 300 }), false);
  assert.equal(isPassed(100, { served: 701, rate: 300 }), true);
});

test("marks are passed once", () => {
  assert.equal(passedMark(1_200, 1_000), true);
  assert.equal(passedMark(1_000, 900), false);
  assert.equal(passedMark(1_200, 90), true);
  assert.equal(passedMark(1, 0), false);
  assert.equal(passedMark(90, 150), false, "backwards is no mark");
});
