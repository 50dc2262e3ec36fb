// Plays a visit of visitor-cases.json with the page's whole program, as it is inside the page, and with the busy page. The
// browser is a fake with its own clock, so that hours of waiting take milliseconds. crates/page/tests/it/visitor.rs plays the
// same visits with `page::visitor`.

import { readFileSync } from "node:fs";
import { setImmediate } from "node:timers/promises";

const read = (path) => readFileSync(new URL(path, import.meta.url), "utf8");
const PROGRAM = read("../built/wait.min.js");
const [, BUSY] = /<script>([^]*)<\/script>/.exec(read("../../crates/producer/src/busy.html"));
/** When visits begin, by the browser's clock. `opens`, `until` and `date` of a visit count from here. */
const BEGUN = 1_800_000_000_000;
const FOR_LINE = ["opening", "paused", "slower", "soon", "waiting"];

/** Plays a visit. Returns what the browser did after each of its steps: `{ ask, after, shows }`. */
export async function play({ keeps = true, answers = {}, steps }, program = PROGRAM) {
  const browser = new FakeBrowser(keeps, program);
  const done = [];
  for (const { takes = 100, hidden = false, random = 0.5, hears, date, age, sleeps = 0 } of steps) {
    browser.clock = Math.ceil(browser.clock) + takes;
    Object.assign(browser.moment, { hidden, random, date, age, sleeps });
    if (typeof hears !== "string") await browser.hearsPoll(browser.said(polled(hears, answers), hears[1]));
    else if (hears.startsWith("#")) browser.hearsPage(hears).hearsDocument();
    else if (hears.startsWith("redirect")) browser.hearsPage(hears.slice("redirect".length));
    else if (hears === "document") browser.hearsDocument();
    else if (browser.ask === "poll" || browser.ask === "status") await browser.hearsPoll(hears);
    else browser.hearsBusy();
    const { ask, after, shows } = browser;
    done.push({ ask, after, shows });
  }
  return done;
}

/** A poll's answer: one of the file's, with changes. `null` leaves a field out. */
function polled([name, changes = {}], answers) {
  const answer = Object.entries({ ...answers[name], ...changes }).filter(([, value]) => value !== null);
  const byClock = ([key, value]) => [key, ["opens", "until"].includes(key) ? BEGUN + value : value];
  return Object.fromEntries(answer.map(byClock));
}

class FakeBrowser {
  clock = BEGUN;
  moment = { hidden: false, random: 0.5 };
  storage = { localStorage: new Map(), sessionStorage: new Map() };
  /** What it asks for next, after which time, and what it shows meanwhile. */
  ask = "door";
  after = 0;
  shows = undefined;

  constructor(keeps, program) {
    Object.assign(this, { keeps, program });
  }

  hearsPage(fragment) {
    Object.assign(this, { fragment, history: undefined, timers: [], ask: "document", after: 0 });
    return this;
  }

  hearsDocument() {
    this.history = undefined;
    const root = this.run(this.program, this.pageFakes()).document.documentElement;
    Object.defineProperty(this, "state", { configurable: true, get: () => root.dataset.state });
    this.look();
  }

  /** The door, or the page's document, is refused: the busy page comes instead. */
  hearsBusy() {
    this.history ??= { state: null, replaceState(state) { this.state = structuredClone(state); } };
    const { history } = this;
    const document = { getElementById: () => ({}) };
    const fakes = { history, document, location: { reload() {} }, setInterval() {}, setTimeout: (_, pause) => { this.after = pause; } };
    this.run(BUSY, fakes);
    this.clock += this.after;
  }

  roomNow() {
    const { date } = this.moment;
    return date === undefined || date === null ? Math.ceil(this.clock) : BEGUN + date;
  }

  /** What the room says, or said some time ago to an edge. */
  said(answer, changes) {
    if (this.ask !== "status" || changes?.at === null) return answer;
    return { ...answer, at: this.roomNow() - (this.moment.age ?? 0) };
  }

  /** The poll under way, shared or not, gets this answer, and the page goes on until it asks for something else. */
  async hearsPoll(answer) {
    this.ask = undefined;
    // To the millisecond, so that tests need not round.
    const date = this.moment.date === null ? null : new Date(this.roomNow()).toISOString();
    const headers = new Map([["date", date]]);
    const response = { headers, ok: true, status: 200, json: async () => answer };
    if (answer === "silence") this.poll.signal.addEventListener("abort", this.poll.reject);
    else if (answer === "nothing") this.poll.reject(new TypeError("no network"));
    else if (answer === "busy") this.poll.resolve({ ...response, ok: false, status: 429 });
    else if (answer === "unreadable") this.poll.resolve({ ...response, json: async () => JSON.parse("<html>") });
    else this.poll.resolve(response);
    await setImmediate();
    while (!this.ask) {
      const next = this.timers.reduce((one, other) => (other.at < one.at ? other : one));
      this.timers.splice(this.timers.indexOf(next), 1);
      [this.clock, this.after] = [Math.max(this.clock, next.at) + this.moment.sleeps, next.pause];
      next.act();
      await setImmediate();
    }
    this.look();
  }

  /** Every state in which the page shows the place is "line". "unheard" only says that the room did not answer. */
  look() {
    if (FOR_LINE.includes(this.state)) this.shows = "line";
    else if (this.state !== "unheard") this.shows = this.state;
  }

  run(program, fakes) {
    const { moment } = this;
    const all = { Math: Object.assign(Object.create(Math), { random: () => moment.random }), ...fakes };
    new Function(...Object.keys(all), `"use strict"; ${program}`)(...Object.values(all));
    return all;
  }

  pageFakes() {
    const browser = this;
    const asks = (ask) => Object.assign(this, this.inTimer ? { ask } : { ask, after: 0 });
    const element = () => ({ dataset: {}, style: {}, append() {}, getAttribute() {}, setAttribute() {} });
    const document = {
      title: "Sale", get hidden() { return browser.moment.hidden; }, documentElement: element(), body: element(),
      createElement: element, querySelector: element, querySelectorAll: () => [], addEventListener() {},
    };
    class FakeDate extends Date { static now() { return Math.ceil(browser.clock); } }
    const setTimeout = (act, pause) => {
      const timer = { at: Math.ceil(this.clock) + pause, pause };
      timer.act = () => { this.inTimer = true; act(); this.inTimer = false; };
      this.timers.push(timer);
      return timer;
    };
    return {
      document, setTimeout, Date: FakeDate, setInterval() {}, addEventListener() {},
      clearTimeout: (timer) => { this.timers = this.timers.filter((other) => other !== timer); },
      location: { href: "https://room.example/wait/index.html", hash: this.fragment, replace: () => asks("door") },
      navigator: { cookieEnabled: this.keeps, language: "en" },
      window: this.keeps ? Object.fromEntries(Object.entries(this.storage).map(([name, kept]) => [name, storage(kept)])) : {},
      fetch: (path, { signal }) => new Promise((resolve, reject) => {
        this.poll = { resolve, reject, signal };
        asks(path.endsWith("/status") ? "status" : "poll");
      }),
    };
  }
}

/** The browser's storage. Values are strings. */
function storage(kept) {
  return {
    getItem: (key) => kept.get(key) ?? null,
    setItem: (key, value) => { kept.set(key, String(value)); },
    removeItem: (key) => { kept.delete(key); },
  };
}
