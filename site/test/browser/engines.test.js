// The walk from the link to the shop in Firefox and in WebKit, Safari's engine. The other tests here run in Chromium.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import test, { after, before } from "node:test";

import { Proxy, Room, required } from "./room.js";
import { Firefox, WebKit, until } from "./webdriver.js";

const ENGINES = [
  {
    name: "Firefox",
    start: () => new Firefox(required("FIREFOX")),
    withoutCookies: { "network.cookie.cookieBehavior": 2 },
  },
  {
    name: "WebKit",
    // Its browser needs a screen.
    start: async () => WebKit.start(required("WEBKIT_DRIVER"), { DISPLAY: await screen() }),
    withoutCookies: { args: ["--automation", "--cookies-policy=never"] },
  },
];

/** Starts a screen in memory, and returns its name. */
async function screen() {
  const child = spawn(required("XVFB"), ["-displayfd", "1", "-screen", "0", "1024x768x24", "-nolisten", "tcp"]);
  process.on("exit", () => child.kill("SIGKILL"));
  const number = await new Promise((resolve, reject) => {
    child.stdout.on("data", resolve);
    child.on("error", reject);
    child.on("exit", () => reject(new Error("Xvfb did not start")));
  });
  return `:${String(number).trim()}`;
}

const state = (session) => session.run(() => document.documentElement.dataset.state);
const ticket = (session) => session.run(() => document.querySelector("[data-bk=ticket]").textContent);
const press = (session) => session.run(() => document.querySelector("[data-bk=check]").click());
const reaches = (session, wanted) => until(`the state ${wanted}`, async () => (await state(session)) === wanted);

for (const { name, start, withoutCookies } of ENGINES) {
  let engine;
  before(async () => { engine = await start(); });
  after(() => engine?.stop());

  /** A test with a room and a browser of its own. */
  const visit = (what, options, act) => test(`${name}: ${what}`, { timeout: 180_000 }, async () => {
    // One enters in ten seconds, and fifty are ahead.
    const room = await Room.open("--rate", "1", "--minute", "10s");
    const [proxy, session] = await Promise.all([Proxy.open(room), engine.open(options)]);
    try {
      await room.crowd(50);
      await act(session, room, proxy);
    } finally {
      await session.close();
      proxy.close();
      await room.close();
    }
  });

  visit("a visitor keeps the place, looks away, and reaches the shop", undefined, async (session, room, proxy) => {
    await session.goTo(proxy.door);
    await reaches(session, "waiting");
    assert.deepEqual(proxy.requests, ["/beekeeper", "/wait/index.html", "/polling"]);
    const mine = await ticket(session);
    assert.match(mine, /^\d+$/);
    await session.reload();
    await reaches(session, "waiting");
    assert.equal(await ticket(session), mine, "after a reload");

    const [first, second] = [await session.tab(), await session.newTab()];
    await session.switchTo(second);
    await session.goTo(proxy.door);
    await reaches(session, "waiting");
    assert.equal(await ticket(session), mine, "in a second tab");
    await session.closeTab();
    await session.switchTo(first);

    // So near to the turn, the page polls every few seconds. In a hidden tab nothing but its timer does.
    await room.operator("pause");
    await room.operator("set-rate", "6000", "--yes");
    await press(session);
    await reaches(session, "paused");
    await session.minimize();
    await until("the page is hidden", () => session.run(() => document.hidden));
    await room.operator("on");
    await reaches(session, "held");
    await session.restore();
    await until("the shop", async () => /\/demo-shop$/.test(await session.url()));
    assert.match(await session.run(() => document.body.textContent), /your pass was good/);
  });

  visit("a browser that blocks cookies gets an explanation and no redirect loop", withoutCookies, async (session, room, proxy) => {
    await session.goTo(proxy.door);
    await reaches(session, "blocked");
    await new Promise((waited) => { setTimeout(waited, 3_000); });
    assert.equal(await state(session), "blocked");
    const trips = proxy.requests.filter((url) => url === "/beekeeper").length;
    assert.ok(trips <= 2, `${trips} trips to the door`);
  });
}
