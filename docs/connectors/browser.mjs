// For the shop's own page: who was not admitted goes to the waiting room. See browser.md.
//
//   <script type="module">
//     import { enterOrWait } from "/browser.mjs";
//     await enterOrWait({ room: "https://room.example/prod", name: "spring-sale" });
//   </script>

import { keysById, PassEarly, verifyPass } from "./beekeeper_pass.mjs";

/**
 * Asks the room whether this visitor is admitted. Where the browser keeps the room's cookie back, the visitor's pass decides.
 * So does one with which the room has just sent them back to this tab. Whoever is not admitted is sent to the room. Returns
 * whether the page may go on.
 *
 * @param {{room: string, name: string}} options the room's URL without a slash at the end, and its short name
 */
export async function enterOrWait({ room, name }) {
  const itemOf = (what) => `bk_${name}_${what}`;
  const [passItem, keysItem, pageItem, decidesItem] = ["pass", "keys", "page", "decides"].map(itemOf);
  const arrived = takePass();
  if (arrived !== undefined) sessionStorage.setItem(passItem, arrived);
  const [pass, page, decides] = [passItem, pageItem, decidesItem].map((item) => sessionStorage.getItem(item));
  // This tab sent them to the room, from the page.
  const isBack = Boolean(arrived && page);
  const answer = await clientCheck(room);
  // A room that observes lets everybody pass, also those whose admission it couldn't write down.
  const passDecides = answer?.known !== true || isBack || (decides !== null && decides === pass);
  // Also fetched for a pass that does not decide, because the next page may come when the room is away.
  const keys = pass && (passDecides || arrived) ? await roomKeys(room, keysItem) : new Map();
  const wrong = passDecides ? await wrongWith(pass, keys, { room, name }) : "the room says no";

  if (answer?.allow === true || !wrong) {
    sessionStorage.removeItem(pageItem);
    // On their next page, the room still says no.
    if (isBack && answer?.allow === false) sessionStorage.setItem(decidesItem, pass);
    if (isBack && page.startsWith(`${location.origin}/`) && page !== location.href) location.replace(page);
    return true;
  }
  // The room would send them back with such a pass again, and so on for ever.
  if (isBack) return say(wrong, name);
  sessionStorage.setItem(pageItem, location.href);
  location.replace(`${room}/beekeeper`);
  return false;
}

/** The pass in the URL, which is taken out of it. */
function takePass() {
  const isPass = (pair) => pair.startsWith("bk_pass=");
  const pairs = location.search.slice(1).split("&");
  const pass = pairs.find(isPass)?.slice("bk_pass=".length);
  const rest = pairs.filter((pair) => !isPass(pair)).join("&");
  const url = location.pathname + (rest && `?${rest}`) + location.hash;
  if (pass !== undefined) history.replaceState(history.state, "", url);
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

/** The room's keys, or those that were kept if it does not answer. */
async function roomKeys(room, item) {
  try {
    const published = await (await fetch(`${room}/.well-known/jwks.json`, { redirect: "error" })).json();
    const keys = keysById(published);
    if (keys.size > 0) sessionStorage.setItem(item, JSON.stringify(published));
    return keys;
  } catch {
    return keysById(JSON.parse(sessionStorage.getItem(item)) ?? { keys: [] });
  }
}

/** What is wrong with the pass, if anything. One that has not begun is good: the room signed it, so the visitor's clock is slow. */
async function wrongWith(pass, keys, options) {
  if (!pass) return "there is none";
  try {
    await verifyPass(pass, async (kid) => keys.get(kid), options);
  } catch (error) {
    if (!(error instanceof PassEarly)) return error.message;
  }
}

/** Tells the visitor that their pass does not count, and you why. */
function say(wrong, name) {
  console.error(`The pass of the waiting room does not count here: ${wrong}. Is "${name}" its name, and is this clock right?`);
  const words = document.createElement("p");
  words.setAttribute("role", "alert");
  words.textContent = "We couldn't let you in. Please check your device's date and time, and load this page again.";
  document.body.prepend(words);
  return false;
}
