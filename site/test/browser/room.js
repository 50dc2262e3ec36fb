// A real room and a real browser, for the tests beside this file.

import { execFile, spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";

/** Set by `cargo xtask test`, which builds and fetches them. */
function given(name) {
  const value = process.env[name];
  if (!value) throw new Error(`${name} is not set: run these tests with \`cargo xtask test site\``);
  return value;
}

const BEEKEEPER = given("BEEKEEPER");
export const CHROMIUM = given("CHROMIUM");
const require = createRequire(given("NODE_PACKAGES"));
export const { chromium } = require("playwright-core");
export const { parse } = require("acorn");
export const AXE = require.resolve("axe-core");

export const FLAGS = [
  "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
  "--disable-component-update", "--disable-sync",
];

export function scratch() {
  const folder = mkdtempSync(join(tmpdir(), "beekeeper-page-"));
  process.on("exit", () => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

/** `beekeeper local` with a demonstration shop, on a free port, with a short minute. */
export class Room {
  static async open(...options) {
    const data = scratch();
    const child = spawn(BEEKEEPER, ["local", "--port", "0", "--minute", "2s", "--data", data, ...options]);
    process.on("exit", () => child.kill("SIGKILL"));
    let said = "";
    child.stderr.on("data", (text) => { said += text; });
    const base = await new Promise((resolve, reject) => {
      child.stdout.on("data", (text) => {
        said += text;
        const found = /waiting room +(\S+)\/beekeeper/.exec(said);
        if (found) resolve(found[1]);
      });
      child.on("exit", () => reject(new Error(`the room did not open:\n${said}`)));
    });
    return new Room(base, data, child);
  }

  constructor(base, data, child) {
    Object.assign(this, { base, data, child });
    this.door = `${base}/beekeeper`;
  }

  /** What the operator types. */
  async operator(command, ...options) {
    const { stdout } = await promisify(execFile)(BEEKEEPER, [command, "--local", "--data", this.data, ...options]);
    return stdout;
  }

  /** Lets so many others join. */
  async crowd(people) {
    for (let person = 0; person < people; person += 1) await fetch(this.door, { redirect: "manual" });
  }

  async close() {
    const gone = new Promise((resolve) => { this.child.on("exit", resolve); });
    this.child.kill("SIGTERM");
    await gone;
  }
}

export function browser() {
  return chromium.launch({ executablePath: CHROMIUM, args: FLAGS });
}

/** The states of the preview, in the order of its list. */
export const SCENES = [
  "waiting", "message", "soon", "slower", "paused", "turn", "held", "anew", "unheard", "blocked", "finding",
];

/** What `html[data-state]` comes to in each scene. */
export const STATE_OF = { message: "waiting", anew: "waiting" };

/** Opens a scene of the preview and waits until it shows what it is about. */
export async function enter(page, room, scene) {
  await page.goto(`${room.base}/preview/`);
  await page.click(`a:text-is("${scene}")`);
  await settled(page, STATE_OF[scene] ?? scene);
}

export async function settled(page, state) {
  await page.locator(`html[data-state="${state}"]`).waitFor({ state: "attached", timeout: 60_000 });
}
