import assert from "node:assert/strict";
import { readdirSync } from "node:fs";
import test from "node:test";

import { MINUTE } from "../line.js";
import { LANGUAGES, TEXTS as texts, chooseLanguage, localeFor, translator } from "../words.js";

const placeholders = (text) => [...text.matchAll(/\{(\w+)\}/g)].map(([, name]) => name).sort();

test("every language has a text file, and every text file a language", () => {
  const files = readdirSync(new URL("..", import.meta.url)).filter((name) => name.startsWith("text-"));
  assert.deepEqual(files.sort(), LANGUAGES.map((name) => `text-${name}.js`).sort());
});

for (const language of LANGUAGES) {
  test(`${language} has all English texts, with the same placeholders`, () => {
    assert.deepEqual(Object.keys(texts[language]).sort(), Object.keys(texts.en).sort());
    for (const [key, text] of Object.entries(texts[language])) {
      assert.ok(text.trim(), key);
      assert.deepEqual(placeholders(text), placeholders(texts.en[key]), key);
    }
  });
}

test("the visitor's first language with a text file is chosen", () => {
  assert.equal(chooseLanguage(["de-AT", "en"]), "de");
  assert.equal(chooseLanguage(["nl", "pt-BR", "en"]), "pt");
  assert.equal(chooseLanguage(["AR"]), "ar");
  assert.equal(chooseLanguage(["tlh"]), "en");
  assert.equal(chooseLanguage([]), "en");
});

test("the forecast as text", () => {
  const now = Date.parse("2026-11-21T14:20:00");
  const when = (from, to, language = "en", locale = "en-GB") =>
    translator(texts[language], locale).when({ from: now + from * MINUTE, to: now + to * MINUTE }, now);
  assert.equal(when(11.2, 12), "in about 12 minutes, around 14:31");
  assert.equal(when(7, 11), "in 7 to 11 minutes, around 14:29");
  assert.equal(when(0.2, 1), "within 1 minute");
  assert.equal(when(-3, 1.4), "within 2 minutes");
  assert.equal(when(50, 63), "in 50 minutes to 1 hour, 5 minutes, around 15:16");
  assert.equal(when(118, 122), "in about 2 hours, around 16:20");
  assert.equal(when(7, 11, "de", "de-DE"), "in 7 bis 11 Minuten, gegen 14:29 Uhr");
  assert.equal(when(60 * 20, 60 * 30), "in 20 hours to 30 hours, around Sun 15:20");
  assert.equal(when(7, 11, "ja", "ja-JP"), "7～11 分後（14:29 頃）");
  assert.match(when(7, 11, "ar", "ar"), /^المدة المتبقية: 7 – 11 دقيقة/);
  // After a preposition, the dual would need another ending.
  assert.match(when(50, 118, "ar", "ar"), /^المدة المتبقية: 50 دقيقة – ساعتان/);
});

test("a time on another day has the weekday, and from a week on the date", () => {
  const now = Date.parse("2026-11-21T14:20:00");
  const time = (days) => translator(texts.en, "en-GB").time(now + days * 24 * 60 * MINUTE, now);
  assert.deepEqual([0, 1, 6].map(time), ["14:20", "Sun 14:20", "Fri 14:20"]);
  assert.match(time(7), /^Sat,? 28 Nov(,| at)? 14:20$/);
});

test("a sentence ends with one period, also after a time that has one", () => {
  for (const [language, locale] of [["en", "en-CA"], ["es", "es-MX"], ["en", "en-GB"]]) {
    const { text, time } = translator(texts[language], locale);
    assert.match(text("heldHint", { time: time(Date.parse("2026-11-21T14:20:00")) }), /[^.]\.$/, locale);
  }
});

test("the countdown to an opening is in the units that fit", () => {
  const { opensIn } = translator(texts.en, "en-GB");
  const [minute, hour, day] = [MINUTE, 60 * MINUTE, 24 * 60 * MINUTE];
  assert.equal(opensIn(3 * day + 4 * hour), "in 3 days, 4 hours");
  assert.equal(opensIn(2 * day), "in 2 days");
  assert.equal(opensIn(day + 30 * minute), "in 1 day, 1 hour");
  assert.equal(opensIn(23 * hour + 59.5 * minute), "in 24 hours");
  assert.equal(opensIn(2 * hour + 4.5 * minute), "in 2 hours, 5 minutes");
  assert.equal(opensIn(60 * minute + 1), "in 1 hour, 1 minute");
  assert.deepEqual([59 * minute + 1, 4_500, 0].map(opensIn), ["in 59:01", "in 0:05", "in 0:00"]);
  assert.equal(translator(texts.de, "de-DE").opensIn(26 * hour), "noch 1 Tag, 2 Stunden");
});

test("an opening has a day, a time and the visitor's time zone", () => {
  const opens = Date.parse("2027-03-05T11:00:00Z");
  const text = translator(texts.en, "en-GB").date(opens);
  assert.match(text, /Friday,? 5 March( at|,) \d?\d:00 \S+$/);
  assert.equal(translator(texts.en, "en-GB").whenOpening(24 * MINUTE), "within 24 minutes of the opening");
});

test("the visitor's own variant of the language is used if the browser knows it", () => {
  assert.equal(localeFor("de", ["en", "de-AT"]), "de-AT");
  assert.equal(localeFor("en", ["en-US@posix"]), "en");
  assert.equal(localeFor("ar", ["arn", "fr"]), "ar");
});

test("who reads English because their own language is not spoken has a clock of 24 hours", () => {
  const at = Date.parse("2026-11-21T00:10:00");
  const clock = (preferred) => translator(texts.en, localeFor(chooseLanguage(preferred), preferred)).time(at);
  assert.match(clock(["it-IT"]), /^0?0:10$/);
  assert.match(clock(["it-IT", "en-US"]), /^12:10\sAM$/);
});

test("the countdown shows minutes and seconds", () => {
  const { countdown } = translator(texts.en, "en");
  assert.deepEqual([0, 900, 5_000, 65_000, 300_000, -1].map(countdown), ["0:00", "0:01", "0:05", "1:05", "5:00", "0:00"]);
});
