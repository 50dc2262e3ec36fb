import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import test from "node:test";

import { MINUTE, covered, forecast, isPassed, mood, narrow, nextPoll, passedMark, place, retryIn } from "../line.js";

test("a place is read from the fragment, and nothing else is one", () => {
  assert.deepEqual(place("#ab12-4711"), { epoch: "ab12", ticket: 4711 });
  for (const none of ["", "#", "#ab12", "#ab12-", "#ab12-0", "#ab12-01", "#AB12-1", "#ab123-1", "#ab12-1 ", "#ab12-1e3", "#ab12--1"]) {
    assert.equal(place(none), null, none);
  }
});

test("forecasts are those of the server", () => {
  const vectors = JSON.parse(readFileSync(new URL("forecasts.json", import.meta.url)));
  assert.ok(vectors.length > 5);
  for (const { ticket, line, ahead, earliest, latest, nextPollMiddle } of vectors) {
    const found = forecast(ticket, line);
    assert.deepEqual(found, { ahead, earliest, latest }, JSON.stringify({ ticket, line }));
    assert.equal(nextPoll(found.earliest, 1, 0.5), nextPollMiddle);
  }
});

test("polls come as the place warrants, and the operator stretches them", () => {
  assert.equal(nextPoll(0, 1, 0), 5_000);
  assert.equal(nextPoll(4 * 100_000, 1, 0.5), 100_000);
  assert.equal(nextPoll(10 * 60 * MINUTE, 1, 1), 5 * MINUTE);
  assert.equal(nextPoll(10 * 60 * MINUTE, 12, 1), 60 * MINUTE);
  for (let random = 0; random <= 1; random += 0.05) {
    const wait = nextPoll(400_000, 1, random);
    assert.ok(wait >= 90_000 && wait <= 110_000);
  }
});

test("a room that does not answer is asked less often, and for ever", () => {
  assert.deepEqual([1, 2, 3, 4, 5, 50].map((failures) => retryIn(failures, 0.5)), [5_000, 10_000, 20_000, 40_000, 60_000, 60_000]);
});

test("a million in line at 3,000 a minute ask fewer than 10,000 times a second, at every moment", () => {
  const [people, rate] = [1_000_000, 3_000];
  let most = 0;
  for (let served = 0; served < people; served += 20_000) {
    let polls = 0;
    for (let ticket = served + 1; ticket <= people; ticket += 1) {
      const { earliest } = forecast(ticket, { served, waiting: people - served, rate });
      polls += 1_000 / nextPoll(earliest, 1, 0.5);
    }
    most = Math.max(most, polls);
  }
  console.log(`at most ${Math.round(most)} polls a second`);
  assert.ok(most < 10_000, most);
});

test("the range narrows", () => {
  const first = narrow(undefined, { earliest: 6 * MINUTE, latest: 10 * MINUTE }, 0);
  assert.deepEqual(first, { from: 6 * MINUTE, to: 10 * MINUTE, later: false });
  const second = narrow(first, { earliest: 4 * MINUTE, latest: 10 * MINUTE }, MINUTE);
  assert.deepEqual(second, { from: 6 * MINUTE, to: 10 * MINUTE, later: false }, "roughly counted is no news");
  const third = narrow(second, { earliest: 5 * MINUTE, latest: 7 * MINUTE }, 2 * MINUTE);
  assert.deepEqual(third, { from: 7 * MINUTE, to: 9 * MINUTE, later: false });
});

test("it moves to earlier freely, and to later only with a word", () => {
  const shown = { from: 6 * MINUTE, to: 10 * MINUTE };
  assert.deepEqual(narrow(shown, { earliest: MINUTE, latest: 3 * MINUTE }, 0), { from: MINUTE, to: 3 * MINUTE, later: false });
  assert.deepEqual(narrow(shown, { earliest: 15 * MINUTE, latest: 25 * MINUTE }, 0), {
    from: 15 * MINUTE,
    to: 25 * MINUTE,
    later: true,
  });
});

test("whatever the room answers, what is shown ends later only with a word", () => {
  let seed = 1;
  const random = () => (seed = (seed * 48_271) % 2_147_483_647) / 2_147_483_647;
  let shown;
  for (let now = 0; now < 1_000 * MINUTE; now += MINUTE * random()) {
    const earliest = 100 * MINUTE * random();
    const next = narrow(shown, { earliest, latest: earliest + MINUTE + 50 * MINUTE * random() }, now);
    assert.ok(next.from <= next.to);
    assert.ok(next.later || !shown || next.to <= shown.to + 1e-6, `${JSON.stringify(shown)} ${JSON.stringify(next)}`);
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
  assert.equal(mood({ paused: false, slow: true }, { latest: 2 * MINUTE }), "soon");
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
