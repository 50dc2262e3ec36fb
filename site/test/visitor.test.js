// What a browser does in a room, from the link to its turn: the same cases as `page::visitor` in Rust.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import test from "node:test";

import { play } from "./visit.js";

const { answers, visits } = JSON.parse(readFileSync(new URL("visitor-cases.json", import.meta.url)));

for (const visit of visits) {
  test(visit.name, async () => {
    const done = await play({ ...visit, answers });
    for (const [index, { then }] of visit.steps.entries()) {
      if (!then) continue;
      const { after, ...rest } = then;
      const found = done[index];
      assert.deepEqual({ ...found, ...rest }, found, `step ${index + 1}`);
      assert.ok(Math.abs(found.after - after) < 1, `step ${index + 1}: after ${found.after} ms, not ${after}`);
    }
  });
}

test("a browser that can't tell the room's time asks for its own answer", async () => {
  const answer = { hears: ["edge"], date: null };
  const done = await play({ steps: [{ hears: "#ab12-201" }, answer, answer], answers });
  assert.deepEqual(done.map(({ ask }) => ask), ["poll", "poll", "poll"]);
});

test("a page whose URL has another place than this browser asks the door once", async () => {
  // Somebody's URL, opened where there is a place already. A door that sends the page back to it is believed.
  const opened = [{ hears: "#ab12-101" }, { hears: ["waits"] }];
  for (const redirect of ["#ab12-201", "#ab12-101"]) {
    const steps = [{ hears: "#ab12-201" }, { hears: ["waits"] }, ...opened, { hears: redirect }, { hears: ["waits"] }, { hears: ["waits"] }];
    const done = await play({ steps, answers });
    assert.deepEqual(done.map(({ ask }) => ask), ["poll", "poll", "poll", "door", "poll", "poll", "poll"], redirect);
    assert.equal(done[3].shows, "finding", "nothing of another's place");
    const after = redirect === "#ab12-201" ? 100_000 : 50_000;
    assert.ok(Math.abs(done.at(-1).after - after) < 1, `after ${done.at(-1).after}`);
  }
});

test("a page that slept asks for its own answer", async () => {
  const done = await play({ steps: [{ hears: "#ab12-201" }, { hears: ["edge"], sleeps: 60_000 }], answers });
  assert.equal(done.at(-1).ask, "poll");
});
