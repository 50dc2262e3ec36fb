// What the page shows while time passes and no poll is answered.

import assert from "node:assert/strict";
import test, { after, before } from "node:test";

import { TEXTS } from "../../words.js";
import { Room, browser, waitForState } from "./room.js";

const MINUTE = 60_000;

let room, chrome;
before(async () => { [room, chrome] = await Promise.all([Room.open(), browser()]); });
after(async () => { await chrome?.close(); await room?.close(); });

/**
 * A page in the middle of the line, whose turn is in 7 to 11 minutes, or whose room opens in 2 to 3 hours. Only the test moves its
 * clock.
 */
async function waiting(scene = "waiting") {
  const context = await chrome.newContext({ locale: "en-GB", timezoneId: "UTC" });
  const page = await context.newPage();
  const seen = { polls: 0 };
  page.on("request", (request) => { seen.polls += request.url().endsWith("/polling") ? 1 : 0; });
  await page.clock.install({ time: new Date("2031-01-01T00:00:00Z") });
  const preview = `${room.base}/preview/${scene}`;
  const { epoch } = await (await fetch(`${preview}/polling`)).json();
  await page.goto(`${preview}/wait/index.html#${epoch}-7101`);
  await waitForState(page, scene);
  // A busy machine gets here later, and a clock is never set back.
  const soon = await page.evaluate(() => Date.now() + 5_000);
  await page.clock.pauseAt(Math.max(Date.parse("2031-01-01T00:00:10Z"), soon));
  const text = (name) => page.locator(`[data-bk=${name}]`).textContent();
  return { context, page, seen, text };
}

test("the time until the turn counts down without a poll, and is not announced", { timeout: 60_000 }, async () => {
  const { context, page, seen, text } = await waiting();
  assert.match(await text("when"), /^in 7 to 11 minutes, around 0?0:0[89]$/);
  const announcement = page.locator("[role=status].spoken");
  await announcement.evaluate((element) => { element.textContent = "unchanged"; });
  await page.clock.runFor(10_000); // Announcements are cleared after a while.
  await page.clock.runFor(70_000);
  assert.match(await text("when"), /^in 5 to 10 minutes, around 0?0:0[89]$/);
  assert.equal(await text("ahead"), "3,000", "what was measured");
  assert.notEqual(await announcement.textContent(), await text("when"));
  assert.doesNotMatch(await announcement.textContent(), /minutes/);
  assert.equal(seen.polls, 1);
  await context.close();
});

test("the page leaves alone what a browser has translated", { timeout: 60_000 }, async () => {
  const { context, page, text } = await waiting();
  await page.clock.runFor(15_000);
  const before = await text("next");
  await page.locator("[data-bk=when]").evaluate((element) => { element.innerHTML = "<font>over een paar minuten</font>"; });
  await page.clock.runFor(3_000);
  assert.notEqual(await text("next"), before);
  assert.equal(await text("when"), "over een paar minuten");
  await page.clock.runFor(MINUTE);
  assert.match(await text("when"), /^in 5 to 10 minutes/, "another text replaces it");
  await context.close();
});

test("a later turn isn't explained for longer because the visitor's clock was set back", { timeout: 60_000 }, async () => {
  const { context, page, text } = await waiting();
  const laterIn = (millis) => page.evaluate((millis) => {
    const key = Object.keys(localStorage).find((key) => key.endsWith(" journey"));
    const journey = JSON.parse(localStorage.getItem(key));
    localStorage.setItem(key, JSON.stringify({ ...journey, range: { ...journey.range, laterAt: Date.now() + millis } }));
  }, millis);
  for (const [millis, hint] of [[-MINUTE, "longerHint"], [180 * MINUTE, "waitingHint"]]) {
    await laterIn(millis);
    await page.reload();
    await waitForState(page, "waiting");
    assert.equal(await text("hint"), TEXTS.en[hint]);
  }
  await context.close();
});

test("when the room does not answer, the time counts down, and is unknown after it has passed", { timeout: 60_000 }, async () => {
  const { context, page, seen, text } = await waiting();
  await page.route("**/polling", (route) => route.abort());
  const shown = [];
  for (let minute = 0; minute < 20; minute += 1) {
    await page.clock.runFor(MINUTE);
    shown.push(await text("when"));
  }
  // Several polls failed, so the page says so, and that the place is kept.
  assert.equal(await page.locator("html").getAttribute("data-state"), "unheard");
  assert.ok(seen.polls > 4, `${seen.polls} polls`);
  assert.equal(shown.at(-1), TEXTS.en.whenPaused);
  const counted = shown.filter((when) => when !== TEXTS.en.whenPaused);
  const latest = counted.map((when) => Number(/(\d+) minutes?(, around 0?0:\d\d)?$/.exec(when)[1]));
  assert.deepEqual(latest, [...latest].sort((one, other) => other - one), "it never rises");
  assert.equal(counted.at(-1), "within 1 minute");
  await context.close();
});

test("when the room does not answer, its opening counts down, and nothing is said of it after it has passed", { timeout: 60_000 }, async () => {
  const { context, page, text } = await waiting("opening");
  await page.route("**/polling", (route) => route.abort());
  await page.locator("button[data-bk=check]").dispatchEvent("click");
  await waitForState(page, "unheard");
  const before = await text("countdown");
  await page.clock.fastForward(90 * MINUTE);
  await page.clock.runFor(1_000);
  assert.ok(await page.locator("[data-bk=opens]").isVisible());
  assert.notEqual(await text("countdown"), before);
  assert.match(await text("when"), /of the opening$/);
  await page.clock.fastForward(90 * MINUTE);
  await page.clock.runFor(1_000);
  assert.equal(await page.locator("html").getAttribute("data-state"), "unheard");
  assert.ok(await page.locator("[data-bk=opens]").isHidden());
  assert.equal(await text("when"), TEXTS.en.whenPaused);
  await context.close();
});
