// Takes a picture of every state: `cargo xtask screenshots`. The folder to put them into is the first argument.

import { mkdirSync } from "node:fs";
import { join } from "node:path";

import { Room, SCENES, browser, enter } from "./room.js";

const folder = process.argv[2];
mkdirSync(folder, { recursive: true });

const PHONE = { viewport: { width: 390, height: 844 }, deviceScaleFactor: 2 };
const DESKTOP = { viewport: { width: 1280, height: 800 } };
const LOOKS = {
  "phone-light": { ...PHONE, colorScheme: "light" },
  "phone-dark": { ...PHONE, colorScheme: "dark" },
  "desktop-light": { ...DESKTOP, colorScheme: "light" },
  "desktop-dark": { ...DESKTOP, colorScheme: "dark" },
  "phone-arabic": { ...PHONE, colorScheme: "light", locale: "ar" },
};

const [room, chrome] = await Promise.all([Room.open("--title", "Seal Brewing spring sale"), browser()]);
for (const [look, options] of Object.entries(LOOKS)) {
  const context = await chrome.newContext({ locale: "en-GB", reducedMotion: "reduce", ...options });
  const page = await context.newPage();
  // The visitor stays on the page, so that their turn can be looked at.
  await page.route("**/turn/beekeeper", () => {});
  for (const scene of SCENES) {
    await enter(page, room, scene);
    await page.screenshot({ path: join(folder, `${scene}-${look}.png`), fullPage: true });
  }
  await context.close();
  const plain = await chrome.newContext({ ...options, javaScriptEnabled: false });
  const without = await plain.newPage();
  await without.goto(`${room.base}/wait/index.html`);
  await without.screenshot({ path: join(folder, `no-javascript-${look}.png`), fullPage: true });
  await plain.close();
}
await chrome.close();
await room.close();
console.log(`${Object.keys(LOOKS).length * (SCENES.length + 1)} pictures in ${folder}`);
process.exit();
