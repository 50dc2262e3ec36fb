// Starts a real room and a real browser for the tests in this folder.

import { execFile, spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { createServer, request } from "node:http";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";

/** A variable that `cargo xtask test` sets after it has built or downloaded what it names. */
export function required(name) {
  const value = process.env[name];
  if (!value) throw new Error(`${name} is not set: run these tests with \`cargo xtask test site\``);
  return value;
}

/** What a test starts ends with it. */
process.setMaxListeners(0);

const BEEKEEPER = required("BEEKEEPER");
export const CHROMIUM = required("CHROMIUM");
const require = createRequire(required("NODE_PACKAGES"));
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

/** `beekeeper local` with its demonstration shop, on a free port. Nobody is in line, and a minute lasts two seconds. */
export class Room {
  static async open(...options) {
    const data = scratch();
    const usual = { "--minute": "2s", "--port": "0", "--visitors": "0" };
    const others = Object.entries(usual).filter(([flag]) => !options.includes(flag)).flat();
    const child = spawn(BEEKEEPER, ["local", "--data", data, ...others, ...options]);
    process.on("exit", () => child.kill("SIGKILL"));
    let output = "";
    child.stderr.on("data", (text) => { output += text; });
    const [base, shop] = await new Promise((resolve, reject) => {
      child.stdout.on("data", (text) => {
        output += text;
        const found = /waiting room +(\S+)\/beekeeper[^]*  shop +(\S+)\n/.exec(output);
        if (found) resolve(found.slice(1));
      });
      child.on("exit", () => reject(new Error(`the room did not start:\n${output}`)));
    });
    return new Room(base, shop, data, child);
  }

  constructor(base, shop, data, child) {
    Object.assign(this, { base, shop, data, child });
    this.door = `${base}/beekeeper`;
  }

  /** Runs an operator command. */
  async operator(command, ...options) {
    const { stdout } = await promisify(execFile)(BEEKEEPER, [command, "--local", "--data", this.data, ...options]);
    return stdout;
  }

  /** Lets other visitors join. */
  async crowd(people) {
    for (let person = 0; person < people; person += 1) await fetch(this.door, { redirect: "manual" });
  }

  async close() {
    const exited = new Promise((resolve) => { this.child.on("exit", resolve); });
    this.child.kill("SIGTERM");
    await exited;
  }
}

/** The options of a room behind an edge. Its URL has to be known before it starts. */
export async function behindEdge() {
  const server = createServer();
  await new Promise((listening) => { server.listen(0, "127.0.0.1", listening); });
  const { port } = server.address();
  await new Promise((closed) => { server.close(closed); });
  return ["--edge", "--port", String(port), "--url", `http://127.0.0.1:${port}`];
}

/**
 * A proxy in front of a room. It notes every request, also those that tests do not see in the browser, such as one for an icon.
 */
export class Proxy {
  static async open(room) {
    const requests = [];
    const server = createServer((incoming, outgoing) => {
      const { method, url, headers } = incoming;
      requests.push(url);
      const forwarded = request(`${room.base}${url}`, { method, headers }, (answer) => {
        outgoing.writeHead(answer.statusCode, answer.headers);
        answer.pipe(outgoing);
      });
      forwarded.on("error", () => outgoing.destroy());
      incoming.pipe(forwarded);
    });
    await new Promise((listening) => { server.listen(0, "127.0.0.1", listening); });
    return Object.assign(new Proxy(), { door: `http://127.0.0.1:${server.address().port}/beekeeper`, requests, server });
  }

  close() {
    this.server.closeAllConnections();
    this.server.close();
  }
}

/** Changes the page's document, or the one at another `url`, before the browser gets it. Does not work after a redirect. */
export function changeDocument(page, change, url = "**/wait/index.html") {
  return page.route(url, async (route) => {
    const response = await route.fetch();
    await route.fulfill({ response, body: change(await response.text()) });
  });
}

/** The document as far as it was received before its program. */
export const cutShort = (html) => html.slice(0, html.lastIndexOf("<script"));

export function browser() {
  return chromium.launch({ executablePath: CHROMIUM, args: FLAGS, timeout: 180_000 });
}

/** The scenes of /preview/, in the order of its list. */
export const SCENES = [
  "waiting", "message", "vague", "scarce", "soon", "slower", "paused", "opening", "closed", "ended", "turn", "held", "anew",
  "unheard", "blocked", "finding",
];

/** The value of `html[data-state]` in each scene, where it is not the scene's name. */
export const STATE_OF = { message: "waiting", vague: "waiting", scarce: "waiting", anew: "waiting" };

/** Opens a scene and waits until the page is in its state. */
export async function openScene(page, room, scene) {
  await page.goto(`${room.base}/preview/`);
  await page.click(`a:text-is("${scene}")`);
  await waitForState(page, STATE_OF[scene] ?? scene);
}

export async function waitForState(page, state) {
  await page.locator(`html[data-state="${state}"]`).waitFor({ state: "attached", timeout: 60_000 });
}
