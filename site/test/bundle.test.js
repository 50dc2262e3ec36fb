import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import test from "node:test";

import { BUILT, bundle } from "../bundle.js";

test("the program inside the page is built from the modules as they are", () => {
  assert.ok(readFileSync(BUILT, "utf8") === bundle(), "site/built/wait.min.js is old: run `cargo xtask page`");
});
