// `operator` opens the room's own address, and comes to the shop. `customer` follows a link into the shop on the day of the sale, waits
// on the page, shops, stays away until the session has ended, and follows the link once more. Each is told as soon as it is so.

import assert from "node:assert/strict";
import { createRequire } from "node:module";
import { setTimeout as sleep } from "node:timers/promises";

const { chromium } = createRequire(process.env.NODE_PACKAGES)("playwright-core");

const TICKETS = "https://shop.example/tickets/7";
const SALE = "https://shop.example/sale";
const DOOR = "https://wait.example/beekeeper";
// The guard's shortest idle time is a minute, which ends with a full minute.
const AWAY = 125_000;

const chrome = await chromium.launch({
  executablePath: process.env.CHROMIUM,
  args: ["--no-sandbox", "--disable-gpu", "--no-first-run", "--host-resolver-rules=MAP *.example 127.0.0.1"],
});
const page = await (await chrome.newContext({ ignoreHTTPSErrors: true })).newPage();
let visited = [];
page.on("request", (request) => {
  if (request.isNavigationRequest() && request.frame() === page.mainFrame()) visited.push(request.url());
});

async function follow() {
  visited = [];
  await page.goto("about:blank");
  await page.setContent(`<a href="${TICKETS}">Tickets</a>`);
  await page.getByText("Tickets").click();
}

async function arrives() {
  await page.waitForURL(TICKETS, { timeout: 180_000 });
  assert.match(await page.textContent("h1"), /^Ticket 7$/);
  assert.ok(visited.includes(DOOR), `not through the room: ${visited.join(" ")}`);
}

async function operator() {
  await page.goto(DOOR);
  await page.waitForURL((url) => url.href.startsWith(SALE), { timeout: 120_000 });
  assert.match(await page.textContent("h1"), /^Sale$/);
  console.log("shops");
}

async function customer() {
  await follow();
  await page.waitForURL("https://wait.example/wait/index.html*", { timeout: 60_000 });
  console.log("waits");
  await arrives();
  console.log("shops");
  await follow();
  await page.waitForURL(TICKETS);
  assert.ok(!visited.includes(DOOR), "a session opens the shop without the room");
  await sleep(AWAY);
  await follow();
  await arrives();
  console.log("is back");
}

await { operator, customer }[process.argv[2]]();
await chrome.close();
