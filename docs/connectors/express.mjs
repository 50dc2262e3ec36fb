// Express middleware that lets nobody into the shop without a valid pass of the waiting room. See express.md.
import { createHmac, timingSafeEqual } from "node:crypto";
import { PassExpired, PassRefused, keysById, verifyPass } from "./beekeeper_pass.mjs";

const LONGEST_PATH = 1500;
const LARGEST_KEYS = 65536;

/**
 * @param {object} options
 * @param {string} options.room the room's URL, without a slash at the end
 * @param {string} options.name the room's short name
 * @param {string} options.secret at least 32 random characters, the same on all of the shop's machines
 * @param {number} [options.sessionSeconds] how long a visitor may stay, from the exchange of the pass on
 * @param {boolean} [options.https] whether visitors reach the shop by https; only a test may do without
 * @param {object} [options.keys] the room's public keys; they are fetched from the room if left out
 * @param {(request: import("express").Request) => boolean} [options.bypass] which requests need no pass
 */
export function waitingRoom({ room, name, secret, sessionSeconds = 3600, https = true, keys, bypass = () => false }) {
  if (secret.length < 32) throw new Error("the secret needs at least 32 characters");
  const prefix = `${https ? "__Host-" : ""}bk_${name}`;
  const published = new PublishedKeys(`${room}/.well-known/jwks.json`, keys);
  const now = () => Math.floor(Date.now() / 1000);
  const mac = (text) => createHmac("sha256", secret).update(`${name}.${text}`).digest("base64url");

  function setCookie(response, cookie, value, seconds) {
    const secure = https ? "; Secure" : "";
    const text = `${prefix}_${cookie}=${value}; Path=/; Max-Age=${seconds}; HttpOnly${secure}; SameSite=Lax`;
    response.append("Set-Cookie", text);
  }

  function seal(subject, number) {
    const text = `${subject}.${number ?? ""}.${now() + sessionSeconds}`;
    return `${text}.${mac(text)}`;
  }

  function unseal(value) {
    const [, text, given] = /^([\w-]{1,128}\.\d{0,16}\.\d{1,16})\.([\w-]{43})$/.exec(value) ?? [];
    if (!text || !timingSafeEqual(Buffer.from(given), Buffer.from(mac(text)))) return undefined;
    const [subject, number, end] = text.split(".");
    return now() < Number(end) ? { subject, number: number ? Number(number) : undefined } : undefined;
  }

  return async function connector(request, response, next) {
    if (bypass(request)) return next();
    const [pass, target] = takePass(request.originalUrl);
    const session = cookiesOf(request, `${prefix}_session`).map(unseal).find(Boolean);
    const reads = request.method === "GET" || request.method === "HEAD";
    if (session && !(pass && reads)) {
      request.visitor = session;
      return next();
    }
    response.set("Cache-Control", "no-store");
    if (session) return response.redirect(302, target);
    const wantsPage = reads && /text\/html/.test(request.get("Accept") ?? "");
    if (pass && wantsPage && request.method === "GET") {
      try {
        const claims = await verifyPass(pass, (kid) => published.key(kid), { room, name });
        setCookie(response, "session", seal(claims.sub, claims.queue_position), sessionSeconds);
        return response.redirect(302, cookiesOf(request, `${prefix}_page`).map(pageOf).find(Boolean) ?? target);
      } catch (error) {
        if (error instanceof NoKeys) return response.status(503).set("Retry-After", "30").send("Please try again soon.");
        // An expired pass leads to the room, which gives out another one. Any other mistake would lead there for ever.
        if (error instanceof PassRefused) return response.status(403).send("This pass is not valid here.");
        if (!(error instanceof PassExpired)) return next(error);
      }
    }
    if (!wantsPage) return response.status(403).json({ error: "no pass", room: `${room}/beekeeper` });
    setCookie(response, "page", Buffer.from(target).toString("base64url"), 86400);
    return response.redirect(302, `${room}/beekeeper`);
  };
}

/** The pass in the query, and the path without it, which never leads to another site. */
function takePass(url) {
  const [path, query] = [url.split("?", 1)[0], url.slice(url.split("?", 1)[0].length + 1)];
  const isPass = (pair) => pair === "bk_pass" || pair.startsWith("bk_pass=");
  const pairs = query.split("&");
  const pass = pairs.find((pair) => pair.startsWith("bk_pass="))?.slice("bk_pass=".length);
  const rest = pairs.filter((pair) => !isPass(pair)).join("&");
  return [pass, pathOf(rest ? `${path}?${rest}` : path) ?? "/"];
}

/** The path, unless a browser could take it for the URL of another site, or a header for more than a URL. */
function pathOf(text) {
  return /^\/(?!\/)[\x21-\x5b\x5d-\x7e]*$/.test(text) && text.length <= LONGEST_PATH ? text : undefined;
}

/** The page that was remembered. */
function pageOf(value) {
  const page = Buffer.from(value, "base64url");
  return page.toString("base64url") === value ? pathOf(page.toString()) : undefined;
}

/** The values of the first four cookies with this name. `trim` would remove more than spaces and tabs. */
function cookiesOf(request, name) {
  const pairs = (request.get("Cookie") ?? "").split(";").map((pair) => pair.replace(/^[ \t]+|[ \t]+$/g, ""));
  const values = pairs.filter((pair) => pair.startsWith(`${name}=`)).map((pair) => pair.slice(name.length + 1));
  return values.slice(0, 4);
}

class NoKeys extends Error {}

/** The room's keys. They are asked for every five minutes, or for an unknown key id, but at most once a minute. */
class PublishedKeys {
  constructor(url, given) {
    const keys = keysById(given ?? { keys: [] });
    Object.assign(this, { url, given: Boolean(given), keys, fetched: -Infinity, asked: -Infinity });
  }

  async key(kid) {
    const now = performance.now() / 1000;
    const pause = this.keys.size > 0 ? 60 : 5;
    const isKnown = now - this.fetched < 300 && this.keys.has(kid);
    if (!this.given && !isKnown && now - this.asked >= pause) {
      this.asked = now;
      this.fetching = this.fetch(now);
    }
    await this.fetching;
    if (this.keys.size === 0) throw new NoKeys();
    return this.keys.get(kid);
  }

  /** Keys that are known stay if the room does not answer. What is behind a redirect are not the room's keys. */
  async fetch(now) {
    try {
      const response = await fetch(this.url, { redirect: "error", signal: AbortSignal.timeout(5000) });
      if (!response.ok) throw new Error(`status ${response.status}`);
      const keys = keysById(JSON.parse(await beginning(response)));
      if (keys.size > 0) [this.keys, this.fetched] = [keys, now];
    } catch (error) {
      console.error(`could not fetch the keys of the waiting room from ${this.url}`, error);
    }
  }
}

/** No more than a room's keys need. */
async function beginning(response) {
  const text = [];
  let length = 0;
  for await (const part of response.body.pipeThrough(new TextDecoderStream())) {
    text.push(part);
    if ((length += part.length) > LARGEST_KEYS) throw new Error("these are not the keys of a room");
  }
  return text.join("");
}
