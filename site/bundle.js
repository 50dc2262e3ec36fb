// Puts the page's modules together and makes them small: built/wait.min.js is the program inside the page. Run by
// `cargo xtask page`. The file is kept in the repository, so that building Beekeeper needs no Node.js.

import { writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { fileURLToPath } from "node:url";

export const BUILT = new URL("built/wait.min.js", import.meta.url);

export function bundle() {
  const { buildSync } = createRequire(process.env.NODE_PACKAGES)("esbuild");
  const { outputFiles: [program] } = buildSync({
    entryPoints: [fileURLToPath(new URL("wait.js", import.meta.url))],
    bundle: true,
    minify: true,
    charset: "utf8",
    format: "esm",
    // What the oldest browsers know that docs/page.md names.
    target: "es2020",
    write: false,
  });
  return program.text;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) writeFileSync(BUILT, bundle());
