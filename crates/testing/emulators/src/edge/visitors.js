// Two visitors follow the link to the room at this URL in Chromium, one after the other. Prints their numbers once they wait, and once
// both are in the shop, what their browsers asked the room and had an answer to: for each visitor a list of path, cookies, and whether the
// edge had the answer.
//
// The shop is the sample of `beekeeper local`, or stands here and says the same.

import { createRequire } from "node:module";

const { chromium } = createRequire(process.env.NODE_PACKAGES)("playwright-core");

const WELCOME = "your pass was good";
const door = process.argv[2];
const { origin } = new URL(door);
const chrome = await chromium.launch({
  executablePath: process.env.CHROMIUM,
  args: ["--no-sandbox", "--disable-gpu", "--no-first-run"],
  timeout: 180_000,
});

async function join() {
  const page = await (await chrome.newContext()).newPage();
  await page.route("https://shop.example/**", (route) => route.fulfill({ contentType: "text/html", body: WELCOME }));
  const asked = [];
  page.on("request", (request) => {
    const url = new URL(request.url());
    if (url.origin !== origin) return;
    const noted = async () => {
      const response = await request.response();
      // A page that leads on to the shop doesn't wait for what it had still asked.
      if (response === null) return null;
      const cookies = (await request.allHeaders()).cookie ?? "";
      return { path: url.pathname, cookies, edge: (await response.headerValue("x-cache")) ?? "" };
    };
    asked.push(noted());
  });
  await page.goto(door);
  await page.locator("html[data-state=paused]").waitFor({ state: "attached", timeout: 60_000 });
  const ticket = await page.locator("[data-bk=ticket]").textContent();
  return { page, asked, ticket: ticket.replace(/\D/g, "") };
}

const visitors = [await join(), await join()];
console.log(JSON.stringify(visitors.map(({ ticket }) => ticket)));

async function arrive({ page, asked }) {
  await page.getByText(WELCOME).waitFor({ timeout: 120_000 });
  return (await Promise.all(asked)).filter((one) => one !== null);
}

console.log(JSON.stringify(await Promise.all(visitors.map(arrive))));
await chrome.close();
