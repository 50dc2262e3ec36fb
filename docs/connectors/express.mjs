// Express middleware that lets nobody into the shop without a valid pass of the waiting room. See express.md.
import { createHmac, timingSafeEqual } from "node:crypto";
import { NoKeys, PassExpired, PassRefused, PublishedKeys, verifyPass } from "./beekeeper_pass.mjs";

const LONGEST_PATH = 1500;
const DAY = 86400;
/** So many seconds after the shop has ended a visit, images of its last page still come. */
const FAREWELL = 30;

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
  const door = `${room}/beekeeper`;
  const mac = (text) => createHmac("sha256", secret).update(`${name}.${text}`).digest("base64url");

  function setCookie(response, cookie, value, seconds) {
    const secure = https ? "; Secure" : "";
    const text = `${prefix}_${cookie}=${value}; Path=/; Max-Age=${seconds}; HttpOnly${secure}; SameSite=Lax`;
    response.append("Set-Cookie", text);
  }

  function setSession(response, subject, number, seconds) {
    const text = `${subject}.${number ?? ""}.${now() + seconds}`;
    setCookie(response, "session", `${text}.${mac(text)}`, seconds);
  }

  /** Ends the session if the shop's answer says so. The room gives its visitor a new place, if it counts who is in the shop. */
  function endIfTold(response, visitor) {
    const { writeHead } = response;
    response.writeHead = (...head) => {
      const isEnd = visitor && /^end$/i.test(response.get("Beekeeper-Session"));
      response.removeHeader("Beekeeper-Session");
      if (isEnd) setSession(response, visitor.subject, visitor.number, FAREWELL);
      if (isEnd) setCookie(response, "ended", visitor.subject, DAY);
      return writeHead.apply(response, head);
    };
  }

  function unseal(value) {
    const [, text, given] = /^([\w-]{1,128}\.\d{0,16}\.\d{1,16})\.([\w-]{43})$/.exec(value) ?? [];
    if (!text || !timingSafeEqual(Buffer.from(given), Buffer.from(mac(text)))) return undefined;
    const [subject, number, end] = text.split(".");
    return now() < Number(end) ? { subject, number: number ? Number(number) : undefined } : undefined;
  }

  return async function connector(request, response, next) {
    if (bypass(request)) {
      endIfTold(response);
      return next();
    }
    const [pass, target] = takePass(request.originalUrl);
    const session = cookiesOf(request, `${prefix}_session`).map(unseal).find(Boolean);
    const reads = request.method === "GET" || request.method === "HEAD";
    if (session && !(pass && reads)) {
      request.visitor = session;
      endIfTold(response, session);
      return next();
    }
    response.set("Cache-Control", "no-store");
    if (session) return response.redirect(302, target);
    if (!/text\/html/.test(request.get("Accept") ?? "")) return response.status(403).json({ error: "no pass", room: door });
    const ended = cookiesOf(request, `${prefix}_ended`).find((subject) => /^[\w-]{1,128}$/.test(subject));
    const away = `${door}${ended ? `?again=${ended}` : ""}`;
    // A form that was sent too late. Its URL is no page to come back to.
    if (!reads) return response.redirect(303, away);
    const remembered = cookiesOf(request, `${prefix}_page`).map(pageOf).find(Boolean);
    if (pass && request.method === "GET") {
      try {
        const claims = await verifyPass(pass, (kid) => published.key(kid), { room, name });
        setSession(response, claims.sub, claims.queue_position, sessionSeconds);
        setCookie(response, "page", "", 0);
        return response.redirect(302, remembered ?? target);
      } catch (error) {
        if (error instanceof NoKeys) return response.status(503).set("Retry-After", "30").send("Please try again soon.");
        if (!(error instanceof PassRefused || error instanceof PassExpired)) return next(error);
        // Never the pass itself, which may be good elsewhere.
        console.error(`the waiting room's pass opens no session: ${error.message}`);
        // An expired pass leads to the room, which gives out another one. Any other mistake would lead there for ever.
        if (error instanceof PassRefused) return refuse(response, "This pass is not valid here.", away);
        // So would a clock that is fast.
        const isAsked = cookiesOf(request, `${prefix}_asked`).length > 0;
        if (isAsked) return refuse(response, "This link has expired, or this shop's clock is wrong.", away);
        setCookie(response, "asked", "1", 60);
      }
    }
    // An expired pass came to the room's page of the shop. The one that was asked for is remembered already.
    const page = (pass && remembered) || target;
    setCookie(response, "page", Buffer.from(page).toString("base64url"), DAY);
    return response.redirect(302, away);
  };
}

/** Tells a person why their pass opens nothing, and where there is another one. */
function refuse(response, text, away) {
  const link = `<a href="${new URL(away)}">Get another one</a>`;
  return response.status(403).send(`<!doctype html><meta name="viewport" content="width=device-width"><p>${text} ${link}</p>`);
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
