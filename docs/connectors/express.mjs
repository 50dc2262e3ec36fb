// Express middleware that lets nobody into the shop without a valid pass of the waiting room. See express.md.
import { createHmac, timingSafeEqual } from "node:crypto";
import { createLocalJWKSet, errors, jwtVerify } from "jose";

const LEEWAY_SECONDS = 30;
const LONGEST_PASS = 4096;
const LONGEST_PATH = 1500;

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

  async function verify(pass) {
    if (pass.length > LONGEST_PASS) throw new errors.JWTInvalid("too long");
    const { payload } = await jwtVerify(pass, (header, token) => published.key(header, token), {
      algorithms: ["RS256"],
      issuer: room,
      audience: name,
      clockTolerance: LEEWAY_SECONDS,
      requiredClaims: ["exp", "nbf", "sub"],
    });
    if (payload.token_use !== "access" || !/^[\w-]{1,128}$/.test(payload.sub)) throw new errors.JWTInvalid("no pass");
    return seal(payload.sub, payload.queue_position);
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
        setCookie(response, "session", await verify(pass), sessionSeconds);
        const remembered = cookiesOf(request, `${prefix}_page`).map((page) => Buffer.from(page, "base64url").toString());
        return response.redirect(302, remembered.map(pathOf).find(Boolean) ?? target);
      } catch (error) {
        if (error instanceof NoKeys) return response.status(503).set("Retry-After", "30").send("Please try again soon.");
        if (!(error instanceof errors.JOSEError)) return next(error);
        // An expired pass leads to the room, which gives out another one. Any other mistake would lead there for ever.
        if (!(error instanceof errors.JWTExpired)) return response.status(403).send("This pass is not valid here.");
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
  const pass = pairs.find(isPass)?.slice("bk_pass=".length);
  const rest = pairs.filter((pair) => !isPass(pair)).join("&");
  return [pass, pathOf(rest ? `${path}?${rest}` : path) ?? "/"];
}

/** The path, unless a browser could take it for the URL of another site, or a header for more than a URL. */
function pathOf(text) {
  return /^\/(?!\/)[\x21-\x5b\x5d-\x7e]*$/.test(text) && text.length <= LONGEST_PATH ? text : undefined;
}

function cookiesOf(request, name) {
  const pairs = (request.get("Cookie") ?? "").split(";").map((pair) => pair.trim());
  return pairs.filter((pair) => pair.startsWith(`${name}=`)).map((pair) => pair.slice(name.length + 1));
}

class NoKeys extends Error {}

/** The room's keys. They are asked for every five minutes, or for an unknown key id, but at most once a minute. */
class PublishedKeys {
  constructor(url, given) {
    Object.assign(this, { url, given: Boolean(given), keys: given?.keys ?? [], fetched: 0, asked: 0 });
  }

  async key(header, token) {
    const now = Date.now() / 1000;
    const pause = this.keys.length > 0 ? 60 : 5;
    const isKnown = now - this.fetched < 300 && this.keys.some((key) => key.kid === header.kid);
    if (!this.given && !isKnown && now - this.asked >= pause) {
      this.asked = now;
      this.fetching = this.fetch(now);
    }
    await this.fetching;
    if (this.keys.length === 0) throw new NoKeys();
    return createLocalJWKSet({ keys: this.keys })(header, token);
  }

  /** Keys that are known stay if the room does not answer. */
  async fetch(now) {
    try {
      const response = await fetch(this.url, { signal: AbortSignal.timeout(5000) });
      const { keys } = await response.json();
      if (response.ok && keys.length > 0) [this.keys, this.fetched] = [keys, now];
    } catch (error) {
      console.error(`could not fetch the keys of the waiting room from ${this.url}`, error);
    }
  }
}
