// Alerts a visitor who is not looking at the page: a sound and a notification, each only if the visitor turned it on.

import { isWanted, keepWanted } from "./memory.js";

export const canSound = "AudioContext" in globalThis;
export const canNotify = supportsNotifications();

/**
 * Chrome on Android has `Notification` but throws a TypeError when a page creates one. Without permission none is
 * shown, so trying is harmless.
 */
function supportsNotifications() {
  if (!("Notification" in globalThis) || !globalThis.isSecureContext) return false;
  if (Notification.permission === "granted") return true;
  try {
    new Notification("");
    return true;
  } catch (error) {
    return error.name !== "TypeError";
  }
}

/** Older Safari calls a callback, all others return a promise. */
function requestPermission() {
  return new Promise((resolve) => { Notification.requestPermission(resolve)?.then(resolve); });
}

let audio;
let awake;
let isWaiting;

/** A phone that locks stops the page, so it doesn't while the visitor waits for the sound. A hidden page may not ask for it. */
async function stayAwake() {
  const isNeeded = () => isWaiting && isWanted("sound");
  try {
    if (isNeeded() && awake?.released !== false) awake = await navigator.wakeLock?.request("screen");
    // Also if it was turned off, or the line has ended, meanwhile.
    if (!isNeeded()) await awake?.release();
  } catch {
    // The battery is low, or the browser wants a touch first.
  }
}

/** Most browsers let a page play sound only after the visitor has touched it or pressed a key. */
function unlockAudio() {
  audio = audio ?? new AudioContext();
  audio.resume();
}

/** The screen stays on only while the visitor waits. */
export function setWaiting(waits) {
  if (waits !== isWaiting) {
    isWaiting = waits;
    stayAwake();
  }
}

export function restore() {
  document.addEventListener("visibilitychange", stayAwake);
  if (isWanted("sound") && canSound) {
    // A finger counts when it is lifted, and not if it swiped. So each touch tries again, the wake lock too.
    for (const touch of ["pointerup", "keydown"]) {
      addEventListener(touch, unlockAudio);
      addEventListener(touch, stayAwake);
    }
  }
}

export const isOn = (name) => isWanted(name) && (name !== "notify" || (canNotify && Notification.permission === "granted"));

/** Returns whether the sound is on now. */
export function setSound(on) {
  keepWanted("sound", on);
  stayAwake();
  if (on) {
    unlockAudio();
    beep(0);
  }
  return on;
}

/** Returns whether notifications are on now. The browser may have refused. */
export async function setNotify(on) {
  const isGranted = on && (await requestPermission()) === "granted";
  keepWanted("notify", isGranted);
  return isGranted;
}

export function ring(text) {
  if (isOn("sound")) {
    try {
      // Nobody may have touched the page since it reloaded. Some browsers let it play all the same.
      unlockAudio();
      for (const delay of [0, 0.4, 0.8]) beep(delay);
    } catch {
      // The title and the icon still alert the visitor.
    }
  }
  if (isOn("notify")) {
    try {
      const note = new Notification(text, { tag: "beekeeper" });
      note.onclick = () => { focus(); note.close(); };
    } catch {
      // Where only a service worker may notify: sound, title and icon still alert the visitor.
    }
  }
}

function beep(delay) {
  const [tone, volume] = [audio.createOscillator(), audio.createGain()];
  const at = audio.currentTime + delay;
  tone.frequency.value = 880;
  volume.gain.setValueAtTime(0.2, at);
  volume.gain.exponentialRampToValueAtTime(0.001, at + 0.3);
  tone.connect(volume).connect(audio.destination);
  tone.start(at);
  tone.stop(at + 0.3);
}
