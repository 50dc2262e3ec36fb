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

test("a page that slept asks for its own answer", async () => {
  const done = await play({ steps: [{ hears: "#ab12-201" }, { hears: ["edge"], sleeps: 60_000 }], answers });
  assert.equal(done.at(-1).ask, "poll");
});
