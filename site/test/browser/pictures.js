// Makes the pictures of the documents, in the folder that the first argument names. Run by `cargo xtask screenshots`. It takes a
// minute, because it rehearses.

import { execFile } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { promisify } from "node:util";

import { Room, browser, openScene, required, scratch } from "./room.js";
import { smallPng } from "./small-png.js";

const folder = process.argv[2];
const run = promisify(execFile);
const kept = scratch();

const PHONE = { viewport: { width: 390, height: 674 }, deviceScaleFactor: 2 };
/** Two are beside each other on GitHub. */
const COLUMN = { viewport: { width: 620, height: 550 }, deviceScaleFactor: 1.5 };
const WHOLE = { viewport: { width: 860, height: 1560 } };
/** How much of the bar is full for a visitor with number 7,101 who came when nobody had been let in. */
const WAY = 4100 / 7101;
const REPORT = fileURLToPath(new URL("../../../cli/tests/fixtures/report-format-1.json", import.meta.url));

const [room, chrome] = await Promise.all([Room.open("--title", "Seal Brewing spring sale", "--minute", "10s", "--rate", "300"), browser()]);

// A report's own page may fetch nothing, not even its picture.
const blank = await chrome.newPage();

async function picture(name, page, options = {}) {
  const png = await smallPng(blank, await page.screenshot(options));
  writeFileSync(join(folder, name), png);
  console.log(`${name}: ${Math.ceil(png.length / 1000)} kB`);
}

/** The top of a page that a command wrote, or its first part with a heading, as far as it fits. */
async function topOf(name, file, look, isPart = false) {
  const page = await chrome.newPage({ ...look, colorScheme: "light" });
  await page.goto(pathToFileURL(file).href);
  const headings = await page.locator("h2").evaluateAll((all) => all.map((one) => one.getBoundingClientRect().top - 16));
  const [y, end] = isPart ? headings : [0, Infinity];
  const { width, height } = look.viewport;
  await picture(name, page, { fullPage: true, clip: { x: 0, y, width, height: Math.min(height, end - y) } });
}

/** The page on a phone. */
async function phone(scene, colorScheme) {
  const context = await chrome.newContext({ locale: "en-GB", reducedMotion: "reduce", colorScheme, ...PHONE });
  const page = await context.newPage();
  await openScene(page, room, scene);
  if (scene === "waiting") {
    await page.evaluate((share) => {
      const key = Object.keys(localStorage).find((key) => key.endsWith(" journey"));
      localStorage.setItem(key, JSON.stringify({ ...JSON.parse(localStorage.getItem(key)), share }));
    }, WAY);
    await openScene(page, room, scene);
  }
  const png = await page.screenshot();
  await context.close();
  return `<img width="390" src="data:image/png;base64,${png.toString("base64")}">`;
}

const phones = [await phone("opening", "light"), await phone("waiting", "dark")];
const beside = await chrome.newPage({ viewport: { width: 820, height: PHONE.viewport.height }, deviceScaleFactor: 1.5 });
await beside.setContent(`<style>body { margin: 0; display: flex; gap: 40px } img { border-radius: 24px }</style>${phones.join("")}`);
await picture("page.png", beside, { omitBackground: true });

const report = join(kept, "report.html");
await run(required("BEEKEEPER"), ["report", REPORT, "--html", report]);
await topOf("report.png", report, COLUMN, true);

const simulation = join(kept, "simulation.html");
await run(required("BEEKEEPER"), ["simulate", "--visitors", "100k", "--arrivals", "10m", "--rate", "3k", "--html", simulation]);
await topOf("simulate.png", simulation, WHOLE);

const rehearsal = join(kept, "rehearsal.html");
await room.operator("rehearse", "--visitors", "1500", "--yes", "--html", rehearsal);
await topOf("rehearsal.png", rehearsal, COLUMN, true);

await chrome.close();
await room.close();
process.exit();
