// What this browser remembers between two visits to the page. It may refuse to: then nothing is remembered, and
// nothing breaks. The place itself is in a cookie that no script can read.

/** Several rooms may share an origin: /prod and /test. */
const PREFIX = `beekeeper ${new URL("..", location.href).pathname} `;

/** `name` is localStorage, which outlives the browser, or sessionStorage, which is this tab's. */
function open(name) {
  try {
    const storage = window[name];
    storage.setItem(PREFIX, "1");
    storage.removeItem(PREFIX);
    return storage;
  } catch {
    return undefined;
  }
}

const lasting = open("localStorage");
const tab = open("sessionStorage");

/** Whether this browser keeps anything for us. Where cookies are blocked, so is storage; not always the reverse. */
export const keeps = Boolean(tab && navigator.cookieEnabled);

function read(storage, key) {
  try {
    return JSON.parse(storage?.getItem(PREFIX + key) ?? "null") ?? undefined;
  } catch {
    return undefined;
  }
}

function write(storage, key, value) {
  try {
    if (value === undefined) storage?.removeItem(PREFIX + key);
    else storage?.setItem(PREFIX + key, JSON.stringify(value));
  } catch {
    // A full disk: the page goes on without.
  }
}

/** How our way through the line looked so far. Another place begins another story. */
export function journey({ epoch, ticket }) {
  const kept = read(lasting, "journey");
  return kept?.epoch === epoch && kept.ticket === ticket ? kept : { epoch, ticket };
}

export const keepJourney = (journey) => write(lasting, "journey", journey);

export const wish = (name) => read(lasting, name) === true;
export const keepWish = (name, isOn) => write(lasting, name, isOn);

/** Why we went to the door since the line last knew us: two such trips must not become a loop. */
export const trips = () => read(tab, "trips") ?? [];
export const addTrip = (why) => write(tab, "trips", [...trips(), why]);
export const forgetTrips = () => write(tab, "trips", undefined);

/** When this tab last asked the door whether the line has lost us. */
export const lastDoubt = () => read(tab, "doubt") ?? 0;
export const keepDoubt = (at) => write(tab, "doubt", at);
