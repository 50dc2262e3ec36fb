// The busy page in a browser: it retries by itself and reaches the room.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import test, { after, before } from "node:test";

import { AXE, browser, parse } from "./room.js";

const html = readFileSync(new URL("../../../crates/producer/src/busy.html", import.meta.url), "utf8");
const URL_OF_PAGE = "http://room.test/wait/index.html#ab12-7";

let chrome;
before(async () => { chrome = await browser(); });
after(() => chrome?.close());

/** A page whose clock stands still, with the largest random numbers, at a gate that refuses so many requests. */
async function refused(context, times) {
  const page = await context.newPage();
  const seen = { requests: 0 };
  await page.clock.install({ time: 0 });
  await page.clock.pauseAt(1_000);
  await page.addInitScript(() => { Math.random = () => 0.999; });
  await page.route("http://room.test/**", (route) => {
    seen.requests += 1;
    const isRefused = seen.requests <= times;
    return route.fulfill({ status: isRefused ? 429 : 200, contentType: "text/html; charset=utf-8", body: isRefused ? html : "<p>in" });
  });
  await page.goto(URL_OF_PAGE);
  return { page, seen };
}

test("the pauses grow over reloads, and the place in the URL survives them", async () => {
  const context = await chrome.newContext();
  const { page, seen } = await refused(context, 5);
  for (const [reload, seconds] of [8, 18, 38, 58, 58].entries()) {
    await page.clock.runFor(seconds * 1_000);
    assert.equal(seen.requests, reload + 1, "not yet");
    const reloaded = page.waitForNavigation();
    await page.clock.runFor(2_500);
    await reloaded;
    assert.equal(seen.requests, reload + 2);
  }
  assert.equal(await page.textContent("p"), "in");
  assert.equal(page.url(), URL_OF_PAGE);
  await context.close();
});

test("the link tries at once, and the countdown is not announced", async () => {
  const context = await chrome.newContext();
  const { page, seen } = await refused(context, 1);
  assert.match(await page.locator("#left").textContent(), /^(9|10) s$/);
  assert.equal(await page.locator("#left").getAttribute("aria-live"), "off");
  await page.getByText("Try now").click();
  await page.getByText("in", { exact: true }).waitFor();
  assert.equal(page.url(), URL_OF_PAGE);
  assert.equal(seen.requests, 2);
  await context.close();
});

test("axe finds nothing on the busy page, and browsers of any age can parse its script", async () => {
  const [, script] = /<script>([^]*)<\/script>/.exec(html);
  parse(script, { ecmaVersion: 3 });
  const context = await chrome.newContext();
  const { page } = await refused(context, 1);
  await page.clock.resume();
  await page.addScriptTag({ path: AXE });
  const { violations } = await page.evaluate(() => globalThis.axe.run({ runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"] }));
  assert.deepEqual(violations.map(({ id, nodes }) => `${id}: ${nodes.map((node) => node.html).join(" ")}`), []);
  await context.close();
});
