// What this browser keeps between two visits to the page. If the browser refuses storage, nothing is kept and the page
// still works. The place itself is in a cookie that scripts cannot read.

/** Rooms may share an origin, such as /prod and /test. */
const PREFIX = `beekeeper ${new URL("..", location.href).pathname} `;

/** `name` is "localStorage", which outlives the browser, or "sessionStorage", which belongs to this tab. */
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

/** Whether this browser keeps storage and cookies. Blocking cookies blocks storage too, but not always the reverse. */
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
    storage?.setItem(PREFIX + key, JSON.stringify(value));
  } catch {
    // The storage is full. The page works without it.
  }
}

/** What this visitor was shown so far with this place. A new place starts empty. */
export function journey({ epoch, ticket }) {
  const kept = read(lasting, "journey");
  return kept?.epoch === epoch && kept.ticket === ticket ? kept : { epoch, ticket };
}

/** Whether this browser has gone on with another place of the same line. */
export function hasOther({ epoch, ticket }) {
  const kept = read(lasting, "journey");
  return keeps && kept?.epoch === epoch && kept.ticket !== ticket;
}

export const keepJourney = (journey) => write(lasting, "journey", journey);

/** Whether the visitor turned on "sound" or "notify". */
export const isWanted = (name) => read(lasting, name) === true;
export const keepWanted = (name, isOn) => write(lasting, name, isOn);

/**
 * What this tab keeps over a reload: the reasons for which it went to the door since a poll last confirmed its place, which
 * prevents a redirect loop; and when it last asked the door whether the line has overtaken it without admitting the visitor.
 */
export const inTab = () => ({ trips: read(tab, "trips") ?? [], passedCheck: read(tab, "passedCheck") ?? 0 });

export function keepInTab({ trips, passedCheck }) {
  write(tab, "trips", trips);
  write(tab, "passedCheck", passedCheck);
}
