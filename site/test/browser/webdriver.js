// Browsers that are driven from outside by the commands of WebDriver (https://www.w3.org/TR/webdriver2/). WebKit's driver takes them
// by HTTP. Firefox takes them itself, over a socket: https://firefox-source-docs.mozilla.org/testing/marionette/Protocol.html

import { spawn } from "node:child_process";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { connect, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";

/** Asks until the answer is true. An error counts as "not yet", because one page may just be replacing another. */
export async function until(what, ask) {
  const end = Date.now() + 60_000;
  let error;
  while (Date.now() < end) {
    try {
      if (await ask()) return;
      error = undefined;
    } catch (problem) {
      error = problem;
    }
    await sleep(100);
  }
  throw new Error(`not within a minute: ${what}`, { cause: error });
}

function run(program, parameters, environment = {}) {
  const child = spawn(program, parameters, { env: { ...process.env, ...environment }, stdio: "ignore" });
  const kill = () => child.kill("SIGKILL");
  process.on("exit", kill);
  child.on("exit", () => process.off("exit", kill));
  return child;
}

async function freePort() {
  const server = createServer();
  await new Promise((listening) => { server.listen(0, "127.0.0.1", listening); });
  const { port } = server.address();
  await new Promise((closed) => { server.close(closed); });
  return port;
}

/** How WebKit's driver takes the commands below. */
const BY_HTTP = {
  Navigate: ["POST", "/url"],
  GetCurrentURL: ["GET", "/url"],
  Refresh: ["POST", "/refresh"],
  ExecuteScript: ["POST", "/execute/sync"],
  GetWindowHandle: ["GET", "/window"],
  NewWindow: ["POST", "/window/new"],
  SwitchToWindow: ["POST", "/window"],
  CloseWindow: ["DELETE", "/window"],
  MinimizeWindow: ["POST", "/window/minimize"],
  SetWindowRect: ["POST", "/window/rect"],
  DeleteSession: ["DELETE", ""],
};

async function askByHttp(base, method, path, parameters) {
  const body = method === "POST" ? JSON.stringify(parameters) : undefined;
  const answer = await fetch(base + path, { method, headers: { "content-type": "application/json" }, body });
  const { value } = await answer.json();
  if (!answer.ok) throw new Error(`${method} ${path}: ${value.error}: ${value.message}`);
  return value;
}

/** WebKit's driver, which starts browsers. */
export class WebKit {
  static async start(driver, environment) {
    const port = await freePort();
    const child = run(driver, [`--port=${port}`], environment);
    const webkit = Object.assign(new WebKit(), { base: `http://127.0.0.1:${port}`, child });
    await until(`${driver} is ready`, async () => (await askByHttp(webkit.base, "GET", "/status")).ready);
    return webkit;
  }

  async open(options = {}) {
    const capabilities = { alwaysMatch: { "webkitgtk:browserOptions": options } };
    const { sessionId } = await askByHttp(this.base, "POST", "/session", { capabilities });
    const ask = (name, parameters) => askByHttp(`${this.base}/session/${sessionId}`, ...BY_HTTP[name], parameters);
    return new Session(ask, () => ask("DeleteSession", {}));
  }

  stop() {
    this.child.kill();
  }
}

/** Firefox, started anew for each session. */
export class Firefox {
  constructor(program) {
    this.program = program;
  }

  async open(preferences = {}) {
    const profile = await mkdtemp(join(tmpdir(), "beekeeper-firefox-"));
    const lines = Object.entries({ "marionette.port": 0, ...preferences });
    const user = lines.map(([name, value]) => `user_pref(${JSON.stringify(name)}, ${JSON.stringify(value)});\n`);
    await writeFile(join(profile, "user.js"), user.join(""));
    const child = run(this.program, ["--marionette", "--headless", "--no-remote", "--profile", profile]);
    const exited = new Promise((exit) => { child.on("exit", exit); });
    let port;
    await until("Firefox listens", async () => {
      port = Number(await readFile(join(profile, "MarionetteActivePort"), "utf8"));
      return port > 0;
    });
    const socket = connect(port, "127.0.0.1");
    const ask = speak(socket);
    await ask("NewSession", {});
    return new Session(ask, async () => {
      socket.destroy();
      child.kill();
      await exited;
      await rm(profile, { recursive: true, force: true });
    });
  }

  stop() {}
}

/** Each message is its length in bytes, a colon, and a list: 0, number, command and parameters, or 1, number, error and result. */
function speak(socket) {
  const waiting = new Map();
  let number = 0;
  let unread = Buffer.alloc(0);
  socket.on("data", (data) => {
    unread = Buffer.concat([unread, data]);
    for (let colon; (colon = unread.indexOf(":")) > 0;) {
      const end = colon + 1 + Number(unread.subarray(0, colon));
      if (unread.length < end) return;
      const message = JSON.parse(unread.subarray(colon + 1, end));
      unread = unread.subarray(end);
      // At first Firefox says only who it is.
      if (Array.isArray(message)) waiting.get(message[1])(message);
    }
  });
  socket.on("close", () => {
    for (const answer of waiting.values()) answer([1, 0, { error: "Firefox has gone", message: "" }]);
  });
  return async (command, parameters) => {
    const name = `WebDriver:${command}`;
    const message = JSON.stringify([0, ++number, name, parameters]);
    const answered = new Promise((answer) => { waiting.set(number, answer); });
    socket.write(`${Buffer.byteLength(message)}:${message}`);
    const [, answers, error, result] = await answered;
    waiting.delete(answers);
    if (error) throw new Error(`${name}: ${error.error}: ${error.message}`);
    return result && "value" in result ? result.value : result;
  };
}

/** A browser, and the tab in it that commands are for. */
class Session {
  constructor(ask, close) {
    this.ask = ask;
    this.close = close;
  }

  goTo(url) { return this.ask("Navigate", { url }); }

  url() { return this.ask("GetCurrentURL", {}); }

  reload() { return this.ask("Refresh", {}); }

  /** Runs a function in the page. */
  run(act) { return this.ask("ExecuteScript", { script: `return (${act})()`, args: [] }); }

  tab() { return this.ask("GetWindowHandle", {}); }

  async newTab() { return (await this.ask("NewWindow", { type: "tab" })).handle; }

  switchTo(handle) { return this.ask("SwitchToWindow", { handle }); }

  closeTab() { return this.ask("CloseWindow", {}); }

  /** Hides the page. */
  minimize() { return this.ask("MinimizeWindow", {}); }

  restore() { return this.ask("SetWindowRect", { x: 0, y: 0, width: 800, height: 600 }); }
}
