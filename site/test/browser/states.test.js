// Every state of the page: accessibility (axe), languages, screen sizes, keyboard, what it loads.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import test, { after, before } from "node:test";

import { BUILT } from "../../bundle.js";
import { TEXTS } from "../../words.js";
import {
  AXE, Room, SCENES, STATE_OF, browser, changeDocument, cutShort, openScene, parse, waitForState,
} from "./room.js";

let room, chrome;
before(async () => { [room, chrome] = await Promise.all([Room.open("--title", "Spring sale"), browser()]); });
after(async () => { await chrome?.close(); await room?.close(); });

async function violations(page) {
  await page.addScriptTag({ path: AXE });
  const { violations: found } = await page.evaluate(() =>
    globalThis.axe.run({ runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"] }));
  return found.map(({ id, nodes }) => `${id}: ${nodes.map((node) => node.html).join(" ")}`);
}

/** How many pixels are beyond the side of the window. */
const overflow = (page) => page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);

/** As in a browser whose usual text is of twice the size. */
const doubleText = (page) => page.addStyleTag({ content: ":root { font-size: 34px !important; }" });

for (const scene of SCENES.filter((scene) => scene !== "turn")) {
  test(`axe finds nothing in the state ${scene}, light or dark`, async () => {
    for (const colorScheme of ["light", "dark"]) {
      const context = await chrome.newContext({ colorScheme, bypassCSP: true });
      const page = await context.newPage();
      await openScene(page, room, scene);
      assert.deepEqual(await violations(page), [], colorScheme);
      await context.close();
    }
  });
}

test("axe finds nothing in the state turn, light or dark", async () => {
  for (const colorScheme of ["light", "dark"]) {
    const context = await chrome.newContext({ colorScheme, bypassCSP: true });
    const page = await context.newPage();
    // The door never answers, so that the page stays in the state "turn".
    await page.route("**/turn/beekeeper", () => {});
    await openScene(page, room, "turn");
    assert.deepEqual(await violations(page), [], colorScheme);
    await context.close();
  }
});

test("axe finds nothing where the page's program did not arrive", async () => {
  for (const colorScheme of ["light", "dark"]) {
    const context = await chrome.newContext({ colorScheme, bypassCSP: true });
    const page = await context.newPage();
    await changeDocument(page, cutShort);
    await page.goto(`${room.base}/wait/index.html`);
    await page.getByText("Check now").waitFor();
    assert.deepEqual(await violations(page), [], colorScheme);
    await context.close();
  }
});

test("the preview shows what a visitor reads whose old place is no longer valid", async () => {
  const page = await chrome.newPage();
  await openScene(page, room, "anew");
  await page.locator("[data-bk=hint]", { hasText: TEXTS.en.anewHint }).waitFor();
  await page.close();
});

test("who stands beyond the stock reads how many are left and how many are ahead", async () => {
  const page = await chrome.newPage();
  await openScene(page, room, "scarce");
  const ahead = await page.locator("[data-bk=ahead]").textContent();
  const expected = TEXTS.en.scarceHint.replace("{left}", "200").replace("{ahead}", ahead);
  await page.locator("[data-bk=hint]", { hasText: expected }).waitFor();
  await page.close();
});

test("who comes too late reads the operator's text and can follow the link, and sees no place", async () => {
  const page = await chrome.newPage();
  for (const scene of ["closed", "ended"]) {
    await openScene(page, room, scene);
    const link = page.getByRole("link", { name: `Continue to ${new URL(room.shop).host}` });
    assert.equal(await link.getAttribute("href"), room.shop);
    const text = page.locator("[data-bk=message]");
    assert.ok((await text.isVisible()) && /^All 5,000 tickets are gone/.test(await text.textContent()));
    for (const hidden of ["place", "keep", "choices", "enter"]) {
      assert.ok(await page.locator(`[data-bk=${hidden}]`).isHidden(), hidden);
    }
    assert.match(await page.locator("[role=status].spoken").textContent(), /All 5,000 tickets are gone\./);
  }
  await openScene(page, room, "waiting");
  assert.deepEqual(await page.getByRole("link").allTextContents(), [TEXTS.en.help]);
  await page.close();
});

test("the countdown to an opening goes with the place, wherever a custom page has it", async () => {
  const ended = await (await fetch(`${room.base}/preview/ended/polling`)).json();
  const page = await chrome.newPage();
  await changeDocument(page, (html) => {
    const [countdown] = /<div class="wide" data-bk="opens".*<\/div>/.exec(html);
    return html.replace(countdown, "").replace("</main>", `${countdown}</main>`);
  }, /opening\/wait\/index\.html/);
  await openScene(page, room, "opening");
  const opens = page.locator("main > [data-bk=opens]");
  assert.ok(await opens.isVisible());
  await page.route("**/opening/polling", (route) => route.fulfill({ json: ended }));
  await page.locator("button[data-bk=check]").click();
  await waitForState(page, "ended");
  assert.ok(await opens.isHidden());
  await page.close();
});

test("what the door shows to those who come too late without JavaScript is accessible, and others go on to the page", async () => {
  const other = await Room.open("--title", "Weihnachtsmarktgutscheine <2027>");
  for (const [order, shown] of [["close", "The line is closed"], ["end", "The line has ended"]]) {
    await other.operator(order, "--yes", "--message", "Sold out <b>&", "--link", "https://shop.example/next");
    for (const colorScheme of ["light", "dark"]) {
      const context = await chrome.newContext({ colorScheme, bypassCSP: true, viewport: { width: 320, height: 640 } });
      const page = await context.newPage();
      // As in a browser that cannot run the page.
      await changeDocument(page, (html) => html.replace(/<script[^]*<\/script>/, ""), "**/beekeeper");
      await page.goto(other.door);
      assert.ok(await page.getByText(shown).isVisible());
      assert.ok(await page.getByText("Sold out <b>&").isVisible());
      assert.equal(await page.getByRole("link").first().getAttribute("href"), "https://shop.example/next");
      assert.equal(await overflow(page), 0, "a long title");
      assert.deepEqual(await violations(page), [], colorScheme);
      await context.close();
    }
    const page = await chrome.newPage();
    await page.goto(other.door);
    await waitForState(page, order === "close" ? "closed" : "ended");
    assert.match(page.url(), /\/wait\/index\.html$/);
    assert.deepEqual(await page.context().cookies(other.base), []);
    if (order === "end") {
      await other.operator("undo");
      await other.operator("undo");
      await page.locator("button[data-bk=check]").click();
      await page.waitForURL(/#/);
    }
    await page.close();
  }
  await other.close();
});

for (const [language, texts] of Object.entries(TEXTS)) {
  test(`speaks ${language}`, async () => {
    const context = await chrome.newContext({ locale: language, bypassCSP: true, viewport: { width: 320, height: 640 } });
    const page = await context.newPage();
    for (const scene of ["waiting", "paused", "opening", "closed", "ended", "held", "blocked"]) {
      await openScene(page, room, scene);
      assert.equal(await page.locator("[data-bk=state]").textContent(), texts[scene]);
      assert.equal(await page.locator("html").getAttribute("lang"), language);
      assert.equal(await page.locator("html").getAttribute("dir"), texts.dir);
      assert.equal(await overflow(page), 0, `${scene} is wider than 320 px`);
      assert.deepEqual(await violations(page), [], scene);
      await doubleText(page);
      assert.equal(await overflow(page), 0, `${scene} is wider than 320 px with text of twice the size`);
    }
    await context.close();
  });
}

test("fits with a long title and with text of twice the size, and does not animate if the visitor prefers that", async () => {
  const title = "Donaudampfschifffahrtselektrizitätenhauptbetriebswerkbauunterbeamtengesellschaft";
  const other = await Room.open("--title", title);
  const context = await chrome.newContext({ viewport: { width: 320, height: 480 }, reducedMotion: "reduce", bypassCSP: true });
  const page = await context.newPage();
  await openScene(page, other, "message");
  assert.equal(await overflow(page), 0);
  const transition = await page.evaluate(() => getComputedStyle(document.querySelector(".bar"), "::before").transitionDuration);
  assert.equal(transition, "0s");
  await page.setViewportSize({ width: 640, height: 960 });
  await doubleText(page);
  assert.equal(await overflow(page), 0, "with text of twice the size");
  await context.close();
  await other.close();
});

test("the keyboard reaches every control, and the focus is visible", async () => {
  const page = await chrome.newPage();
  await openScene(page, room, "waiting");
  await page.locator("button[data-bk=check]").waitFor();
  const reached = [];
  for (let step = 0; step < 4; step += 1) {
    await page.keyboard.press("Tab");
    reached.push(await page.evaluate(() => {
      const { bk, bkText } = document.activeElement.dataset;
      return bk ?? bkText;
    }));
    assert.notEqual(await page.evaluate(() => getComputedStyle(document.activeElement).outlineStyle), "none");
  }
  assert.deepEqual(reached, ["help", "check", "sound", "notify"]);
  await page.keyboard.press("Shift+Tab");
  await page.keyboard.press("Space");
  assert.ok(await page.locator("[data-bk=sound]").isChecked());
  await page.keyboard.press("Shift+Tab");
  const polled = page.waitForRequest("**/polling");
  await page.keyboard.press("Enter");
  await polled;
  await page.close();
});

test("milestones are announced, and the countdown is not", async () => {
  const page = await chrome.newPage();
  await openScene(page, room, "waiting");
  const announcement = page.locator("[role=status].spoken");
  assert.match(await announcement.textContent(), /^You are in line\. .*Ahead of you, about 3,000/);
  for (const each of await page.locator("[role=timer]").all()) {
    assert.equal(await each.getAttribute("aria-live"), "off");
  }
  const timer = page.locator("[data-bk=next]");
  const before = await timer.textContent();
  await announcement.evaluate((element) => { element.textContent = "unchanged"; });
  await page.waitForFunction((text) => document.querySelector("[data-bk=next]").textContent !== text, before);
  const response = page.waitForResponse("**/polling");
  await page.evaluate(() => document.dispatchEvent(new Event("visibilitychange")));
  await (await response).finished();
  await page.waitForFunction(() => document.querySelector("[data-bk=next]").textContent.startsWith("Next"));
  assert.equal(await announcement.textContent(), "unchanged", "a poll without news is not announced");
  await page.locator("button[data-bk=check]").click();
  await page.waitForFunction(() => /^Ahead of you, about 3,000/.test(document.querySelector("[role=status].spoken").textContent));
  await page.close();
});

test("whoever presses the button hears the answer again, and who comes too late hears another text by itself", async () => {
  const page = await chrome.newPage();
  const spoken = (hasText) => page.locator("[role=status].spoken", { hasText });
  const heard = (text) => spoken(text).waitFor({ state: "attached" });
  const text = "All 5,000 tickets are gone.";
  for (const [scene, answer] of [["unheard", TEXTS.en.unheardHint], ["closed", text], ["ended", text]]) {
    await openScene(page, room, scene);
    await spoken().evaluate((element) => { element.textContent = "unchanged"; });
    await page.locator("button[data-bk=check]").click();
    await heard(answer);
  }
  const poll = await (await fetch(`${room.base}/preview/ended/polling`)).json();
  await page.route("**/ended/polling", (route) => route.fulfill({ json: { ...poll, message: "Come back in May" } }));
  await page.evaluate(() => document.dispatchEvent(new Event("visibilitychange")));
  await heard("Come back in May");
  await page.close();
});

test("browsers of spring 2020 can parse the program, and all browsers what runs without it", () => {
  parse(readFileSync(BUILT, "utf8"), { ecmaVersion: 2020, sourceType: "module" });
  parse(readFileSync(new URL("../../old.js", import.meta.url), "utf8"), { ecmaVersion: 3 });
});

test("the page loads nothing from other servers and does not violate its Content-Security-Policy", async () => {
  const page = await chrome.newPage();
  const [hosts, errors] = [new Set(), []];
  page.on("request", (request) => { if (!request.url().startsWith("data:")) hosts.add(new URL(request.url()).origin); });
  page.on("console", (message) => { if (message.type() === "error") errors.push(message.text()); });
  page.on("pageerror", (error) => errors.push(error.message));
  for (const scene of ["waiting", "message", "paused", "closed", "turn", "blocked"]) {
    await page.goto(`${room.base}/preview/`);
    await page.click(`a:text-is("${scene}")`);
    await waitForState(page, STATE_OF[scene] ?? scene);
  }
  assert.deepEqual([...hosts], [room.base]);
  assert.deepEqual(errors, []);
  await page.close();
});

test("the first paint does not need the program", async () => {
  const page = await chrome.newPage();
  await changeDocument(page, cutShort);
  await page.goto(`${room.base}/wait/index.html`);
  const painted = await page.waitForFunction(() => performance.getEntriesByName("first-contentful-paint")[0]?.startTime);
  assert.ok((await painted.jsonValue()) > 0);
  assert.equal(await page.locator("h1").textContent(), "Spring sale");
  assert.notEqual(await page.locator(".card").evaluate((card) => getComputedStyle(card).borderRadius), "0px", "styled");
  await page.close();
});
