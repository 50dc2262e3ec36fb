// Every state of the page: what axe finds, in which languages, on which screens.

import assert from "node:assert/strict";
import { readFileSync, readdirSync } from "node:fs";
import test, { after, before } from "node:test";

import { LANGUAGES } from "../../words.js";
import { AXE, Room, SCENES, STATE_OF, browser, enter, parse, settled } from "./room.js";

let room, chrome;
before(async () => { [room, chrome] = await Promise.all([Room.open("--title", "Spring sale"), browser()]); });
after(async () => { await chrome?.close(); await room?.close(); });

async function faults(page) {
  await page.addScriptTag({ path: AXE });
  const { violations } = await page.evaluate(() =>
    globalThis.axe.run({ runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"] }));
  return violations.map(({ id, nodes }) => `${id}: ${nodes.map((node) => node.html).join(" ")}`);
}

for (const scene of SCENES.filter((scene) => scene !== "turn")) {
  test(`axe finds nothing in the state ${scene}, light or dark`, async () => {
    for (const colorScheme of ["light", "dark"]) {
      const context = await chrome.newContext({ colorScheme, bypassCSP: true });
      const page = await context.newPage();
      await enter(page, room, scene);
      assert.deepEqual(await faults(page), [], colorScheme);
      await context.close();
    }
  });
}

test("axe finds nothing in the moment of our turn, light or dark", async () => {
  for (const colorScheme of ["light", "dark"]) {
    const context = await chrome.newContext({ colorScheme, bypassCSP: true });
    const page = await context.newPage();
    // The door lets us wait, so that the moment lasts.
    await page.route("**/turn/beekeeper", () => {});
    await enter(page, room, "turn");
    assert.deepEqual(await faults(page), [], colorScheme);
    await context.close();
  }
});

test("axe finds nothing where the page's program does not run", async () => {
  for (const colorScheme of ["light", "dark"]) {
    const context = await chrome.newContext({ colorScheme, bypassCSP: true });
    const page = await context.newPage();
    await page.route("**/{wait,old}.js", (route) => route.abort());
    await page.goto(`${room.base}/wait/index.html`);
    await page.getByText("Check now").waitFor();
    assert.deepEqual(await faults(page), [], colorScheme);
    await context.close();
  }
});

for (const language of LANGUAGES) {
  test(`speaks ${language}`, async () => {
    const { default: texts } = await import(`../../text-${language}.js`);
    const context = await chrome.newContext({ locale: language, bypassCSP: true, viewport: { width: 320, height: 640 } });
    const page = await context.newPage();
    for (const scene of ["waiting", "paused", "held", "blocked"]) {
      await enter(page, room, scene);
      assert.equal(await page.locator("[data-bk=state]").textContent(), texts[scene]);
      assert.equal(await page.locator("html").getAttribute("lang"), language);
      assert.equal(await page.locator("html").getAttribute("dir"), texts.dir);
      const overflow = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
      assert.equal(overflow, 0, `${scene} is wider than 320 px`);
      assert.deepEqual(await faults(page), [], scene);
    }
    await context.close();
  });
}

test("fits with long names, in twice as large letters, and moves nothing for those who asked for that", async () => {
  const title = "Donaudampfschifffahrtselektrizitätenhauptbetriebswerkbauunterbeamtengesellschaft";
  const other = await Room.open("--title", title);
  const context = await chrome.newContext({ viewport: { width: 320, height: 480 }, reducedMotion: "reduce", bypassCSP: true });
  const page = await context.newPage();
  const overflow = () => page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
  await enter(page, other, "message");
  assert.equal(await overflow(), 0);
  const transition = await page.evaluate(() => getComputedStyle(document.querySelector(".bar"), "::before").transitionDuration);
  assert.equal(transition, "0s");
  await page.setViewportSize({ width: 640, height: 960 });
  await page.addStyleTag({ content: ":root { font-size: 34px !important; }" });
  assert.equal(await overflow(), 0, "in letters of twice the size");
  await context.close();
  await other.close();
});

test("the keyboard reaches everything, and one sees where it is", async () => {
  const page = await chrome.newPage();
  await enter(page, room, "waiting");
  await page.locator("button[data-bk=check]").waitFor();
  const reached = [];
  for (let step = 0; step < 3; step += 1) {
    await page.keyboard.press("Tab");
    reached.push(await page.evaluate(() => document.activeElement.dataset.bk));
    assert.notEqual(await page.evaluate(() => getComputedStyle(document.activeElement).outlineStyle), "none");
  }
  assert.deepEqual(reached, ["check", "sound", "notify"]);
  await page.keyboard.press("Shift+Tab");
  await page.keyboard.press("Space");
  assert.ok(await page.locator("[data-bk=sound]").isChecked());
  await page.keyboard.press("Shift+Tab");
  const polled = page.waitForRequest("**/polling");
  await page.keyboard.press("Enter");
  await polled;
  await page.close();
});

test("only milestones are spoken, and the countdown is not", async () => {
  const page = await chrome.newPage();
  await enter(page, room, "waiting");
  const spoken = page.locator("[role=status].spoken");
  assert.match(await spoken.textContent(), /^You are in line\. .*Ahead of you, about 3,000/);
  const timer = page.locator("[role=timer]");
  assert.equal(await timer.getAttribute("aria-live"), "off");
  const before = await timer.textContent();
  await spoken.evaluate((element) => { element.textContent = "as it was"; });
  await page.waitForFunction((text) => document.querySelector("[role=timer]").textContent !== text, before);
  const answered = page.waitForResponse("**/polling");
  await page.evaluate(() => document.dispatchEvent(new Event("visibilitychange")));
  await (await answered).finished();
  await page.waitForFunction(() => document.querySelector("[role=timer]").textContent.startsWith("Next"));
  assert.equal(await spoken.textContent(), "as it was", "nothing happened that is worth a word");
  await page.locator("button[data-bk=check]").click();
  await page.waitForFunction(() => /^Ahead of you, about 3,000/.test(document.querySelector("[role=status].spoken").textContent));
  await page.close();
});

test("browsers of spring 2020 can read the program", () => {
  const folder = new URL("../../", import.meta.url);
  for (const name of readdirSync(folder).filter((name) => name.endsWith(".js"))) {
    const [source, isOld] = [readFileSync(new URL(name, folder), "utf8"), name === "old.js"];
    // Of 2021 they know the underscores in numbers, and not the assignments like ??=.
    parse(source, isOld ? { ecmaVersion: 3 } : { ecmaVersion: 2021, sourceType: "module" });
    assert.doesNotMatch(source, /\?\?=|\|\|=|&&=/, name);
  }
});

test("nothing is loaded from elsewhere, and nothing offends the policy", async () => {
  const page = await chrome.newPage();
  const [hosts, complaints] = [new Set(), []];
  page.on("request", (request) => { if (!request.url().startsWith("data:")) hosts.add(new URL(request.url()).origin); });
  page.on("console", (message) => { if (message.type() === "error") complaints.push(message.text()); });
  page.on("pageerror", (error) => complaints.push(error.message));
  for (const scene of ["waiting", "message", "paused", "turn", "blocked"]) {
    await page.goto(`${room.base}/preview/`);
    await page.click(`a:text-is("${scene}")`);
    await settled(page, STATE_OF[scene] ?? scene);
  }
  assert.deepEqual([...hosts], [room.base]);
  assert.deepEqual(complaints, []);
  await page.close();
});

test("the first paint needs the document alone", async () => {
  const page = await chrome.newPage();
  await page.route(/\.(js|css)$/, () => {}); // never answered
  await page.goto(`${room.base}/wait/index.html`, { waitUntil: "commit" });
  const painted = await page.waitForFunction(() => performance.getEntriesByName("first-contentful-paint")[0]?.startTime);
  assert.ok((await painted.jsonValue()) > 0);
  assert.equal(await page.locator("h1").textContent(), "Spring sale");
  assert.notEqual(await page.locator(".card").evaluate((card) => getComputedStyle(card).borderRadius), "0px", "styled");
  await page.close();
});
