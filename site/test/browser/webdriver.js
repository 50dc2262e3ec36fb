// A small client of WebDriver (https://www.w3.org/TR/webdriver2/), the protocol of geckodriver and of WebKitWebDriver.

import { spawn } from "node:child_process";
import { createServer } from "node:net";
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

async function freePort() {
  const server = createServer();
  await new Promise((listening) => { server.listen(0, "127.0.0.1", listening); });
  const { port } = server.address();
  await new Promise((closed) => { server.close(closed); });
  return port;
}

async function call(base, method, path, body) {
  const headers = { "content-type": "application/json" };
  const answer = await fetch(base + path, { method, headers, body: body && JSON.stringify(body) });
  const { value } = await answer.json();
  if (!answer.ok) throw new Error(`${method} ${path}: ${value.error}: ${value.message}`);
  return value;
}

/** A running driver, which starts browsers. */
export class Driver {
  static async start(program, environment = {}) {
    const port = await freePort();
    const child = spawn(program, [`--port=${port}`], { env: { ...process.env, ...environment }, stdio: "ignore" });
    process.on("exit", () => child.kill("SIGKILL"));
    const driver = Object.assign(new Driver(), { base: `http://127.0.0.1:${port}`, child });
    await until(`${program} is ready`, async () => (await call(driver.base, "GET", "/status")).ready);
    return driver;
  }

  async open(capabilities) {
    const { sessionId } = await call(this.base, "POST", "/session", { capabilities: { alwaysMatch: capabilities } });
    return new Session(`${this.base}/session/${sessionId}`);
  }

  stop() {
    this.child.kill();
  }
}

/** A browser, and the tab in it that commands are for. */
class Session {
  constructor(base) {
    this.get = (path) => call(base, "GET", path);
    this.post = (path, body = {}) => call(base, "POST", path, body);
    this.remove = (path) => call(base, "DELETE", path);
  }

  goTo(url) { return this.post("/url", { url }); }

  url() { return this.get("/url"); }

  reload() { return this.post("/refresh"); }

  /** Runs a function in the page. */
  run(act) { return this.post("/execute/sync", { script: `return (${act})()`, args: [] }); }

  tab() { return this.get("/window"); }

  async newTab() { return (await this.post("/window/new", { type: "tab" })).handle; }

  switchTo(handle) { return this.post("/window", { handle }); }

  closeTab() { return this.remove("/window"); }

  /** Hides the page. */
  minimize() { return this.post("/window/minimize"); }

  restore() { return this.post("/window/rect", { x: 0, y: 0, width: 800, height: 600 }); }

  close() { return this.remove(""); }
}
