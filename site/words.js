// Texts in the visitor's language. Each language has a file text-<language>.js. All of them come with the page: together
// they are smaller than what one more request costs. The browser's Intl formats numbers, durations and times.

import { MINUTE } from "./line.js";
import ar from "./text-ar.js";
import de from "./text-de.js";
import en from "./text-en.js";
import es from "./text-es.js";
import fr from "./text-fr.js";
import ja from "./text-ja.js";
import pt from "./text-pt.js";

/** The texts of each language. */
export const TEXTS = { en, de, fr, es, pt, ja, ar };

export const LANGUAGES = Object.keys(TEXTS);

/** The first of the visitor's preferred languages that there is a text file for, or English. */
export function chooseLanguage(preferred) {
  const available = preferred.map((tag) => tag.toLowerCase().split("-")[0]).find((tag) => LANGUAGES.includes(tag));
  return available ?? "en";
}

/** The visitor's own variant of the language, such as de-AT, if the browser knows it. */
export function localeFor(language, preferred) {
  const variant = preferred.find((tag) => tag.toLowerCase().split("-")[0] === language);
  try {
    new Intl.NumberFormat(variant);
    return variant ?? (language === "en" ? "en-GB" : language);
  } catch {
    return language;
  }
}

/** Functions that return texts of one language. `locale`, such as de-AT, formats numbers and times. */
export function translator(texts, locale) {
  const number = new Intl.NumberFormat(locale);
  const twoDigits = new Intl.NumberFormat(locale, { minimumIntegerDigits: 2 });
  const hour = { hour: "numeric", minute: "2-digit" };
  const clock = new Intl.DateTimeFormat(locale, hour);
  const dateAndClock = new Intl.DateTimeFormat(locale, {
    ...hour, weekday: "long", day: "numeric", month: "long", timeZoneName: "short",
  });
  const dayAndClock = new Intl.DateTimeFormat(locale, { ...hour, weekday: "short" });
  const shortDateAndClock = new Intl.DateTimeFormat(locale, { ...hour, weekday: "short", day: "numeric", month: "short" });

  // A time may end with a period of its own: "3:20 p.m."
  const text = (key, values = {}) => (texts[key] ?? "").replace(/\{(\w+)\}/g, (_, name) => values[name]).replace("..", ".");

  const unit = (value, name) => {
    try {
      return new Intl.NumberFormat(locale, { style: "unit", unit: name, unitDisplay: "long" }).format(value);
    } catch {
      // Browsers before 2021 cannot format units. These abbreviations are understood everywhere.
      return `${number.format(value)} ${{ day: "d", hour: "h", minute: "min" }[name]}`;
    }
  };

  const join = (parts) => {
    try {
      return new Intl.ListFormat(locale, { type: "unit" }).format(parts);
    } catch {
      return parts.join(" ");
    }
  };

  /** In two units, of which the larger has `size` of the smaller. */
  const both = (count, size, larger, smaller) => {
    const parts = [[Math.floor(count / size), larger], [count % size, smaller]];
    return join(parts.filter(([value]) => value > 0).map(([value, name]) => unit(value, name)));
  };

  /** In minutes, and from an hour in steps of five minutes, because the forecast is not more exact than that. */
  const duration = (minutes) => {
    if (minutes < 60) return unit(minutes, "minute");
    const rounded = 5 * Math.round(minutes / 5);
    return both(rounded, 60, "hour", "minute");
  };

  /** The time of day, with the weekday unless it is today, and with the date where another day has the same weekday. */
  const time = (at, now = at) => {
    const isToday = new Date(at).toDateString() === new Date(now).toDateString();
    const isFar = at - now > 6 * 24 * 60 * MINUTE;
    return (isToday ? clock : isFar ? shortDateAndClock : dayAndClock).format(at);
  };

  /** "in about 12 minutes, around 14:35" */
  const when = ({ from, to }, now) => {
    const [least, most] = [Math.round((from - now) / MINUTE), Math.max(1, Math.ceil((to - now) / MINUTE))];
    const around = time(Math.max(now, (from + to) / 2), now);
    if (least < 1) return text("within", { duration: duration(most) });
    const isNarrow = most - least <= Math.max(1, most / 10);
    if (isNarrow) return text("about", { duration: duration(most), time: around });
    // "7 to 11 minutes", but "50 minutes to 1 hour".
    const start = most < 60 ? number.format(least) : duration(least);
    return text("between", { least: start, most: duration(most), time: around });
  };

  const countdown = (millis) => {
    const seconds = Math.max(0, Math.ceil(millis / 1000));
    return `${number.format(Math.floor(seconds / 60))}:${twoDigits.format(seconds % 60)}`;
  };

  /** "in 3 days, 4 hours", "in 2 hours, 5 minutes", "in 4:32" */
  const opensIn = (millis) => {
    const [minutes, hours] = [Math.ceil(millis / MINUTE), Math.ceil(millis / (60 * MINUTE))];
    const isSoon = minutes <= 60;
    const long = () => (hours <= 24 ? both(minutes, 60, "hour", "minute") : both(hours, 24, "day", "hour"));
    return text("opensIn", { countdown: isSoon ? countdown(millis) : long() });
  };

  return {
    text, number: (value) => number.format(value), time, when, countdown, opensIn,
    /** The day and time of an opening, and the visitor's time zone. */
    date: (at) => dateAndClock.format(at),
    /** "within 24 minutes of the opening" */
    whenOpening: (latest) => text("whenOpening", { duration: duration(Math.ceil(latest / MINUTE)) }),
  };
}
