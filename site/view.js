// Changes the document. It finds elements by their data-bk attribute. A custom page may leave out an element, or have
// several with the same name.

/** The live region for screen readers. They announce only changes, so it has to be in the document beforehand. */
const region = document.createElement("p");
let clearTimer;
/** What was written into each element. A browser that translates the page puts its own text there, which stays. */
const written = new WeakMap();

const all = (name) => document.querySelectorAll(`[data-bk="${name}"]`);

export function fill(name, text) {
  for (const element of all(name)) {
    if (written.get(element) !== text) element.textContent = text;
    written.set(element, text);
  }
}

export function show(name, isVisible) {
  for (const element of all(name)) element.hidden = !isVisible;
}

export function onPress(name, act) {
  for (const element of all(name)) element.addEventListener("click", act);
}

/** Sets up a check box. `act` gets what the visitor chose and returns, or resolves to, what the box then shows. */
export function onTick(name, isOn, act) {
  for (const box of all(name)) {
    box.checked = isOn;
    box.addEventListener("change", async () => { box.checked = await act(box.checked); });
  }
}

/** Puts the document into the visitor's language: data-bk-text and data-bk-label name the texts. */
export function translate(language, { text }) {
  document.documentElement.lang = language;
  document.documentElement.dir = text("dir");
  for (const element of document.querySelectorAll("[data-bk-text]")) {
    element.textContent = text(element.dataset.bkText);
  }
  for (const element of document.querySelectorAll("[data-bk-label]")) {
    element.setAttribute("aria-label", text(element.dataset.bkLabel));
  }
  show("fallback", false);
  region.setAttribute("role", "status");
  region.className = "spoken";
  // Invisible on every page, whatever its style sheets do.
  Object.assign(region.style, { position: "absolute", width: "1px", height: "1px", overflow: "hidden", clipPath: "inset(50%)" });
  document.body.append(region);
}

/** Where the operator sends those who come too late; without an address, nowhere. A page without an element for it gets one. */
export function setLink(address, text) {
  if (address && !all("link")[0]) {
    const added = document.createElement("a");
    added.dataset.bk = "link";
    all("hint")[0]?.after(added);
  }
  for (const link of all("link")) {
    link.hidden = !address;
    if (address) [link.href, link.textContent] = [address, text];
  }
}

/** Moves the keyboard focus to the element that replaces the focused one. */
export function moveFocus(from, to) {
  if ([...all(from)].some((element) => element.contains(document.activeElement))) all(to)[0]?.focus();
}

/** Style sheets can select on it: html[data-state="paused"]. */
export function setState(state) {
  document.documentElement.dataset.state = state;
}

/** `share` is from 0 to 1. */
export function setBar(share) {
  const percent = Math.floor(share * 100);
  for (const bar of all("bar")) {
    bar.setAttribute("aria-valuenow", percent);
    bar.style.setProperty("--way", `${percent}%`);
  }
}

/** Has a screen reader announce a text when it is idle. Other changes of the document are not announced. */
export function announce(text) {
  region.textContent = text;
  clearTimeout(clearTimer);
  // Cleared, so that somebody who reads through the page does not find an old announcement.
  clearTimer = setTimeout(() => { region.textContent = ""; }, 15_000);
}

/** The page's icon, and like it, but green and with a tick, the one for the visitor's turn: in icon.html's words, which compress. */
const iconLink = document.querySelector("link[rel~=icon]");
const usualIcon = iconLink.getAttribute("href");
const TURN_ICON =
  "data:image/svg+xml,%3Csvg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 32 32'%3E%3Cpath fill='%231a7f37' " +
  "d='M16 1 29 8.5v15L16 31 3 23.5v-15z'/%3E%3Cpath fill='none' stroke='%23fff' stroke-width='3' d='m9 16 5 5 9-10'/%3E%3C/svg%3E";

/** Sets the title and icon, which visitors see while they are in another tab. */
export function setTab(title, isTurn) {
  document.title = title;
  iconLink.href = isTurn ? TURN_ICON : usualIcon;
}
