// Fills the places of the page. A place is an element with data-bk; a page of the operator's own may leave out
// those that it does not want, and may have several of one kind.

/** What a screen reader speaks. It has to be on the page before it says something. */
const region = document.createElement("p");
let silence;

const all = (name) => document.querySelectorAll(`[data-bk="${name}"]`);

export function fill(name, text) {
  for (const element of all(name)) if (element.textContent !== text) element.textContent = text;
}

export function show(name, isVisible) {
  for (const element of all(name)) element.hidden = !isVisible;
}

export function onPress(name, act) {
  for (const element of all(name)) element.addEventListener("click", act);
}

/** A check box, ticked as `isOn` says. `act` is told what the visitor chose and may return what it became. */
export function onTick(name, isOn, act) {
  for (const box of all(name)) {
    box.checked = isOn;
    box.addEventListener("change", async () => { box.checked = await act(box.checked); });
  }
}

/** Puts the page into the visitor's language: every element with data-bk-text names what it says. */
export function speak(language, { say }) {
  document.documentElement.lang = language;
  document.documentElement.dir = say("dir");
  for (const element of document.querySelectorAll("[data-bk-text]")) {
    element.textContent = say(element.dataset.bkText);
  }
  for (const element of document.querySelectorAll("[data-bk-label]")) {
    element.setAttribute("aria-label", say(element.dataset.bkLabel));
  }
  show("fallback", false);
  region.setAttribute("role", "status");
  region.className = "spoken";
  // Out of sight on every page, whatever its style sheets are.
  Object.assign(region.style, { position: "absolute", width: "1px", height: "1px", overflow: "hidden", clipPath: "inset(50%)" });
  document.body.append(region);
}

/** Whoever was about to press one button is given the other, which takes its place. */
export function handOver(from, to) {
  if ([...all(from)].some((element) => element.contains(document.activeElement))) all(to)[0]?.focus();
}

/** Style sheets may look at this: html[data-state="paused"]. */
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

/** Has a screen reader say something when it comes to it. What is on the page changes silently. */
export function announce(text) {
  region.textContent = text;
  clearTimeout(silence);
  // Whoever reads through the page finds what holds, not what was said.
  silence = setTimeout(() => { region.textContent = ""; }, 15_000);
}

const icon = (colour, sign) =>
  `data:image/svg+xml,${encodeURIComponent(
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32"><path fill="${colour}" d="M16 1 29 8.5v15L16 31 3 23.5v-15z"/>` +
      `<path fill="none" stroke="#fff" stroke-width="3" d="${sign}"/></svg>`,
  )}`;
const ICONS = { wait: icon("#b26a00", "M16 9v7l5 4"), turn: icon("#1a7f37", "m9 16 5 5 9-10") };

const ownIcon = document.querySelector("link[rel~=icon]");
const iconLink = ownIcon ?? document.head.appendChild(Object.assign(document.createElement("link"), { rel: "icon" }));
/** A page of the operator's own keeps its icon, but for the moment that matters. */
const usualIcon = ownIcon?.getAttribute("href") ?? ICONS.wait;

/** What somebody in another tab sees. */
export function setTab(title, isTurn) {
  document.title = title;
  iconLink.href = isTurn ? ICONS.turn : usualIcon;
}
