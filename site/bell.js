// Calls somebody who is not looking: a sound and a notification, each only if the visitor switched it on.

import { keepWish, wish } from "./memory.js";

export const canSound = "AudioContext" in globalThis;
export const canNotify = notifies();

/** Android offers notifications to pages and then shows none. Trying tells, as long as none would appear. */
function notifies() {
  if (!("Notification" in globalThis) || !globalThis.isSecureContext) return false;
  if (Notification.permission === "granted") return true;
  try {
    new Notification("");
    return true;
  } catch (error) {
    return error.name !== "TypeError";
  }
}

/** Older Safari answers a callback, everybody else a promise. */
function askToNotify() {
  return new Promise((resolve) => { Notification.requestPermission(resolve)?.then(resolve); });
}

let audio;

/** Browsers let a page make a sound only after the visitor has touched it. */
function wake() {
  audio = audio ?? new AudioContext();
  audio.resume();
}

export function restore() {
  if (wish("sound") && canSound) {
    for (const touch of ["pointerdown", "keydown"]) addEventListener(touch, wake, { once: true });
  }
}

export const isOn = (name) => wish(name) && (name !== "notify" || (canNotify && Notification.permission === "granted"));

/** Returns whether it is on now. */
export function setSound(isWanted) {
  keepWish("sound", isWanted);
  if (isWanted) {
    wake();
    beep(0);
  }
  return isWanted;
}

/** Returns whether it is on now: the browser may refuse. */
export async function setNotify(isWanted) {
  const isGranted = isWanted && (await askToNotify()) === "granted";
  keepWish("notify", isGranted);
  return isGranted;
}

export function ring(text) {
  if (isOn("sound") && audio) for (const after of [0, 0.4, 0.8]) beep(after);
  if (isOn("notify")) {
    try {
      const note = new Notification(text, { tag: "beekeeper" });
      note.onclick = () => { focus(); note.close(); };
    } catch {
      // Android lets only a service worker notify. Sound, title and icon remain.
    }
  }
}

function beep(after) {
  const [tone, volume] = [audio.createOscillator(), audio.createGain()];
  const at = audio.currentTime + after;
  tone.frequency.value = 880;
  volume.gain.setValueAtTime(0.2, at);
  volume.gain.exponentialRampToValueAtTime(0.001, at + 0.3);
  tone.connect(volume).connect(audio.destination);
  tone.start(at);
  tone.stop(at + 0.3);
}
