// Texts in the visitor's language. Each language has a file text-<language>.js. The browser's Intl formats numbers,
// durations and times.

import { MINUTE } from "./line.js";

export const LANGUAGES = ["en", "de", "fr", "es", "pt", "ja", "ar"];

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
    return variant ?? language;
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
  const dayAndClock = new Intl.DateTimeFormat(locale, { ...hour, weekday: "short" });

  const text = (key, values = {}) => (texts[key] ?? "").replace(/\{(\w+)\}/g, (_, name) => values[name]);

  const unit = (value, name) => {
    try {
      return new Intl.NumberFormat(locale, { style: "unit", unit: name, unitDisplay: "long" }).format(value);
    } catch {
      // Browsers before 2021 cannot format units. These two abbreviations are understood everywhere.
      return `${number.format(value)} ${name === "hour" ? "h" : "min"}`;
    }
  };

  const join = (parts) => {
    try {
      return new Intl.ListFormat(locale, { type: "unit" }).format(parts);
    } catch {
      return parts.join(" ");
    }
  };

  /** In minutes, and from an hour in steps of five minutes, because the forecast is not more exact than that. */
  const duration = (minutes) => {
    if (minutes < 60) return unit(minutes, "minute");
    const rounded = 5 * Math.round(minutes / 5);
    const [hours, rest] = [Math.floor(rounded / 60), rounded % 60];
    return join(rest ? [unit(hours, "hour"), unit(rest, "minute")] : [unit(hours, "hour")]);
  };

  /** The time of day, with the weekday unless it is today. */
  const time = (at, now = at) => {
    const isToday = new Date(at).toDateString() === new Date(now).toDateString();
    return (isToday ? clock : dayAndClock).format(at);
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

  return { text, number: (value) => number.format(value), time, when, countdown };
}
