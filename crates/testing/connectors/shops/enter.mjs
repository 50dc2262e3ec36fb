// A visitor at the shop's page: what browser.mjs does with the room's answers. Reads a case on standard input.
import { enterOrWait } from "../../../../docs/connectors/browser.mjs";

let text = "";
for await (const part of process.stdin) text += part;
const { room, name, keys, answer, query, kept } = JSON.parse(text);

const stored = new Map(kept ? [[`bk_${name}_pass`, kept]] : []);
const seen = { url: undefined, wentTo: undefined };
globalThis.sessionStorage = {
  getItem: (item) => stored.get(item) ?? null,
  setItem: (item, value) => stored.set(item, value),
};
globalThis.location = { search: query, pathname: "/sale", hash: "#top", replace: (url) => (seen.wentTo = url) };
globalThis.history = { state: null, replaceState: (state, title, url) => (seen.url = url) };
globalThis.fetch = async (url) => {
  if (url === `${room}/.well-known/jwks.json`) return Response.json(keys);
  if (url !== `${room}/client`) throw new Error(`asked for ${url}`);
  if (answer === "none") throw new TypeError("no connection");
  return Response.json(answer, { status: answer.error ? 503 : 200 });
};
const entered = await enterOrWait({ room, name });
console.log(JSON.stringify({ entered, ...seen, kept: stored.get(`bk_${name}_pass`) ?? null }));
