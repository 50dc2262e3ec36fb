// Visits to a real room, from the door to the shop.

import assert from "node:assert/strict";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import test, { after, before } from "node:test";

import {
  CHROMIUM, FLAGS, Proxy, Room, behindEdge, browser, changeDocument, chromium, cutShort, scratch, waitForState,
} from "./room.js";

const BEHIND_EDGE = ["--rate", "300", ...await behindEdge()];

let chrome;
before(async () => { chrome = await browser(); });
after(() => chrome?.close());

/** A test with a room and a browser context of its own. */
function visit(name, options, act) {
  test(name, { timeout: 180_000 }, async () => {
    const room = await Room.open(...options);
    const context = await chrome.newContext();
    try {
      await act(room, await context.newPage(), context);
    } finally {
      await context.close();
      await room.close();
    }
  });
}

const ticket = (page) => page.locator("[data-bk=ticket]").textContent();
const check = (page) => page.locator("button[data-bk=check]").click();
const inShop = (page) => page.waitForURL(/\/demo-shop$/, { timeout: 60_000 });

/** Presses the button, or does what `press` says, until `reached` resolves. */
async function checkUntil(page, reached, press = check) {
  let isOver = false;
  reached.finally(() => { isOver = true; }).catch(() => {});
  // The button goes away when the page moves on.
  while (!isOver) {
    await Promise.race([reached, press(page).catch(() => {})]);
    await page.waitForTimeout(250);
  }
  await reached;
}

visit("a visitor waits, sees the number ahead fall, and gets past the shop's guard", ["--rate", "10"], async (room, page) => {
  // Nobody is released until the page knows how many are ahead.
  await room.operator("pause");
  await room.crowd(60);
  await page.goto(room.door);
  await waitForState(page, "paused");
  assert.match(await ticket(page), /^\d+$/);
  const ahead = async () => Number(await page.locator("[data-bk=ahead]").textContent());
  const first = await ahead();
  assert.ok(first > 0, `${first} ahead`);
  await room.operator("on");
  const isLess = (first) => Number(document.querySelector("[data-bk=ahead]")?.textContent) < first;
  await checkUntil(page, page.waitForFunction(isLess, first, { timeout: 60_000 }));
  await checkUntil(page, inShop(page));
  assert.match(await page.textContent("body"), /You waited with number \d+, and your pass was good/);
});

visit("behind an edge, a page asks how the line stands without a cookie, and for its own answer at its turn", BEHIND_EDGE, async (room, page) => {
  const asked = [];
  page.on("request", async (request) => asked.push({ path: new URL(request.url()).pathname, headers: await request.allHeaders() }));
  await room.operator("pause");
  await room.crowd(200);
  await page.goto(room.door);
  await waitForState(page, "paused");
  // The page expects its turn in 40 s, so it asks after half of that. By then it has come, in this room's short minutes.
  await room.operator("on");
  await inShop(page);
  const shared = asked.filter(({ path }) => path === "/status");
  assert.ok(shared.length > 0 && shared.every(({ headers }) => headers.cookie === undefined), JSON.stringify(shared));
  const own = asked.filter(({ path }) => path === "/polling");
  assert.ok(own.length > 1 && own.every(({ headers }) => headers.cookie?.includes("bk_demo=")), JSON.stringify(own));
});

visit("the place survives a reload, a second tab, back and forward, and a closed browser", ["--rate", "1", "--minute", "10s"], async (room, page, context) => {
  await room.crowd(50);
  await page.goto(room.door);
  await waitForState(page, "waiting");
  const mine = await ticket(page);
  await page.reload();
  await waitForState(page, "waiting");
  assert.equal(await ticket(page), mine, "after a reload");

  const second = await context.newPage();
  await second.goto(room.door);
  await waitForState(second, "waiting");
  assert.equal(await ticket(second), mine, "in a second tab");
  await second.goto(`${room.base}/wait/index.html`);
  await waitForState(second, "waiting");
  assert.equal(await ticket(second), mine, "from a URL without a place");
  await second.close();

  await page.goto("about:blank");
  await page.goBack();
  await waitForState(page, "waiting");
  assert.equal(await ticket(page), mine, "after back");

  const reopened = await chrome.newContext({ storageState: await context.storageState() });
  const later = await reopened.newPage();
  await later.goto(room.door);
  await waitForState(later, "waiting");
  assert.equal(await ticket(later), mine, "in a browser that was closed and reopened");
  await reopened.close();
});

visit("the page explains a lost network and recovers from it", ["--rate", "1"], async (room, page, context) => {
  await room.crowd(50);
  await page.goto(room.door);
  await waitForState(page, "waiting");
  await context.setOffline(true);
  await checkUntil(page, waitForState(page, "unheard"));
  assert.match(await page.locator("[data-bk=hint]").textContent(), /your place is kept/);
  await context.setOffline(false); // The page notices by itself.
  await waitForState(page, "waiting");
});

visit("nobody is told that they have a place who has none", ["--rate", "1"], async (room, page, context) => {
  await page.route("**/polling", (route) => route.abort());
  await page.goto(`${room.base}/wait/index.html`);
  await checkUntil(page, waitForState(page, "unheard"));
  assert.equal(await page.locator("[data-bk=hint]").textContent(), "");
  const hidden = async (...parts) => {
    for (const part of parts) assert.ok(await page.locator(`[data-bk=${part}]`).isHidden(), part);
  };
  await hidden("place", "keep", "choices");
  await page.unroute("**/polling");
  await room.operator("end", "--yes", "--message", "Sold out", "--link", "https://shop.example/next");
  await checkUntil(page, waitForState(page, "ended"));

  const link = page.getByRole("link", { name: "Continue to shop.example" });
  await context.setOffline(true);
  const failed = page.waitForEvent("requestfailed");
  await page.waitForTimeout(2_500); // The page asks at most so often.
  await check(page);
  await failed;
  await page.waitForTimeout(500);
  assert.ok(await link.isVisible(), "what it said last");
  await waitForState(page, "ended");
  await hidden("place", "keep", "choices");
});

visit("a message goes away with the state that said it", ["--rate", "1"], async (room, page) => {
  await page.addInitScript(() => { Object.defineProperty(Document.prototype, "hidden", { get: () => true }); });
  await room.crowd(50);
  await page.goto(room.door);
  await waitForState(page, "waiting");
  await room.operator("end", "--yes", "--message", "Sold out");
  await checkUntil(page, waitForState(page, "ended"));
  const box = page.locator("[data-bk=messageBox]");
  assert.ok(await box.isVisible());
  await room.operator("off", "--yes");
  await checkUntil(page, waitForState(page, "held"));
  assert.ok(await box.isHidden());
  assert.equal(await page.locator("[data-bk=message]").textContent(), "", "nor without a box");
});

visit("a page that the browser makes ahead asks for nothing before somebody looks", ["--rate", "1"], async (room, page) => {
  // Whoever is alone in a room is let in within seconds.
  await room.crowd(50);
  // Chromium makes none ahead while somebody steers it.
  await page.addInitScript(() => Object.defineProperty(document, "prerendering", { get: () => !sessionStorage.getItem("isLookedAt"), configurable: true }));
  const asked = [];
  page.on("request", (request) => asked.push(new URL(request.url()).pathname));
  await page.clock.install();
  await page.goto(`${room.base}/wait/index.html`);
  await page.clock.runFor(60_000);
  assert.deepEqual(asked.filter((path) => /polling|beekeeper/.test(path)), []);
  await page.evaluate(() => {
    sessionStorage.setItem("isLookedAt", "yes");
    document.dispatchEvent(new Event("prerenderingchange"));
  });
  await page.waitForURL(/#/);
  await waitForState(page, "waiting");
});

visit("the page follows the operator's pause, message and off", ["--rate", "1"], async (room, page) => {
  await room.crowd(50);
  await page.goto(room.door);
  await waitForState(page, "waiting");
  await room.operator("pause");
  await checkUntil(page, waitForState(page, "paused"));
  assert.match(await page.locator("[data-bk=when]").textContent(), /when the line moves again/);
  await room.operator("message", `It's "late" – <b>sorry</b>`);
  const message = page.locator("[data-bk=message]", { hasText: `It's "late" – <b>sorry</b>` });
  await checkUntil(page, message.waitFor());
  await room.operator("off", "--yes");
  await checkUntil(page, inShop(page));
});

visit("the page counts down to the opening by itself, and then lets the visitor in", ["--rate", "60"], async (room, page) => {
  const opens = Math.ceil(Date.now() / 1_000) * 1_000 + 40_000;
  await room.operator("on", "--at", new Date(opens).toISOString());
  await page.waitForTimeout(1_500); // The order is in force in a second.
  let polls = 0;
  page.on("request", (request) => { polls += request.url().endsWith("/polling") ? 1 : 0; });
  await page.goto(room.door);
  await waitForState(page, "opening");
  assert.match(await page.locator("[data-bk=hint]").textContent(), /^Opening: \S+day, .*\d:\d\d.*\. Your place is kept/);
  assert.equal(await page.locator("[data-bk=when]").textContent(), "within 1 minute of the opening");
  const countdown = () => page.locator("[data-bk=countdown]").textContent();
  const first = await countdown();
  assert.match(first, /^in 0:\d\d$/);
  await page.waitForFunction((text) => document.querySelector("[data-bk=countdown]").textContent !== text, first);
  await page.waitForFunction(() => document.documentElement.dataset.state !== "opening", undefined, { timeout: 90_000 });
  assert.ok(Date.now() >= opens, "not before");
  assert.ok(polls <= 2, `${polls} polls`);
  await inShop(page);
});

visit("the page follows an opening that is moved and withdrawn", ["--rate", "1"], async (room, page) => {
  const inHours = (hours) => new Date(Date.now() + hours * 3_600_000).toISOString();
  await room.crowd(50);
  await page.goto(room.door);
  await waitForState(page, "waiting");
  const countdown = (hours) => page.locator("[data-bk=countdown]", { hasText: new RegExp(`^in ${hours}`) }).waitFor();
  for (const [hours, text] of [[26.5, "1 day, 3 hours"], [2, "(2 hours|1 hour, 59)"]]) {
    await room.operator("on", "--at", inHours(hours), "--yes");
    await checkUntil(page, countdown(text));
  }
  await room.operator("pause");
  await checkUntil(page, waitForState(page, "paused"));
  assert.ok(await page.locator("[data-bk=opens]").isHidden());
});

visit("after a reset the visitor gets a new place, and the page says so", ["--rate", "1"], async (room, page) => {
  await room.crowd(50);
  await page.goto(room.door);
  await waitForState(page, "waiting");
  let trips = 0;
  page.on("request", (request) => { trips += request.url() === room.door ? 1 : 0; });
  await room.operator("reset", "--yes");
  await room.crowd(50);
  await check(page);
  await page.locator("[data-bk=hint]", { hasText: "Your old place was no longer valid" }).waitFor();
  assert.equal(trips, 1);
});

visit("a door that learns of a reset later than the polls is asked once more", ["--rate", "1"], async (room, page) => {
  await room.crowd(50);
  await page.goto(room.door);
  await waitForState(page, "waiting");
  const old = new URL(page.url()).hash;
  await room.operator("reset", "--yes");
  await room.crowd(50);
  let trips = 0;
  await page.route(room.door, async (route) => {
    trips += 1;
    if (trips > 1) return route.continue();
    return route.fulfill({ status: 302, headers: { location: `wait/index.html${old}` } });
  });
  await check(page);
  await page.locator("[data-bk=hint]", { hasText: "Your old place was no longer valid" }).waitFor();
  assert.equal(trips, 2);
});

test("a browser that blocks cookies gets an explanation and no redirect loop", { timeout: 120_000 }, async () => {
  const room = await Room.open("--rate", "1");
  const profile = scratch();
  mkdirSync(join(profile, "Default"));
  const blocked = { profile: { default_content_setting_values: { cookies: 2 } } };
  writeFileSync(join(profile, "Default", "Preferences"), JSON.stringify(blocked));
  const context = await chromium.launchPersistentContext(profile, { executablePath: CHROMIUM, args: FLAGS, timeout: 180_000 });
  const page = await context.newPage();
  let trips = 0;
  page.on("request", (request) => { trips += request.url() === room.door ? 1 : 0; });
  await page.goto(room.door);
  await waitForState(page, "blocked");
  assert.match(await page.locator("[data-bk=hint]").textContent(), /allow cookies/);
  assert.ok(trips <= 2, `${trips} trips to the door`);
  // Pressing the button causes one more trip.
  const before = trips;
  await check(page);
  await page.waitForURL(/#/);
  await waitForState(page, "blocked");
  await page.waitForTimeout(3_000);
  assert.equal(trips, before + 1);
  await context.close();
  await room.close();
});

visit("a visitor who allows cookies again gets a place by pressing the button", ["--rate", "1"], async (room, page, context) => {
  await room.crowd(50);
  // Like a browser that refuses the cookie: it follows the redirect and does not store the cookie.
  await page.route(room.door, async (route) => {
    const response = await route.fetch({ maxRedirects: 0 });
    await context.clearCookies();
    const { "set-cookie": _, ...headers } = response.headers();
    await route.fulfill({ response, headers });
  });
  await page.goto(room.door);
  await waitForState(page, "blocked");
  await page.unroute(room.door);
  await check(page);
  await waitForState(page, "waiting");
});

visit("a browser with cookies but without storage gets a new place by pressing the button", ["--rate", "1"], async (room, page, context) => {
  await page.addInitScript(() => {
    for (const name of ["sessionStorage", "localStorage"]) {
      Object.defineProperty(globalThis, name, { get() { throw new DOMException("no storage", "SecurityError"); } });
    }
  });
  await room.crowd(50);
  await page.goto(room.door);
  await waitForState(page, "waiting");
  await context.clearCookies();
  await check(page);
  await waitForState(page, "blocked");
  await check(page);
  await waitForState(page, "waiting");
});

visit("a newcomer to the demonstration opens the shop, waits behind its visitors, and stays in", ["--visitors", "8", "--rate", "1"], async (room, page) => {
  await page.goto(room.shop);
  await waitForState(page, "waiting");
  assert.ok(Number(await page.locator("[data-bk=ahead]").textContent()) > 0);
  await room.operator("set-rate", "60", "--yes");
  await checkUntil(page, inShop(page));
  await page.reload();
  assert.equal(page.url(), room.shop);
  assert.match(await page.textContent("body"), /stay in/);
});

visit("a visitor who stops the navigation to the shop can enter later", ["--rate", "1"], async (room, page) => {
  await room.crowd(50);
  await page.goto(room.door);
  await waitForState(page, "waiting");
  await page.route(room.door, (route) => route.abort("aborted"));
  const stopped = page.waitForEvent("requestfailed", { timeout: 60_000 });
  await room.operator("off", "--yes");
  await checkUntil(page, waitForState(page, "turn"));
  await stopped;
  await page.unroute(room.door);
  await page.locator("[data-bk=enter]").click();
  await inShop(page);
});

visit("the page leaves a shop over a minute to answer before it goes there again", ["--rate", "1"], async (room, page) => {
  await room.crowd(50);
  await page.clock.install();
  await page.goto(room.door);
  await waitForState(page, "waiting");
  let trips = 0;
  // While a navigation is under way, a test cannot ask the page anything.
  await page.route(room.door, (route) => { trips += 1; return route.abort("aborted"); });
  const first = page.waitForEvent("requestfailed", { timeout: 60_000 });
  await room.operator("off", "--yes");
  await checkUntil(page, waitForState(page, "turn"));
  await first;
  await page.clock.runFor(75_000);
  await page.waitForTimeout(3_000); // A page that polled would have gone there again by now.
  assert.equal(trips, 1);
  assert.ok(await page.locator("[data-bk=enter]").isVisible(), "the visitor may press the button");
  const second = page.waitForEvent("requestfailed", { timeout: 60_000 });
  await page.clock.runFor(15_000);
  await second;
});

visit("a lost cookie is replaced by one trip to the door", ["--rate", "1"], async (room, page, context) => {
  await room.crowd(50);
  await page.goto(room.door);
  await waitForState(page, "waiting");
  const mine = await ticket(page);
  await context.clearCookies();
  await check(page);
  await page.locator("[data-bk=hint]", { hasText: "This is your new one" }).waitFor();
  assert.notEqual(await ticket(page), mine);
});

test("without JavaScript the page checks by itself, and on request", { timeout: 120_000 }, async () => {
  const room = await Room.open("--rate", "1");
  await room.crowd(50);
  const context = await chrome.newContext({ javaScriptEnabled: false });
  const page = await context.newPage();
  await page.goto(room.door);
  assert.ok(await page.getByText("Check now").isVisible());
  assert.ok(await page.getByText("Jetzt abfragen").isVisible());
  await page.waitForResponse("**/wait/index.html", { timeout: 60_000 }); // by itself
  await page.getByText("Check now").waitFor();
  await room.operator("close", "--after", "20", "--yes");
  await page.getByText("Check now").click();
  await page.getByText(/People who can still enter: (20|19)\. Ahead of you: about \d\d\./).waitFor();
  await room.operator("end", "--yes");
  await page.getByText("Check now").click();
  await page.getByText("The line has ended").waitFor();
  await page.locator("noscript > meta[http-equiv=refresh]").waitFor({ state: "attached" });
  await room.operator("off", "--yes");
  await checkUntil(page, inShop(page), () => page.getByText("Check again").click());
  await context.close();
  await room.close();
});

visit("a visitor who is not looking is alerted and can enter later", ["--rate", "1"], async (room, page, context) => {
  await context.grantPermissions(["notifications"], { origin: room.base });
  // A headless page is always visible and shows no notifications, so both are replaced.
  await page.addInitScript(() => {
    Object.defineProperty(Document.prototype, "hidden", { get: () => globalThis.isAway === true });
    globalThis.notified = [];
    globalThis.beeps = 0;
    const { start } = OscillatorNode.prototype;
    OscillatorNode.prototype.start = function (at) { globalThis.beeps += 1; start.call(this, at); };
    const lock = { async release() { globalThis.isAwake = false; } };
    const request = async () => { globalThis.isAwake = true; return lock; };
    Object.defineProperty(navigator, "wakeLock", { value: { request } });
    globalThis.Notification = class {
      static permission = "granted";
      static requestPermission = async () => "granted";
      constructor(text) { globalThis.notified.push(text); }
    };
  });
  await room.crowd(50);
  await page.goto(room.door);
  await waitForState(page, "waiting");
  await page.locator("[data-bk=notify]").check();
  const sound = page.locator("[data-bk=sound]");
  const isAwake = () => page.evaluate(() => globalThis.isAwake);
  for (const [isOn, lock] of [[true, true], [false, false], [true, true]]) {
    await sound.setChecked(isOn);
    assert.equal(await isAwake(), lock, "the screen stays on for the sound");
  }
  await page.reload();
  await waitForState(page, "waiting");
  assert.ok(await page.locator("[data-bk=notify]").isChecked(), "remembered");
  assert.ok(await isAwake(), "after a reload too");
  await page.evaluate(() => { globalThis.isAwake = false; document.dispatchEvent(new Event("visibilitychange")); });
  assert.ok(await isAwake(), "and when they come back, because the browser ends it when they leave");
  // Nobody touches the page, which would let it play sound anyway.
  await page.evaluate(() => { globalThis.isAway = true; setInterval(() => dispatchEvent(new Event("online")), 1_000); });
  await room.operator("set-rate", "6000", "--yes");
  await waitForState(page, "held");
  assert.equal(await page.evaluate(() => globalThis.beeps), 3);
  assert.match(await page.locator("[data-bk=hint]").textContent(), /^You can enter until \d/);
  assert.match(await page.title(), /^It’s your turn! – /);
  assert.match(await page.locator("link[rel=icon]").getAttribute("href"), /1a7f37/);
  const notified = () => page.evaluate(() => globalThis.notified);
  assert.deepEqual(await notified(), ["It’s your turn! The demonstration room"]);
  // While a navigation is under way, a test cannot ask the page anything.
  await page.route(room.door, (route) => route.abort("aborted"));
  const stopped = page.waitForEvent("requestfailed", { timeout: 60_000 });
  await page.evaluate(() => { globalThis.isAway = false; document.dispatchEvent(new Event("visibilitychange")); });
  await stopped;
  await waitForState(page, "turn");
  assert.deepEqual([await page.evaluate(() => globalThis.beeps), (await notified()).length], [3, 1], "once is enough");
  await page.unroute(room.door);
  await page.locator("[data-bk=enter]").click();
  await inShop(page);
});

test("after a reload a touch brings the sound and the lit screen back", { timeout: 120_000 }, async () => {
  const room = await Room.open("--rate", "1");
  await room.crowd(50);
  const context = await chrome.newContext({ hasTouch: true });
  const page = await context.newPage();
  // As on a phone that grants neither before a touch, and for which a finger that comes down is none.
  await page.addInitScript(() => {
    globalThis.granted = { sound: 0, lock: 0 };
    const grant = (name) => async () => {
      if (!navigator.userActivation.isActive) throw new DOMException("no touch", "NotAllowedError");
      globalThis.granted[name] += 1;
      return { released: false, async release() { this.released = true; } };
    };
    AudioContext.prototype.resume = grant("sound");
    Object.defineProperty(navigator, "wakeLock", { value: { request: grant("lock") } });
  });
  await page.goto(room.door);
  await waitForState(page, "waiting");
  await page.locator("[data-bk=sound]").check();
  await page.reload();
  await waitForState(page, "waiting");
  const granted = () => page.evaluate(() => globalThis.granted);
  assert.deepEqual(await granted(), { sound: 0, lock: 0 });
  for (const touches of [1, 2]) {
    await page.locator("h1").tap();
    await page.waitForFunction((touches) => globalThis.granted.sound === touches, touches);
    assert.equal((await granted()).lock, 1, "as long as it is held");
  }
  await context.close();
  await room.close();
});

for (const [what, change] of [
  ["that was not loaded to its end", cutShort],
  ["in a browser without modules", (html) => html.replace('type="module"', 'type="unknown"')],
]) {
  visit(`a page ${what} goes to the door by itself`, ["--rate", "1"], async (room, page) => {
    await room.crowd(50);
    await changeDocument(page, change);
    await page.clock.install();
    await page.goto(`${room.base}/wait/index.html`);
    await page.getByText("Check now").first().waitFor();
    const trip = page.waitForRequest(room.door, { timeout: 60_000 });
    await page.clock.runFor(30_000);
    await trip;
  });
}

visit("from the link to the first answer a browser sends three requests", ["--rate", "1"], async (room, page) => {
  await room.crowd(50);
  const proxy = await Proxy.open(room);
  await page.goto(proxy.door);
  await waitForState(page, "waiting");
  await page.waitForTimeout(1_000); // A browser may look for an icon later.
  assert.deepEqual(proxy.requests, ["/beekeeper", "/wait/index.html", "/polling"]);
  proxy.close();
});

test("a custom page comes with its style sheets, and its policy allows them", { timeout: 60_000 }, async () => {
  const folder = scratch();
  const builtIn = readFileSync(new URL("../../index.html", import.meta.url), "utf8");
  const links = '<link rel="stylesheet" href="wait.css"><link rel="stylesheet" href="own.css" media="(min-width: 1px)">';
  writeFileSync(join(folder, "index.html"), builtIn.replace("</head>", `${links}</head>`));
  writeFileSync(join(folder, "own.css"), 'h1 { color: rgb(1, 2, 3) }\r\nh1::after { content: "</h1> é" }\r\n');
  const room = await Room.open("--rate", "1", "--page", folder);
  await room.crowd(50);
  const [page, proxy] = [await chrome.newPage(), await Proxy.open(room)];
  const errors = [];
  page.on("console", (message) => { if (message.type() === "error") errors.push(message.text()); });
  await page.goto(proxy.door);
  await waitForState(page, "waiting");
  assert.equal(await page.locator("h1").evaluate((title) => getComputedStyle(title).color), "rgb(1, 2, 3)");
  assert.equal(await page.locator("h1").evaluate((title) => getComputedStyle(title).marginTop), "0px", "wait.css");
  assert.deepEqual(proxy.requests, ["/beekeeper", "/wait/index.html", "/polling"]);
  assert.deepEqual(errors, []);
  await page.close();
  proxy.close();
  await room.close();
});

visit("on slow 3G the network takes less than 1.4 seconds to bring the visitor's place", ["--rate", "1"], async (room, page, context) => {
  await room.crowd(50);
  const [latency, throughput] = [400, 400_000 / 8];
  const slow3g = { offline: false, latency, downloadThroughput: throughput, uploadThroughput: throughput };
  await (await context.newCDPSession(page)).send("Network.emulateNetworkConditions", slow3g);
  await page.addInitScript(() => {
    globalThis.shown = {};
    const note = () => { globalThis.shown[document.documentElement.dataset.state] ??= performance.now(); };
    new MutationObserver(note).observe(document, { subtree: true, attributeFilter: ["data-state"] });
  });
  await page.goto(room.door);
  await waitForState(page, "waiting");
  const [first, place, trips, bytes] = await page.evaluate(() => {
    const { finding, waiting } = globalThis.shown;
    const [navigation] = performance.getEntriesByType("navigation");
    const before = performance.getEntriesByType("resource").filter(({ startTime }) => startTime < waiting);
    const bytes = before.reduce((sum, { transferSize }) => sum + transferSize, navigation.transferSize);
    return [finding - navigation.fetchStart, waiting - navigation.fetchStart, before.length + 1, bytes];
  });
  // Computed, because a busy machine takes longer.
  const network = trips * latency + (bytes / throughput) * 1_000;
  console.log(
    `slow 3G, after the redirect: the first state in ${Math.round(first)} ms, the visitor's place in ${Math.round(place)}, `
      + `${Math.round(network)} of them for ${trips} trips and ${bytes} bytes`,
  );
  assert.equal(trips, 2, "the page and its first poll");
  assert.ok(network < 1_400, `${network} ms`);
});

test("a wrong clock changes neither the forecast nor until when a visitor can enter", { timeout: 120_000 }, async () => {
  const room = await Room.open();
  const context = await chrome.newContext({ locale: "en-GB", timezoneId: "UTC" });
  const page = await context.newPage();
  await page.clock.install({ time: new Date("2031-01-01T23:30:00Z") });
  const [waiting, held] = ["waiting", "held"].map((scene) => `${room.base}/preview/${scene}/wait/index.html`);
  const poll = await (await fetch(waiting.replace("wait/index.html", "polling"))).json();
  await page.goto(`${waiting}#${poll.epoch}-7101`);
  await waitForState(page, "waiting");
  assert.match(await page.locator("[data-bk=when]").textContent(), /^in 7 to 11 minutes, around 23:3[89]$/);
  await page.goto(`${waiting.replace("waiting", "opening")}#${poll.epoch}-7101`);
  await waitForState(page, "opening");
  assert.match(await page.locator("[data-bk=countdown]").textContent(), /^in [23] hours/);
  await page.evaluate(() => { Object.defineProperty(Document.prototype, "hidden", { get: () => true }); });
  await page.addInitScript(() => { Object.defineProperty(Document.prototype, "hidden", { get: () => true }); });
  await page.goto(`${held}#${poll.epoch}-7101`);
  await waitForState(page, "held");
  assert.match(await page.locator("[data-bk=hint]").textContent(), /until Thu 0?0:(29|30)\.$/);
  await context.close();
  await room.close();
});
