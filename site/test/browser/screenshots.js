// Takes a picture of every scene, in the folder that the first argument names. Run by `cargo xtask screenshots`.

import { mkdirSync } from "node:fs";
import { join } from "node:path";

import { Room, SCENES, browser, openScene } from "./room.js";

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
  // The door never answers, so that the page stays in the state "turn".
  await page.route("**/turn/beekeeper", () => {});
  for (const scene of SCENES) {
    await openScene(page, room, scene);
    await page.screenshot({ path: join(folder, `${scene}-${look}.png`), fullPage: true });
  }
  await context.close();
  const plain = await chrome.newContext({ ...options, javaScriptEnabled: false });
  const withoutScript = await plain.newPage();
  await withoutScript.goto(`${room.base}/wait/index.html`);
  await withoutScript.screenshot({ path: join(folder, `no-javascript-${look}.png`), fullPage: true });
  await plain.close();
}
await chrome.close();
await room.close();
console.log(`${Object.keys(LOOKS).length * (SCENES.length + 1)} pictures in ${folder}`);
process.exit();
