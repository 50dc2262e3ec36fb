// The whole way through a guarded shop: to the room, back to the page that was asked for, and what others can do with the link.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { createServer, request } from "node:http";
import test, { after, before } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";

import { Room, browser, required, scratch } from "./room.js";

let chrome;
before(async () => { chrome = await browser(); });
after(() => chrome?.close());

/** Serves pages of another site than the room's and the shop's. `localhost` shares cookies with them, `127.0.0.1` does not. */
class OtherSite {
  static async open(host) {
    const site = new OtherSite();
    site.server = createServer((incoming, outgoing) => {
      outgoing.writeHead(200, { "content-type": "text/html" });
      outgoing.end(site.page);
    });
    await new Promise((listening) => { site.server.listen(0, "127.0.0.1", listening); });
    return Object.assign(site, { url: `http://${host}:${site.server.address().port}/` });
  }

  close() {
    this.server.closeAllConnections();
    this.server.close();
  }
}

/** Everything by which a page makes a browser fetch a URL without asking the visitor. */
const uninvited = (url) => `<!doctype html><title>Another site</title>
  <link rel="prefetch" href="${url}">
  <link rel="stylesheet" href="${url}">
  <img src="${url}">
  <video src="${url}"></video>
  <iframe src="${url}"></iframe>
  <object data="${url}"></object>
  <embed src="${url}">
  <script src="${url}"></script>
  <script>
    window.done = Promise.allSettled([
      fetch("${url}", { mode: "no-cors", credentials: "include" }),
      fetch("${url}", { mode: "no-cors", method: "POST", credentials: "include" }),
      new Promise((loaded) => { addEventListener("load", loaded); }),
    ]).then(() => navigator.sendBeacon("${url}"));
  </script>
  <a href="${url}">Join</a>`;

/** Opens the page of another site, and waits until the browser has fetched what it wants of this URL, `times` times at least. */
async function openUninvited(page, site, url, times) {
  let answered = 0;
  page.on("requestfinished", (sent) => { if (sent.url() === url) answered += 1; });
  page.on("requestfailed", (sent) => { if (sent.url() === url) answered += 1; });
  site.page = uninvited(url);
  await page.goto(site.url);
  await page.evaluate("window.done");
  for (let wait = 0; answered < times && wait < 100; wait += 1) await sleep(100);
  assert.ok(answered >= times, `${answered} requests of ${url}`);
}

/** A shop whose web server asks a guard about each request, as Traefik and Caddy do. */
class Shop {
  static async open() {
    const shop = new Shop();
    shop.server = createServer((incoming, outgoing) => shop.answer(incoming, outgoing));
    await new Promise((listening) => { shop.server.listen(0, "127.0.0.1", listening); });
    return Object.assign(shop, { base: `http://localhost:${shop.server.address().port}` });
  }

  answer(incoming, outgoing) {
    if (!this.guard) {
      // The room looks at its shop when it starts.
      outgoing.writeHead(403).end();
      return;
    }
    const headers = { ...incoming.headers, "x-forwarded-method": incoming.method, "x-forwarded-uri": incoming.url };
    const asked = request(this.guard, { headers }, (answer) => {
      if (answer.statusCode !== 200) {
        outgoing.writeHead(answer.statusCode, answer.headers);
        answer.pipe(outgoing);
        return;
      }
      answer.resume();
      outgoing.writeHead(200, { "content-type": "text/html" });
      outgoing.end(`<title>Shop</title><p>Page ${incoming.url} for number ${answer.headers["x-beekeeper-number"]}`);
    });
    asked.on("error", () => outgoing.destroy());
    asked.end();
  }

  close() {
    this.server.closeAllConnections();
    this.server.close();
  }
}

/** `beekeeper guard` for the shop of this room. Returns how to stop it. */
async function guard(shop, room, options) {
  const flags = ["--room", room.base, "--listen", "0", "--http", "--data", scratch(), ...options];
  const child = spawn(required("BEEKEEPER"), ["guard", "demo", ...flags]);
  process.on("exit", () => child.kill("SIGKILL"));
  let output = "";
  child.stderr.on("data", (text) => { output += text; });
  shop.guard = await new Promise((resolve, reject) => {
    child.stdout.on("data", (text) => {
      output += text;
      const found = /Traefik, Caddy +(\S+)/.exec(output);
      if (found) resolve(found[1]);
    });
    child.on("exit", () => reject(new Error(`the guard did not start:\n${output}`)));
  });
  return () => child.kill("SIGTERM");
}

/** A test with a room, a shop and its guard. */
function guarded(name, options, act) {
  test(name, { timeout: 180_000 }, async () => {
    const shop = await Shop.open();
    const room = await Room.open("--rate", "6000", "--shop", `${shop.base}/sale`);
    const stop = await guard(shop, room, options);
    const contexts = [];
    const newBrowser = async () => {
      contexts.push(await chrome.newContext());
      return contexts.at(-1).newPage();
    };
    try {
      await act(shop, room, newBrowser);
    } finally {
      for (const context of contexts) await context.close();
      stop();
      await room.close();
      shop.close();
    }
  });
}

/** Asks for a page of the shop, and waits in line for it. Returns the URLs with a pass that led back. */
async function waitInLine(page, url) {
  const links = [];
  page.on("request", (sent) => { if (sent.url().includes("bk_pass=")) links.push(sent.url()); });
  await page.goto(url);
  await page.waitForURL(url, { timeout: 60_000 });
  return links;
}

for (const [name, options] of [["", []], [", with bound passes", ["--bind"]]]) {
  guarded(`a visitor waits and gets the page that they asked for, at its own URL${name}`, options, async (shop, room, newBrowser) => {
    const page = await newBrowser();
    const wanted = `${shop.base}/tickets/7?seat=a&row=2`;
    const links = await waitInLine(page, wanted);
    assert.match(await page.textContent("p"), /^Page \/tickets\/7\?seat=a&row=2 for number [1-9]\d*$/);
    assert.ok(links.length >= 1 && links.length <= 2, links.join("\n"));
    await page.reload();
    assert.equal(page.url(), wanted);
    assert.match(await page.textContent("p"), /for number/);
    await page.goto(`${shop.base}/basket`);
    assert.match(await page.textContent("p"), /^Page \/basket/);

    // Longer than a browser may repeat a request.
    await sleep(4_000);
    await room.operator("pause");
    await sleep(2_000);
    for (const link of links) {
      const other = await newBrowser();
      await other.goto(link);
      await other.waitForURL(/\/wait\/index\.html/, { timeout: 20_000 });
    }
    await page.reload();
    assert.match(await page.textContent("p"), /^Page \/basket/, "the owner of the link notices nothing");
  });
}

for (const host of ["127.0.0.1", "localhost"]) {
  guarded(`a page at ${host} makes nobody join without a click, and exchanges and ends nothing`, [], async (shop, room, newBrowser) => {
    const joined = async () => JSON.parse(await room.operator("status", "--json")).joined;
    const site = await OtherSite.open(host);
    try {
      const page = await newBrowser();
      await openUninvited(page, site, room.door, 8);
      assert.equal(await joined(), 0, "nobody clicked");
      assert.deepEqual(await page.context().cookies(room.base), [], "no place, and nothing else to remember");
      await page.click("text=Join");
      await page.waitForURL(/\/wait\/index\.html|for number|bk_pass|\/sale/, { timeout: 60_000 });
      assert.equal(await joined(), 1, "the link joins");

      const visitor = await newBrowser();
      const wanted = `${shop.base}/tickets/7`;
      await waitInLine(visitor, wanted);
      const cookies = await visitor.context().cookies(room.door);
      const cookie = cookies.map(({ name, value }) => `${name}=${value}`).join("; ");
      // The door signs a newer pass than the one that opened the session.
      await sleep(1_100);
      const door = await fetch(room.door, { redirect: "manual", headers: { cookie } });
      const link = door.headers.get("location");
      assert.match(link, /bk_pass=/);
      const lured = await visitor.context().newPage();
      for (const url of [room.door, link]) await openUninvited(lured, site, url, 8);
      await visitor.reload();
      assert.match(await visitor.textContent("p"), /^Page \/tickets\/7 for number/, "the visitor is still inside");
      assert.equal(await joined(), 2);

      const other = await newBrowser();
      await other.goto(link);
      assert.match(await other.textContent("p"), /^Page \/sale for number/, "nothing used the pass up");
    } finally {
      site.close();
    }
  });
}
