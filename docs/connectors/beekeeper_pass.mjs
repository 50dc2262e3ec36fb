// Verifies passes of the waiting room with WebCrypto, in Node.js and in browsers. README.md says what a good pass is.

const LEEWAY_SECONDS = 30;
const LONGEST_PASS = 4096;
const LARGEST_KEYS = 65536;
const RSA = { name: "RSASSA-PKCS1-v1_5", hash: "SHA-256" };
const HEADER = /^\{"alg":"RS256","kid":"([\w-]+)","typ":"JWT"\}$/;
const CLAIM = String.raw`"[a-z_]+":("[ !#-[\]-~]*"|0|[1-9][0-9]{0,14})`;
const CLAIMS = new RegExp(`^\\{${CLAIM}(,${CLAIM})*\\}$`);

/** The pass is wrong, or was never one. */
export class PassRefused extends Error {}

/** Nothing is wrong with the pass, but by this clock it hasn't begun. */
export class PassEarly extends PassRefused {}

/** Nothing is wrong with the pass but its age. The room gives out another one. */
export class PassExpired extends Error {}

/**
 * The claims of a good pass. Otherwise throws PassRefused or PassExpired, whose message is for a log.
 *
 * @param {string} pass
 * @param {(kid: string) => Promise<JsonWebKey | undefined>} keyOf the room's key with this id
 * @param {{room: string, name: string}} options the room's URL without a slash at the end, and its short name
 */
export async function verifyPass(pass, keyOf, { room, name }, now = Date.now() / 1000) {
  const parts = pass.split(".");
  if (parts.length !== 3 || pass.length > LONGEST_PASS) throw new PassRefused("not a pass");
  const [header, text, signature] = parts.map(decoded);
  const [, kid] = HEADER.exec(header) ?? [];
  if (!kid) throw new PassRefused("not a pass");
  const key = await keyOf(kid);
  if (!key || !(await hasSigned(key, `${parts[0]}.${parts[1]}`, signature))) throw new PassRefused("not signed by this room");
  const claims = CLAIMS.test(text) ? JSON.parse(text) : {};
  // A name that stood there twice is now written once.
  if (JSON.stringify(claims) !== text) throw new PassRefused("not spelled as a room spells its passes");
  const { iss, aud, token_use, sub, queue_position: number = 1, nonce = "x".repeat(16), iat, nbf, exp } = claims;
  const isOurs = iss === room && aud === name && token_use === "access" && [iat, nbf, exp, number].every(Number.isInteger);
  const isWhole = isText(sub, /^[\w-]{1,128}$/) && isText(nonce, /^[\w-]{16,64}$/) && number > 0;
  if (!isOurs || !isWhole) throw new PassRefused("not a pass of this room's URL and name");
  if (now + LEEWAY_SECONDS < Math.max(iat, nbf)) throw new PassEarly("not valid yet");
  if (now >= exp + LEEWAY_SECONDS) throw new PassExpired("expired");
  return claims;
}

/** The keys that sign passes in what the room publishes, by their ids. Of two with the same id, the first counts. */
export function keysById({ keys }) {
  const signsPasses = ({ kty, use, alg, kid, n, e }) =>
    kty === "RSA" && use === "sig" && alg === "RS256" && [kid, n, e].every((value) => typeof value === "string");
  return new Map(keys.filter((key) => key && signsPasses(key)).reverse().map((key) => [key.kid, key]));
}

async function hasSigned({ kty, n, e }, text, signature) {
  const key = await crypto.subtle.importKey("jwk", { kty, n, e }, RSA, false, ["verify"]);
  return crypto.subtle.verify(RSA.name, key, bytes(signature), bytes(text));
}

/** What a part says, each character a byte. Written again, it has to be the same: base64url has several spellings. */
function decoded(part) {
  if (!/^[\w-]*$/.test(part) || part.length % 4 === 1) throw new PassRefused("not a pass");
  const binary = atob(part.replaceAll("-", "+").replaceAll("_", "/"));
  const again = btoa(binary).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
  if (again !== part) throw new PassRefused("not a pass");
  return binary;
}

function bytes(binary) {
  return Uint8Array.from(binary, (character) => character.charCodeAt(0));
}

function isText(value, form) {
  return typeof value === "string" && form.test(value);
}

/** No key of the room is known yet. */
export class NoKeys extends Error {}

/** The room's keys. They are asked for every five minutes, or for an unknown key id, but at most once a minute. */
export class PublishedKeys {
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
