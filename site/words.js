// Says things in the visitor's language. The texts lie in one file a language, text-<language>.js; numbers,
// durations and times are left to the browser's own Intl.

import { MINUTE } from "./line.js";

export const LANGUAGES = ["en", "de", "fr", "es", "pt", "ja", "ar"];

/** The first of the visitor's languages that we speak. */
export function choose(preferred) {
  const spoken = preferred.map((tag) => tag.toLowerCase().split("-")[0]).find((tag) => LANGUAGES.includes(tag));
  return spoken ?? "en";
}

/** `locale` is the visitor's own, such as de-AT, for numbers and times. */
export function words(texts, locale) {
  const number = new Intl.NumberFormat(locale);
  const clock = new Intl.DateTimeFormat(locale, { hour: "numeric", minute: "2-digit" });
  const unit = (value, name) => {
    try {
      return new Intl.NumberFormat(locale, { style: "unit", unit: name, unitDisplay: "long" }).format(value);
    } catch {
      // Browsers before 2021 know no units; these two are read everywhere.
      return `${number.format(value)} ${name === "hour" ? "h" : "min"}`;
    }
  };

  const say = (key, values = {}) => texts[key].replace(/\{(\w+)\}/g, (_, name) => values[name]);

  /** Whole minutes, in five-minute steps once they are many: more would only pretend to be exact. */
  const duration = (minutes) => {
    if (minutes < 60) return unit(minutes, "minute");
    const rounded = 5 * Math.round(minutes / 5);
    const [hours, rest] = [Math.floor(rounded / 60), rounded % 60];
    return rest ? `${unit(hours, "hour")} ${unit(rest, "minute")}` : unit(hours, "hour");
  };

  /** "about 12 minutes, around 14:35" */
  const when = ({ from, to }, now) => {
    const [least, most] = [Math.round((from - now) / MINUTE), Math.max(1, Math.ceil((to - now) / MINUTE))];
    const time = clock.format(Math.max(now, (from + to) / 2));
    if (least < 1) return say("within", { duration: duration(most), time });
    const isNarrow = most - least <= Math.max(1, most / 10);
    if (isNarrow) return say("about", { duration: duration(most), time });
    // "7 to 11 minutes", but "50 minutes to 1 hour".
    const start = most < 60 ? number.format(least) : duration(least);
    return say("between", { least: start, most: duration(most), time });
  };

  const countdown = (millis) => {
    const seconds = Math.max(0, Math.ceil(millis / 1000));
    const two = new Intl.NumberFormat(locale, { minimumIntegerDigits: 2 });
    return `${number.format(Math.floor(seconds / 60))}:${two.format(seconds % 60)}`;
  };

  return { say, number: (value) => number.format(value), time: (at) => clock.format(at), when, countdown };
}
