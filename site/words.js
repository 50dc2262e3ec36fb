// Says things in the visitor's language. The texts lie in one file a language, text-<language>.js; numbers,
// durations and times are left to the browser's own Intl.

import { MINUTE } from "./line.js";

export const LANGUAGES = ["en", "de", "fr", "es", "pt", "ja", "ar"];

/** The first of the visitor's languages that we speak. */
export function choose(preferred) {
  const spoken = preferred.map((tag) => tag.toLowerCase().split("-")[0]).find((tag) => LANGUAGES.includes(tag));
  return spoken ?? "en";
}

/** The visitor's own kind of that language, such as de-AT, if the browser can make something of it. */
export function localeFor(language, preferred) {
  const own = preferred.find((tag) => tag.toLowerCase().split("-")[0] === language);
  try {
    new Intl.NumberFormat(own);
    return own ?? language;
  } catch {
    return language;
  }
}

/** `locale` is the visitor's own, such as de-AT, for numbers and times. */
export function words(texts, locale) {
  const number = new Intl.NumberFormat(locale);
  const two = new Intl.NumberFormat(locale, { minimumIntegerDigits: 2 });
  const hour = { hour: "numeric", minute: "2-digit" };
  const clock = new Intl.DateTimeFormat(locale, hour);
  const dayAndClock = new Intl.DateTimeFormat(locale, { ...hour, weekday: "short" });

  const say = (key, values = {}) => (texts[key] ?? "").replace(/\{(\w+)\}/g, (_, name) => values[name]);

  const unit = (value, name) => {
    try {
      return new Intl.NumberFormat(locale, { style: "unit", unit: name, unitDisplay: "long" }).format(value);
    } catch {
      // Browsers before 2021 know no units; these two are read everywhere.
      return `${number.format(value)} ${name === "hour" ? "h" : "min"}`;
    }
  };

  const together = (parts) => {
    try {
      return new Intl.ListFormat(locale, { type: "unit" }).format(parts);
    } catch {
      return parts.join(" ");
    }
  };

  /** Whole minutes, in five-minute steps once they are many: more would only pretend to be exact. */
  const duration = (minutes) => {
    if (minutes < 60) return unit(minutes, "minute");
    const rounded = 5 * Math.round(minutes / 5);
    const [hours, rest] = [Math.floor(rounded / 60), rounded % 60];
    return together(rest ? [unit(hours, "hour"), unit(rest, "minute")] : [unit(hours, "hour")]);
  };

  /** The time of day, with the day if that is another than today. */
  const time = (at, now = at) => {
    const isToday = new Date(at).toDateString() === new Date(now).toDateString();
    return (isToday ? clock : dayAndClock).format(at);
  };

  /** "in about 12 minutes, around 14:35" */
  const when = ({ from, to }, now) => {
    const [least, most] = [Math.round((from - now) / MINUTE), Math.max(1, Math.ceil((to - now) / MINUTE))];
    const around = time(Math.max(now, (from + to) / 2), now);
    if (least < 1) return say("within", { duration: duration(most) });
    const isNarrow = most - least <= Math.max(1, most / 10);
    if (isNarrow) return say("about", { duration: duration(most), time: around });
    // "7 to 11 minutes", but "50 minutes to 1 hour".
    const start = most < 60 ? number.format(least) : duration(least);
    return say("between", { least: start, most: duration(most), time: around });
  };

  const countdown = (millis) => {
    const seconds = Math.max(0, Math.ceil(millis / 1000));
    return `${number.format(Math.floor(seconds / 60))}:${two.format(seconds % 60)}`;
  };

  return { say, number: (value) => number.format(value), time, when, countdown };
}
