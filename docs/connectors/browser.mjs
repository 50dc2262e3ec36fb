// For the shop's own page: who was not admitted goes to the waiting room. See browser.md.
//
//   <script type="module">
//     import { enterOrWait } from "/browser.mjs";
//     await enterOrWait({ room: "https://room.example/prod", name: "spring-sale" });
//   </script>

import { keysById, verifyPass } from "./beekeeper_pass.mjs";

/**
 * Asks the room whether this visitor is admitted. Where the browser keeps the room's cookie back, the visitor's pass decides.
 * Whoever is not admitted is sent to the room. Returns whether the page may go on.
 *
 * @param {{room: string, name: string}} options the room's URL without a slash at the end, and its short name
 */
export async function enterOrWait({ room, name }) {
  const pass = keptPass(name);
  const answer = await clientCheck(room);
  const isAdmitted = answer?.allow === true || (answer?.known !== true && (await isValid(pass, { room, name })));
  if (!isAdmitted) location.replace(`${room}/beekeeper`);
  return isAdmitted;
}

/** The pass in the URL, which is taken out of it, or the one that came before in this tab. */
function keptPass(name) {
  const item = `bk_${name}_pass`;
  const isPass = (pair) => pair.startsWith("bk_pass=");
  const pairs = location.search.slice(1).split("&");
  const pass = pairs.find(isPass)?.slice("bk_pass=".length);
  if (pass === undefined) return sessionStorage.getItem(item);
  sessionStorage.setItem(item, pass);
  const rest = pairs.filter((pair) => !isPass(pair)).join("&");
  history.replaceState(history.state, "", location.pathname + (rest && `?${rest}`) + location.hash);
  return pass;
}

/** Whether the visitor is admitted, and whether the room knew who asks. Undefined if the room does not answer. */
async function clientCheck(room) {
  try {
    const response = await fetch(`${room}/client`, { credentials: "include", cache: "no-store" });
    const answer = response.ok ? await response.json() : undefined;
    // The room says "known": false if the request had no place of it. It leaves the word out otherwise.
    return answer && { allow: answer.allow, known: answer.known !== false };
  } catch {
    return undefined;
  }
}

async function isValid(pass, { room, name }) {
  if (!pass) return false;
  try {
    const response = await fetch(`${room}/.well-known/jwks.json`, { redirect: "error" });
    const keys = keysById(await response.json());
    return Boolean(await verifyPass(pass, async (kid) => keys.get(kid), { room, name }));
  } catch {
    return false;
  }
}
