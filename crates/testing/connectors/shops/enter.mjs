// A visitor at the shop's page: what browser.mjs does with the room's answers. Reads a case on standard input.
import { enterOrWait } from "../../../../docs/connectors/browser.mjs";

let text = "";
for await (const part of process.stdin) text += part;
const { room, name, keys, answer, query, kept } = JSON.parse(text);

// What this tab has kept, without `bk_NAME_` before each name.
const stored = new Map(Object.entries(kept).map(([what, value]) => [`bk_${name}_${what}`, value]));
const seen = { wentTo: null, said: null };
let url = new URL(`https://shop.example/sale${query}#top`);
globalThis.sessionStorage = {
  getItem: (item) => stored.get(item) ?? null,
  setItem: (item, value) => stored.set(item, value),
  removeItem: (item) => stored.delete(item),
};
globalThis.location = {
  get href() {
    return url.href;
  },
  origin: url.origin,
  search: url.search,
  pathname: url.pathname,
  hash: url.hash,
  replace: (to) => (seen.wentTo = to),
};
globalThis.history = { state: null, replaceState: (state, title, to) => (url = new URL(to, url)) };
globalThis.document = {
  createElement: () => ({ setAttribute() {} }),
  body: { prepend: (words) => (seen.said = words.textContent) },
};
globalThis.fetch = async (asked) => {
  if (answer === "none") throw new TypeError("no connection");
  if (asked === `${room}/.well-known/jwks.json`) return Response.json(keys);
  if (asked !== `${room}/client`) throw new Error(`asked for ${asked}`);
  return Response.json(answer, { status: answer.error ? 503 : 200 });
};
const entered = await enterOrWait({ room, name });
const keeps = Object.fromEntries([...stored].map(([item, value]) => [item.slice(`bk_${name}_`.length), value]));
console.log(JSON.stringify({ entered, ...seen, url: url.href, keeps }));
