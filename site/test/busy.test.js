// The page that the door answers while it is busy, which API Gateway answers by itself to a request that it refuses.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import test from "node:test";

import { retryIn } from "../line.js";
import { LANGUAGES } from "../words.js";

const html = readFileSync(new URL("../../crates/producer/src/busy.html", import.meta.url), "utf8");
const [, script] = /<script>([^]*)<\/script>/.exec(html);

/** Loads the page and returns the pause until it reloads. `history` is the browser's; it stays the same over reloads. */
function load(history, random) {
  let pause;
  const fakes = {
    history,
    Math: Object.assign(Object.create(Math), { random: () => random }),
    document: { getElementById: () => ({}) },
    location: { reload() {} },
    setInterval() {},
    setTimeout(_reload, millis) { pause = millis; },
  };
  new Function(...Object.keys(fakes), script)(...Object.values(fakes));
  return pause;
}

test("the busy page pauses as the waiting page does, however often it was refused", () => {
  for (const random of [0, 0.1, 0.5, 0.999]) {
    const history = { state: null, replaceState(state) { this.state = structuredClone(state); } };
    for (let refusals = 1; refusals <= 40; refusals += 1) {
      assert.equal(load(history, random), retryIn(refusals, 0, random), `after ${refusals}`);
    }
  }
});

test("a browser that cannot count the refusals pauses as after several", () => {
  const refused = { state: null, replaceState() { throw new Error("not allowed"); } };
  for (const history of [{}, refused]) {
    for (let visit = 0; visit < 3; visit += 1) assert.equal(load(history, 0.5), retryIn(4, 0, 0.5));
  }
});

test("who does not want to wait presses a link in their language", () => {
  const links = html.match(/^<p.*<a href="" onclick="location\.reload\(\); return false">[^<]+<\/a>/gm);
  assert.equal(links.length, LANGUAGES.length);
});

test("without JavaScript the busy page reloads after 45 to 60 seconds", () => {
  const [, seconds] = /<noscript><meta http-equiv="refresh" content="(\d+)"><\/noscript>/.exec(html);
  assert.ok(seconds >= 45 && seconds <= 60, seconds);
  assert.equal(html.match(/http-equiv="refresh"/g).length, 1);
});
